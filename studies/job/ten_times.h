// What breaks on ten times the GPUs: the step forecast anew, with ten times the batch and with the same one, and the
// job around it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/job/outlook.h"
#include "studies/job/whole_step.h"

namespace stepcast::job {

struct TenTimes {
  std::int64_t gpus = 1;
  Seconds between_failures, interval, step;  ///< step: with ten times the batch, as a job has it
  double goodput = 0;
  std::optional<Seconds> same_batch;  ///< the step with the batch as it is
  std::string no_same_batch;          ///< or why there is none
  std::vector<HealthFigure> health;
  std::vector<std::string> breaks;
};
/// Nodes, spares and storage (where it is assumed) grow with the GPUs. Uneven work is drawn anew. Errors: the machine
/// has not so many, the memory does not hold it, and what else predict refuses.
Expected<TenTimes> ten_times(const Request& request, const Scenario& scenario, const Outcome& now,
    const WholeStep& step, const JobWishes& wishes);

}  // namespace stepcast::job
