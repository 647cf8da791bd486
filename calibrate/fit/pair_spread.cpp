#include "calibrate/fit/pair_spread.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace stepcast::calibrate {
namespace {

struct WeighedPair {
  double difference = 0, weight = 0;
};

void add_pairs(const std::vector<const JobResidual*>& runs, std::vector<WeighedPair>& pairs) {
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (runs[i]->split != runs[j]->split)
        pairs.push_back({std::abs(runs[i]->log_ratio - runs[j]->log_ratio), 2.0 / static_cast<double>(runs.size())});
}

/// The smallest difference that pairs of at least `share` of the weight do not exceed.
double weighted_quantile(std::vector<WeighedPair> pairs, double share) {
  std::sort(pairs.begin(), pairs.end(),
      [](const WeighedPair& a, const WeighedPair& b) { return a.difference < b.difference; });
  double all = 0, below = 0;
  for (const WeighedPair& pair : pairs) all += pair.weight;
  for (const WeighedPair& pair : pairs)
    if ((below += pair.weight) >= share * all * (1 - 1e-12)) return pair.difference;
  return pairs.back().difference;
}

}  // namespace

PairSpread pairs_seen(std::span<const JobResidual> residuals) {
  constexpr double two_sided = 0.8;
  std::map<std::string, std::vector<const JobResidual*>> jobs;
  for (const JobResidual& residual : residuals)
    if (!residual.job.empty()) jobs[residual.job].push_back(&residual);
  PairSpread result;
  std::vector<WeighedPair> pairs;
  for (const auto& [job, runs] : jobs) {
    const std::size_t before = pairs.size();
    add_pairs(runs, pairs);
    if (pairs.size() > before) ++result.jobs;
  }
  result.pairs = static_cast<int>(pairs.size());
  if (!pairs.empty()) result.spread = weighted_quantile(std::move(pairs), two_sided);
  return result;
}

PairSpread fit_pair_spread(std::span<const JobResidual> residuals, double believed) {
  constexpr double jobs_of_belief = 3;
  PairSpread result = pairs_seen(residuals);
  const double seen = result.jobs * result.spread * result.spread, belief = jobs_of_belief * believed * believed;
  result.spread = std::sqrt((seen + belief) / (result.jobs + jobs_of_belief));
  return result;
}

}  // namespace stepcast::calibrate
