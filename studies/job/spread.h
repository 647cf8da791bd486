// Intervals of a job's figures: lives drawn with inputs that are drawn, too, so that an interval holds both what chance
// does and what nobody knows.
#pragma once

#include "studies/job/settings.h"

namespace stepcast::job {

struct Percentiles {
  double p10 = 0, p50 = 0, p90 = 0;
};

struct StepSpread {
  double p10 = 1, p90 = 1;  ///< over the forecast step
  bool by_fleets = false;   ///< its unevenness is that of public fleets, and drawn
};

struct JobSpread {
  Percentiles wall_s, goodput, failures;                       ///< chance, step, rates, restarts and storage
  Percentiles chance_wall_s, chance_goodput, chance_failures;  ///< chance alone
  std::int64_t lives = 0;                                      ///< that were drawn
  double mean_goodput = 0;  ///< of the lives of chance alone: against the closed form
};

/// Below it failures are so many that lives would take too long to draw.
inline constexpr double least_drawn_goodput = 0.01;

/// Rates and the step are drawn of log-normal laws through their percentiles; restarts and storage where nobody said
/// them. A job that gets hardly anything done has no lives: all zero.
JobSpread job_spread(const JobSettings& settings, const JobWishes& wishes, const StepSpread& step);

}  // namespace stepcast::job
