// What a job's figures mean: three health figures with the thresholds at which slow becomes broken, what would help,
// and what breaks on ten times the GPUs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "studies/job/settings.h"

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

/// `waits`: of a step, the share in which compute waits for communication.
std::vector<HealthFigure> health_figures(const JobSettings& settings, double goodput, double waits);

/// One thing done otherwise.
struct JobLever {
  std::string name;
  double goodput = 0;
};
/// Best first, with the best interval each; those that cannot be are left out.
std::vector<JobLever> job_levers(const JobBase& base, const JobWishes& wishes);

struct TenTimes {
  Seconds between_failures, interval;
  double goodput = 0;
  std::vector<HealthFigure> health;  ///< without communication, which is `stepcast scale`'s question
  std::vector<std::string> breaks;
};
/// On ten times the GPUs: nodes, spares and storage (where it is assumed) grow with them.
Expected<TenTimes> ten_times(const JobBase& base, const JobWishes& wishes);

}  // namespace stepcast::job
