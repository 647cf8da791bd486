#include "studies/run/figures/collectives.h"

#include <algorithm>

namespace stepcast::run {
namespace {

bool same_kind(const CollectiveSum& sum, const CollectiveReport& one) {
  return sum.kind == one.kind && sum.axis == one.axis && sum.span == one.span && sum.group_size == one.group_size;
}

}  // namespace

std::vector<CollectiveSum> joined_collectives(const StepReport& step) {
  std::vector<CollectiveSum> sums;
  for (const CollectiveReport& one : step.collectives) {
    if (one.stage != step.slowest_stage) continue;
    auto sum = std::ranges::find_if(sums, [&](const CollectiveSum& s) { return same_kind(s, one); });
    if (sum == sums.end())
      sum = sums.insert(
          sums.end(), {one.kind, one.axis, one.span, one.group_size, 0, Bytes(), Seconds(), Seconds(), one.source});
    sum->count += one.count;
    sum->received += one.bytes * one.count;
    sum->time += one.time;
    sum->exposed += one.exposed;
    sum->source = std::max(sum->source, one.source);  // measured < ... < assumed
  }
  std::ranges::stable_sort(sums, [](const CollectiveSum& a, const CollectiveSum& b) { return a.time > b.time; });
  return sums;
}

}  // namespace stepcast::run
