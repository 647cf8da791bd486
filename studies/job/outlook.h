// What a job's figures mean: three health figures with the thresholds at which slow becomes broken, and what would
// help.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "studies/job/settings.h"
#include "studies/whatif/sensitivity.h"

namespace stepcast::job {

enum class HealthVerdict : std::uint8_t { healthy, slow, broken };
const char* to_text(HealthVerdict verdict);

/// Progress: the goodput; slow below 0.9, which public large jobs reach (Llama 3, MegaScale); broken below 0.5, where
/// most of the machine's time is lost. Communication: of a step, what compute waits for; slow above 0.25, broken above
/// 0.5, both assumed. Recovery: what a failure costs in the mean (detection, restart, half an interval) over the time
/// between failures; slow above 0.1; broken above 1, where the next failure comes before the last is made good.
struct HealthFigure {
  std::string_view id, name;
  double value = 0, slow = 0, broken = 0;
  bool higher_is_better = false;
  [[nodiscard]] HealthVerdict verdict() const;
};

std::vector<HealthFigure> health_figures(const JobSettings& settings, double goodput, double waits);

/// Of a step, the share in which compute waits for communication.
double waits_of(const Outcome& outcome);
/// Of a job of so much work, steps on all nodes; of none: in the long run.
double goodput_of(const JobSettings& settings, Seconds work);

/// One thing done otherwise.
struct JobLever {
  std::string name;
  double goodput = 0;
};
/// Best first, with the best interval each; those that cannot be are left out.
std::vector<JobLever> job_levers(const JobBase& base, const JobWishes& wishes, Seconds work);

}  // namespace stepcast::job
