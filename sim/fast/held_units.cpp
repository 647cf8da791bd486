#include "sim/fast/held_units.h"

#include <algorithm>

#include "sim/schedule/engine/in_flight.h"
#include "sim/schedule/orders/orders.h"
#include "sim/schedule/schedule_table.h"

namespace stepcast::sim {

namespace {

bool covers(const std::vector<int>& more, const std::vector<int>& less) {
  return std::equal(more.begin(), more.end(), less.begin(), [](int a, int b) { return a >= b; });
}

void keep_fullest_counts(std::vector<std::vector<int>>& moments, const std::vector<int>& counts) {
  if (std::any_of(moments.begin(), moments.end(), [&](const auto& other) { return covers(other, counts); })) return;
  std::erase_if(moments, [&](const auto& other) { return covers(counts, other); });
  moments.push_back(counts);
}

/// One stage per rank: the number in flight says it all.
HeldUnits from_peaks(const StageShape& shape, const ScheduleKind& kind, const ScheduleSize& size) {
  HeldUnits held(shape.rank_kinds.size());
  for (int rank = 0; rank < shape.ranks; ++rank) {
    std::vector<int> counts(shape.kinds.size(), 0);
    counts[shape.kind_of[rank]] = kind.peak(size, rank);
    keep_fullest_counts(held[shape.rank_kind_of[rank]], counts);
  }
  return held;
}

HeldUnits from_order(const StageShape& shape, const Order& order) {
  HeldUnits held(shape.rank_kinds.size());
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto& moments = held[shape.rank_kind_of[rank]];
    std::vector<int> now(shape.kinds.size(), 0);
    const auto actions = order.of_rank(rank);
    bool grew = false;
    walk_changes(actions, held_until_weight_grad, [&](std::size_t i, std::int32_t change) {
      if (change < 0 && grew) keep_fullest_counts(moments, now);
      if (change != 0) grew = change > 0;
      now[shape.kind_of[actions[i].stage]] += change;
    });
    if (grew) keep_fullest_counts(moments, now);
  }
  return held;
}

}  // namespace

int settled_micro_batches(const ScheduleKind& kind, const ScheduleSize& size) {
  constexpr int rounds = 6;
  if (kind.holds_all || size.micro_batches < (rounds + 1) * size.ranks) return size.micro_batches;
  // Rounds that share all micro-batches evenly must stay as long as they are.
  if (kind.equal_rounds) return rounds * orders::group_of_rounds(size.ranks, size.micro_batches);
  return rounds * size.ranks + size.micro_batches % size.ranks;
}

Expected<HeldUnits> held_units(const StageShape& shape, const ScheduleKind& kind, const ScheduleSize& size) {
  TRY(check_size(kind, size));
  if (shape.stages() == shape.ranks && kind.peak != nullptr) return from_peaks(shape, kind, size);
  ScheduleSize settled = size;
  settled.micro_batches = settled_micro_batches(kind, size);
  TRY(const auto order, make_order(kind.id, settled));
  return from_order(shape, order);
}

}  // namespace stepcast::sim
