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

/// Products or attention of less than a twentieth of the time say nothing, and memory-bound kernels of less than a
/// fiftieth; what memory bounds counts together, and so do products, whose kinds a forecast does not have.
RankPace pace_of(const std::string& rank, const TimeSplit& expected, const TimeSplit& measured) {
  constexpr double least_share = 0.05, least_memory = 0.02;
  struct Sides {
    double expects = 0, is = 0;
  } products, attention, memory;
  for (int i = 0; i < work_kinds; ++i) {
    const auto kind = static_cast<WorkKind>(i);
    const BoundBy of = bound_by(kind);
    if (of != BoundBy::cores && of != BoundBy::memory) continue;
    Sides& into = of == BoundBy::memory ? memory : is_product(kind) ? products : attention;
    into.expects += work_of(expected, kind), into.is += work_of(measured, kind);
  }
  double cores = INFINITY;
  for (const Sides& sides : {products, attention})
    if (sides.is > 0 && sides.expects > 0 && sides.expects >= least_share * expected.compute_flight)
      cores = std::min(cores, sides.is / sides.expects);
  const bool has_memory =
      memory.is > 0 && memory.expects > 0 && memory.expects >= least_memory * expected.compute_flight;
  RankPace made{.rank = rank};
  if (std::isfinite(cores)) made.products = made.memory = cores;
  if (has_memory) made.memory = memory.is / memory.expects;
  if (!std::isfinite(cores)) made.products = made.memory;
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
