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
HeldOnStages from_peaks(const ScheduleKind& kind, const ScheduleSize& size) {
  HeldOnStages held;
  for (int rank = 0; rank < size.ranks; ++rank) held.push_back({{kind.peak(size, rank)}});
  return held;
}

HeldOnStages from_order(const Order& order, int ranks) {
  std::vector<int> place_of, stages_on(static_cast<std::size_t>(ranks), 0);  // place: among its rank's stages
  for (const int rank : order.rank_of) place_of.push_back(stages_on[rank]++);
  HeldOnStages held(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto actions = order.of_rank(rank);
    std::vector<int> now(static_cast<std::size_t>(stages_on[rank]), 0);
    bool grew = false;
    walk_changes(actions, held_until_weight_grad, [&](std::size_t i, std::int32_t change) {
      if (change < 0 && grew) keep_fullest_counts(held[rank], now);
      if (change != 0) grew = change > 0;
      now[place_of[actions[i].stage]] += change;
    });
    if (grew) keep_fullest_counts(held[rank], now);
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

Expected<HeldOnStages> held_on_stages(const ScheduleKind& kind, const ScheduleSize& size) {
  TRY(check_size(kind, size));
  if (chunks_of(kind, size) == 1 && kind.peak != nullptr) return from_peaks(kind, size);
  ScheduleSize settled = size;
  settled.micro_batches = settled_micro_batches(kind, size);
  TRY(const auto order, make_order(kind.id, settled));
  return from_order(order, size.ranks);
}

HeldUnits held_units(const StageShape& shape, const HeldOnStages& held) {
  HeldUnits units(shape.rank_kinds.size());
  std::vector<std::vector<int>> kinds_on(static_cast<std::size_t>(shape.ranks));
  for (int stage = 0; stage < shape.stages(); ++stage) kinds_on[shape.rank_of[stage]].push_back(shape.kind_of[stage]);
  std::vector<int> counts;
  for (int rank = 0; rank < shape.ranks; ++rank)
    for (const std::vector<int>& on_stages : held[rank]) {
      counts.assign(shape.kinds.size(), 0);
      for (std::size_t place = 0; place < on_stages.size(); ++place) counts[kinds_on[rank][place]] += on_stages[place];
      keep_fullest_counts(units[shape.rank_kind_of[rank]], counts);
    }
  return units;
}

}  // namespace stepcast::sim
