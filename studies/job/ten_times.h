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
  Seconds between_failures, interval;
  double goodput = 0;
  std::optional<Seconds> step;        ///< with ten times the batch, as a job has it
  std::string no_step;                ///< or why there is none: the job is that of the step as it is
  std::optional<Seconds> same_batch;  ///< the step with the batch as it is
  std::string no_same_batch;          ///< or why there is none
  std::vector<HealthFigure> health;   ///< without a step there without communication
  std::vector<std::string> breaks;
};

/// A job as it is.
struct JobNow {
  const JobQuestion& question;
  const JobRun& run;
  const WholeStep& step;
  const JobBase& base;
  double steps = 0;
};
/// Nodes, spares and storage (where it is assumed) grow with the GPUs, and the outermost level of a machine that ends
/// before; steps stay as many. Uneven work is drawn anew. Errors: those of job_settings().
Expected<TenTimes> ten_times(const JobNow& now, const JobWishes& wishes);

}  // namespace stepcast::job
