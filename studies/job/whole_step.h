// The step of a job: what predict forecasts, longer by uneven work, and what stands around steps.
#pragma once

#include <vector>

#include "studies/job/job_run.h"
#include "studies/job/wishes.h"

namespace stepcast::job {

/// What 3,079 jobs on 128 GPUs and more of one company lost to uneven work from January to May 2024 (Lin et al., OSDI
/// 2025, arXiv 2505.05713): 10.4 % of their GPU hours; 42.5 % of jobs took 1.1 times as long and more, a tenth lost
/// 21.3 %, a hundredth 45.0 %. In between straight, from 1 on.
struct FleetUnevenness {
  static constexpr std::int64_t least_gpus = 128;
  static constexpr double mean = 1 / (1 - 0.104);
  /// The factor that this share of jobs stays below.
  static double at(double share);
};

struct WholeStep {
  Seconds even;  ///< as predict has it
  double uneven = 1;
  double tokens = 1;       ///< of a step over those of whole sequences
  bool by_fleets = false;  ///< `uneven` is what public fleets show
  std::vector<AroundPart> around;
  std::vector<std::string> notes;
  [[nodiscard]] Seconds time() const { return even * uneven + sum_of(around); }
};
/// Errors: what uneven_forecast() and around_parts() refuse; uneven work, which several kinds of machines have by
/// themselves, in words beside it.
Expected<WholeStep> whole_step(const JobRun& run, const JobWishes& wishes);
/// Error: a job of fewer tokens than a step has.
Expected<void> check_length(const JobWishes& wishes, double tokens_per_step);
/// Error: a job of fewer steps than epochs of its loader's data set.
Expected<void> check_epochs(const JobWishes& wishes, double steps);

}  // namespace stepcast::job
