#include "sim/fast/held_units.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "sim/schedule/engine/in_flight.h"
#include "sim/schedule/orders/orders.h"
#include "sim/schedule/schedule_table.h"

namespace stepcast::sim {

namespace {

bool covers(const std::vector<int>& more, const std::vector<int>& less) {
  return std::equal(more.begin(), more.end(), less.begin(), [](int a, int b) { return a >= b; });
}

/// Up to eight counts below 128, a byte each: compared all at once, for no byte borrows from the next.
using PackedCounts = std::uint64_t;
constexpr std::size_t most_packed = 8, bits = 8;
constexpr int largest_packed = 127;

bool covers(PackedCounts more, PackedCounts less) {
  constexpr PackedCounts tops = 0x8080808080808080;
  return (((more | tops) - less) & tops) == tops;
}

std::vector<int> unpacked(PackedCounts counts, std::size_t places) {
  std::vector<int> out;
  for (std::size_t place = 0; place < places; ++place)
    out.push_back(static_cast<int>(counts >> (bits * place) & largest_packed));
  return out;
}

template <typename Counts> void keep_fullest_counts(std::vector<Counts>& moments, const Counts& counts) {
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

/// `add`: changes the count of a place.
template <typename Counts, typename Add>
std::vector<Counts> fullest_moments(
    std::span<const Action> actions, const std::vector<int>& place_of, Counts now, const Add& add) {
  std::vector<Counts> fullest;
  bool grew = false;
  walk_changes(actions, held_until_weight_grad, [&](std::size_t i, std::int32_t change) {
    if (change < 0 && grew) keep_fullest_counts(fullest, now);
    if (change != 0) grew = change > 0;
    add(now, static_cast<std::size_t>(place_of[actions[i].stage]), change);
  });
  if (grew) keep_fullest_counts(fullest, now);
  return fullest;
}

/// `most`: that are held of a stage at once.
HeldOnStages from_order(const Order& order, int ranks, int most) {
  std::vector<int> place_of, stages_on(static_cast<std::size_t>(ranks), 0);  // place: among its rank's stages
  for (const int rank : order.rank_of) place_of.push_back(stages_on[rank]++);
  HeldOnStages held(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto actions = order.of_rank(rank);
    const auto places = static_cast<std::size_t>(stages_on[rank]);
    if (places > most_packed || most > largest_packed) {
      held[rank] = fullest_moments(actions, place_of, std::vector<int>(places, 0),
          [](std::vector<int>& now, std::size_t place, std::int32_t change) { now[place] += change; });
      continue;
    }
    const auto packed = fullest_moments(
        actions, place_of, PackedCounts{0}, [](PackedCounts& now, std::size_t place, std::int32_t change) {
          now += static_cast<PackedCounts>(static_cast<std::int64_t>(change)) << (bits * place);
        });
    for (const PackedCounts counts : packed) held[rank].push_back(unpacked(counts, places));
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
  return from_order(order, size.ranks, settled.micro_batches * std::max(1, settled.slices));
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
