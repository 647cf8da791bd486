#include "sim/fast/held_units.h"

#include <algorithm>
#include <array>
#include <cstddef>
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

/// Counts below 128, a byte each: eight are compared at once, for no byte borrows from the next.
template <std::size_t words> struct PackedCounts {
  static constexpr std::size_t in_word = 8, bits = 8;
  static constexpr int largest = 127;
  std::array<std::uint64_t, words> of{};

  void add(std::size_t place, std::int32_t change) {
    of[place / in_word] += static_cast<std::uint64_t>(std::int64_t{change}) << (bits * (place % in_word));
  }
  [[nodiscard]] std::vector<int> unpacked(std::size_t places) const {
    std::vector<int> out;
    for (std::size_t place = 0; place < places; ++place)
      out.push_back(static_cast<int>(of[place / in_word] >> (bits * (place % in_word)) & largest));
    return out;
  }
};

template <std::size_t words> bool covers(const PackedCounts<words>& more, const PackedCounts<words>& less) {
  constexpr std::uint64_t tops = 0x8080808080808080;
  return std::equal(more.of.begin(), more.of.end(), less.of.begin(),
      [](std::uint64_t a, std::uint64_t b) { return (((a | tops) - b) & tops) == tops; });
}

struct PlainCounts {
  std::vector<int> of;
  void add(std::size_t place, std::int32_t change) { of[place] += change; }
  [[nodiscard]] std::vector<int> unpacked(std::size_t) const { return of; }
};

bool covers(const PlainCounts& more, const PlainCounts& less) { return covers(more.of, less.of); }

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

/// `now`: none of them.
template <typename Counts>
std::vector<std::vector<int>> fullest_moments(
    std::span<const Action> actions, const std::vector<int>& place_of, std::size_t places, Counts now) {
  std::vector<Counts> fullest;
  bool grew = false;
  walk_changes(actions, held_until_weight_grad, [&](std::size_t i, std::int32_t change) {
    if (change < 0 && grew) keep_fullest_counts(fullest, now);
    if (change != 0) grew = change > 0;
    now.add(static_cast<std::size_t>(place_of[actions[i].stage]), change);
  });
  if (grew) keep_fullest_counts(fullest, now);
  std::vector<std::vector<int>> counts;
  for (const Counts& moment : fullest) counts.push_back(moment.unpacked(places));
  return counts;
}

/// `most`: that are held of a stage at once.
HeldOnStages from_order(const Order& order, int ranks, int most) {
  std::vector<int> place_of, stages_on(static_cast<std::size_t>(ranks), 0);  // place: among its rank's stages
  for (const int rank : order.rank_of) place_of.push_back(stages_on[rank]++);
  HeldOnStages held(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto actions = order.of_rank(rank);
    const auto places = static_cast<std::size_t>(stages_on[rank]);
    using Few = PackedCounts<1>;
    using Many = PackedCounts<8>;
    const auto fits = [&](auto packed) {
      return most <= packed.largest && places <= packed.in_word * packed.of.size();
    };
    held[rank] = fits(Few{})    ? fullest_moments(actions, place_of, places, Few{})
                 : fits(Many{}) ? fullest_moments(actions, place_of, places, Many{})
                                : fullest_moments(actions, place_of, places, PlainCounts{std::vector<int>(places, 0)});
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
