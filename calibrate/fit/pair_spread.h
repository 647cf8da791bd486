// How far two forecasts of one job may be wrong against each other. Runs of one network on the same GPUs, in one
// software and with one batch share most of what a forecast misses, so that their order is surer than either time.
#pragma once

#include <span>
#include <string>

namespace stepcast::calibrate {

/// What a forecast that did not know the step missed of it.
struct JobResidual {
  std::string job;       ///< same network, GPUs, batch, software; "" = of no job
  std::string split;     ///< how the work is split; two runs of one split are a repetition and no pair
  double log_ratio = 0;  ///< log(measured / forecast)
};

struct PairSpread {
  double spread = 0;  ///< of a logarithm, see pairs_seen
  int pairs = 0, jobs = 0;
};

/// The size that the difference of two residuals of one job stays below in 80 of 100 pairs. Which of the two runs is
/// the slower one is open, so that a run forecast slower by `spread` is the faster one in 10 of 100: one-sided 90 %.
/// Every run counts alike: pairs of a job of n runs weigh 2/n. No pair: zeros.
PairSpread pairs_seen(std::span<const JobResidual> residuals);

/// The same, mixed with what is `believed` of all software: sqrt((jobs s^2 + 3 believed^2) / (jobs + 3)), since few
/// jobs say little and pairs of one job are no independent witnesses. No pair: `believed`.
PairSpread fit_pair_spread(std::span<const JobResidual> residuals, double believed);

}  // namespace stepcast::calibrate
