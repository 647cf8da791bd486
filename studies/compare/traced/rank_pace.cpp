#include "studies/compare/traced/rank_pace.h"

#include <algorithm>
#include <cmath>

namespace stepcast::comparison {
namespace {

using PaceOf = double RankPace::*;

double median_of_others(const std::vector<RankPace>& ranks, std::size_t own, PaceOf pace) {
  std::vector<double> paces;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (i != own) paces.push_back(ranks[i].*pace);
  std::sort(paces.begin(), paces.end());
  return paces.empty() ? ranks[own].*pace : paces[paces.size() / 2];
}

}  // namespace

double work_of(const TimeSplit& split, WorkKind kind) {
  double seconds = 0;
  for (const SplitRow& row : split.rows)
    if (row.family == SplitFamily::compute && row.kind == kind) seconds += row.flight;
  return seconds;
}

/// Kinds of less than a twentieth of the time say nothing; what memory bounds counts together.
RankPace pace_of(const std::string& rank, const TimeSplit& expected, const TimeSplit& measured) {
  constexpr double least_share = 0.05, least_memory = 0.02;
  double products = INFINITY, memory_expects = 0, memory_is = 0;
  for (int i = 0; i < static_cast<int>(WorkKind::optimizer); ++i) {
    const auto kind = static_cast<WorkKind>(i);
    const double expects = work_of(expected, kind), is = work_of(measured, kind);
    if (!is_bound_by_cores(kind)) memory_expects += expects, memory_is += is;
    else if (expects >= least_share * expected.compute_flight) products = std::min(products, is / expects);
  }
  const bool has_memory = memory_expects > 0 && memory_expects >= least_memory * expected.compute_flight;
  RankPace made{.rank = rank};
  if (std::isfinite(products)) made.products = made.memory = products;
  if (has_memory) made.memory = memory_is / memory_expects;
  if (!std::isfinite(products)) made.products = made.memory;
  made.pace = std::min(made.products, made.memory);
  return made;
}

std::optional<FaultyRank> faulty_rank_of(const std::vector<RankPace>& ranks) {
  if (ranks.size() < 2) return std::nullopt;
  const auto slowest = [&](PaceOf pace) {
    const auto at = static_cast<std::size_t>(std::ranges::max_element(ranks, {}, pace) - ranks.begin());
    return FaultyRank{at, RankFault::slow, ranks[at].*pace, median_of_others(ranks, at, pace)};
  };
  if (const auto slow = slowest(&RankPace::pace); slow.own >= slow_rank_factor * slow.others) return slow;
  auto throttled = slowest(&RankPace::products);
  throttled.fault = RankFault::low_clock;
  const double excess = throttled.own / throttled.others - 1,
               of_memory = ranks[throttled.at].memory / median_of_others(ranks, throttled.at, &RankPace::memory) - 1;
  if (excess < slow_rank_factor - 1 || of_memory > excess / 3) return std::nullopt;
  return throttled;
}

}  // namespace stepcast::comparison
