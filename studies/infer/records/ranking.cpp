#include "studies/infer/records/ranking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stepcast::infer {
namespace {

constexpr double tie = 0.03;
constexpr std::size_t fewest = 3;

std::vector<double> column(const std::vector<RankedSplit>& splits, double RankedSplit::*what) {
  std::vector<double> values;
  for (const RankedSplit& split : splits) values.push_back(split.*what);
  return values;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Those that were measured again are one, by their means.
std::vector<RankedSplit> unlike(const std::vector<RankedSplit>& splits) {
  std::vector<RankedSplit> out;
  std::vector<double> times;
  for (const RankedSplit& split : splits) {
    auto same = split.split.empty() ? out.end() : std::ranges::find(out, split.split, &RankedSplit::split);
    if (same == out.end()) same = out.insert(out.end(), {0, 0, split.split}), times.push_back(0);
    same->measured += split.measured, same->predicted += split.predicted;
    times[static_cast<std::size_t>(same - out.begin())] += 1;
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i].measured /= times[i], out[i].predicted /= times[i];
  return out;
}

}  // namespace

std::vector<double> ranks_of(const std::vector<double>& values, double closer) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] >= (1 - closer) * values[order[begin]]) ++end;
    const double shared = static_cast<double>(begin + 1 + end) / 2;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = shared;
  }
  return ranks;
}

double spearman_of(const std::vector<RankedSplit>& splits) {
  const std::vector<double> a = ranks_of(column(splits, &RankedSplit::measured), tie),
                            b = ranks_of(column(splits, &RankedSplit::predicted), tie);
  const double mean_a = mean(a), mean_b = mean(b);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a), bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  if (aa == 0 && bb == 0) return 1;  // no split is better than another, and the forecast says so
  return aa == 0 || bb == 0 ? 0 : ab / std::sqrt(aa * bb);
}

Ranking rank(const RankedJobs& jobs) {
  Ranking out;
  for (const auto& [job, measured] : jobs) {
    const std::vector<RankedSplit> splits = unlike(measured);
    if (splits.size() < fewest) continue;
    ++out.jobs;
    out.spearman += spearman_of(splits);
    const double chosen = std::ranges::max_element(splits, {}, &RankedSplit::predicted)->measured,
                 best = std::ranges::max_element(splits, {}, &RankedSplit::measured)->measured;
    out.regret += 1 - chosen / best;
  }
  if (out.jobs == 0) return out;
  out.spearman /= out.jobs, out.regret /= out.jobs;
  return out;
}

}  // namespace stepcast::infer
