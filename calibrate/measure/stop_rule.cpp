#include "calibrate/measure/stop_rule.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace stepcast::calibrate {
namespace {

/// Under this many samples even the extremes enclose the median in less than 95 % of cases: 1 - 2 / 2^n.
constexpr std::size_t least_for_interval = 6;
constexpr double half_of_what_may_miss = 0.025;

/// The rank r (from 1) for which [r-th smallest, r-th largest] of n samples encloses the median in at least 95 % of
/// cases, r as large as can be. How many samples lie below the median is binomial(n, 1/2), so the interval misses with
/// probability 2 P(X <= r - 1) (Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2).
std::size_t interval_rank(std::size_t n) {
  if (n < least_for_interval) return 1;
  const double size = static_cast<double>(n);
  // In logarithms: 2^-n is 0 in a double from n = 1075 on.
  double log_probability = -size * std::log(2.0);
  double below = 0;
  std::size_t rank = 0;
  for (std::size_t i = 0; i < n / 2; ++i) {
    below += std::exp(log_probability);
    if (below > half_of_what_may_miss) break;
    rank = i + 1;
    log_probability += std::log((size - static_cast<double>(i)) / (static_cast<double>(i) + 1));
  }
  return std::max<std::size_t>(rank, 1);
}

/// Linear between the two neighbours (type 7 of Hyndman and Fan, The American Statistician 50, 1996).
Seconds quantile_of_sorted(const std::vector<Seconds>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const Seconds next = sorted[std::min(below + 1, sorted.size() - 1)];
  return sorted[below] + (next - sorted[below]) * (at - static_cast<double>(below));
}

}  // namespace

MedianOf median_of_times(std::span<const Seconds> times) {
  assert(!times.empty());
  std::vector<Seconds> sorted(times.begin(), times.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t rank = interval_rank(sorted.size());
  return {quantile_of_sorted(sorted, 0.5), sorted[rank - 1], sorted[sorted.size() - rank],
      quantile_of_sorted(sorted, 0.25), quantile_of_sorted(sorted, 0.75)};
}

Stop stop_after(std::span<const Seconds> times, Seconds spent, const MethodRules& rules) {
  const auto count = static_cast<int>(times.size());
  if (count >= std::max(1, rules.least_replays)) {
    const MedianOf found = median_of_times(times);
    if (found.high - found.low <= found.median * rules.median_interval) return Stop::settled;
  }
  const bool enough = count >= std::max(1, rules.fewest_replays);
  return enough && spent >= rules.longest_work ? Stop::time_spent : Stop::go_on;
}

}  // namespace stepcast::calibrate
