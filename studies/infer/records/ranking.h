// Whether forecasts put splits of one job in the order in which they were measured: what a choice of a split costs.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace stepcast::infer {

/// A split of a job, by what each of its GPUs makes in a second.
struct RankedSplit {
  double measured = 0, predicted = 0;
  std::string split = {};  ///< "" is unlike all others; of one that was measured several times the means count
};
/// Splits of each job: one model, GPU, engine and release, number types, lengths and users.
using RankedJobs = std::map<std::string, std::vector<RankedSplit>>;

struct Ranking {
  int jobs = 0;         ///< with three unlike splits or more, which alone are ranked
  double spearman = 0;  ///< mean of the rank correlations; where all splits of a job tie in one order it is 0
  double regret = 0;    ///< mean of 1 - what the first choice makes over what the best does, as measured
};

/// Of values: 1 is the largest. Those less than a share below the first of their rank share it, as a mean.
std::vector<double> ranks_of(const std::vector<double>& values, double tie);
/// Pearson's correlation of ranks, with splits closer than 3 % as ties.
double spearman_of(const std::vector<RankedSplit>& splits);
Ranking rank(const RankedJobs& jobs);

}  // namespace stepcast::infer
