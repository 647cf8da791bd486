// V-Half and V-Min (Qi et al., arXiv 2405.15362): a building block of six slots is repeated for every micro-batch; the
// distance between its passes decides how many activations a rank holds. Before and after the steady part the passes
// are moved to earlier slots as long as no rank's peak grows, once with weight gradients in place and once without;
// then idle slots are squeezed out. Behaviour of sail-sg/zero-bubble, zbv_greedy.py.
#include <algorithm>
#include <array>
#include <numeric>

#include "sim/schedule/orders/orders.h"
#include "sim/schedule/orders/orders_v_slots.h"

namespace stepcast::sim::orders {
namespace {

constexpr int block_slots = 6;

/// A pass of a micro-batch with its slot.
struct VEvent {
  int slot = 0, rank = 0, pass = 0, unit = 0;
};

/// Calls take(event) rank by rank and pass by pass.
template <typename Take> void for_each_event(const std::vector<VRank>& ranks, Take take) {
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    for (int pass = 0; pass < 5; ++pass) {
      const auto& slots = ranks[rank][pass];
      for (int u = 0; u < static_cast<int>(slots.size()); ++u) take(VEvent{slots[u], rank, pass, u});
    }
  }
}

/// By slot, then rank, then pass: dealt out by slot, of which there are few more than a rank has passes.
std::vector<VEvent> events_in_time(const std::vector<VRank>& ranks) {
  std::vector<std::size_t> place;  // by slot: where its next event goes
  for_each_event(ranks, [&](const VEvent& event) {
    const auto behind = static_cast<std::size_t>(event.slot) + 1;
    if (place.size() <= behind) place.resize(behind + 1);
    ++place[behind];
  });
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<VEvent> events(place.empty() ? 0 : place.back());
  for_each_event(ranks, [&](const VEvent& event) { events[place[static_cast<std::size_t>(event.slot)]++] = event; });
  return events;
}

/// The slot of the n-th input gradient of a rank, in time.
int nth_input_grad(const VRank& rank, int n) {
  std::vector<int> slots(rank[i_far].size() + rank[i_near].size());
  std::merge(rank[i_far].begin(), rank[i_far].end(), rank[i_near].begin(), rank[i_near].end(), slots.begin());
  return slots[n];
}

/// The latest slot that the event must come after, its rank's own order aside.
int latest_input(const std::vector<VRank>& ranks, const VEvent& event) {
  const VRank& own = ranks[event.rank];
  int latest = event.unit > 0 ? own[event.pass][event.unit - 1] : -1;
  if (event.pass == w_either) return std::max(latest, nth_input_grad(own, event.unit));
  const bool comes_down = event.pass == f_near || event.pass == i_far;
  const int giver = event.rank + (comes_down ? -1 : 1);
  if (giver >= 0 && giver < static_cast<int>(ranks.size()))
    latest = std::max(latest, ranks[giver][event.pass][event.unit]);
  if (event.pass > f_near) latest = std::max(latest, own[event.pass - 1][event.unit]);
  return latest;
}

/// Each pass as early as the order on its rank and its inputs allow, one slot per pass.
void squeeze(std::vector<VRank>& ranks) {
  const std::vector<VEvent> events = events_in_time(ranks);
  std::vector<int> free(ranks.size(), 0);
  for (const VEvent& event : events) {
    int slot = free[event.rank];
    if (event.pass != w_either) slot = std::max(slot, latest_input(ranks, event) + 1);
    ranks[event.rank][event.pass][event.unit] = slot;
    free[event.rank] = slot + 1;
  }
}

/// Before the first micro-batch is back at rank 0, and after the last one has entered, passes move to earlier idle
/// slots.
void compact(std::vector<VRank>& ranks, bool with_weights) {
  for (VRank& rank : ranks) {
    rank[w_either].clear();
    if (with_weights) place_weights(rank);
  }
  std::vector<HeldActivations> held;
  int cap = 0;
  for (const VRank& rank : ranks) cap = std::max(cap, held.emplace_back(rank, with_weights).peak());
  const int last_unit = static_cast<int>(ranks[0][f_near].size()) - 1;
  enum { before_steady, steady, after_steady } part = before_steady;
  for (const VEvent& event : events_in_time(ranks)) {
    if (part == before_steady && event.pass == i_near && event.rank == 0) part = steady;
    if (part == steady) {
      if (event.pass == f_near && event.unit == last_unit) part = after_steady;
      continue;
    }
    if (part == before_steady && !with_weights) continue;
    HeldActivations& own = held[event.rank];
    for (int slot = latest_input(ranks, event) + 1; slot < event.slot; ++slot) {
      if (!own.is_idle(slot) || !own.move(event.slot, slot, cap)) continue;
      ranks[event.rank][event.pass][event.unit] = slot;
      break;
    }
  }
  if (!with_weights) {
    for (VRank& rank : ranks) place_weights(rank);
  }
  squeeze(ranks);
}

void write_rank(OrderWriter& writer, const VRank& slots, int ranks, int rank) {
  const int near = rank, far = 2 * ranks - 1 - rank;
  std::vector<SlottedAction> actions;
  const auto add = [&](const std::vector<int>& at, ActionKind kind, int stage) {
    for (int u = 0; u < static_cast<int>(at.size()); ++u) actions.push_back({at[u], {kind, stage, u}});
  };
  add(slots[f_near], ActionKind::forward, near);
  add(slots[f_far], ActionKind::forward, far);
  add(slots[i_far], ActionKind::input_grad, far);
  add(slots[i_near], ActionKind::input_grad, near);
  const auto weights = weight_slots(slots);
  add(weights[0], ActionKind::weight_grad, far);
  add(weights[1], ActionKind::weight_grad, near);
  write_slots(writer, std::move(actions));
}

/// Slots of micro-batch 0 on a rank, by pass.
using BuildingBlock = std::array<int, 4> (*)(int ranks, int rank);

std::array<int, 4> v_half_block(int p, int r) {
  const int shift = p % 2 == 0 ? 3 : 0;  // else two passes would meet in one slot modulo six
  return {2 * r, 3 * p - 2 - r, 3 * p + shift - 1 + 2 * r, 6 * p + shift - 2 - r};
}

std::array<int, 4> v_min_block(int p, int r) {
  const int shift = p % 3 == 0 ? 2 : 0;
  return {r, 2 * p - 1 - r, 2 * p + shift + r, 4 * p + shift - 1 - r};
}

Order make_v_pattern(const ScheduleSize& size, BuildingBlock block) {
  std::vector<VRank> ranks(static_cast<std::size_t>(size.ranks));
  for (int rank = 0; rank < size.ranks; ++rank) {
    const std::array<int, 4> first = block(size.ranks, rank);
    for (int pass = 0; pass < 4; ++pass) {
      for (int u = 0; u < size.micro_batches; ++u) ranks[rank][pass].push_back(first[pass] + block_slots * u);
    }
  }
  compact(ranks, true);
  compact(ranks, false);
  return write_ranks(size, Placement::v_shape, [&](OrderWriter& writer, int rank) {
    ranks[rank][w_either].clear();
    write_rank(writer, ranks[rank], size.ranks, rank);
  });
}

Order make_v_half(const ScheduleSize& size) { return make_v_pattern(size, v_half_block); }
Order make_v_min(const ScheduleSize& size) { return make_v_pattern(size, v_min_block); }

}  // namespace

std::vector<ScheduleKind> v_pattern_kinds() {
  return {{.id = "v-half",
              .name = "V-Half",
              .source = "Qi et al., arXiv 2405.15362; sail-sg/zero-bubble zbv_greedy.py",
              .own_chunks = 2,
              .splits_backward = true,
              .make = make_v_half},
      {.id = "v-min",
          .name = "V-Min",
          .source = "Qi et al., arXiv 2405.15362; sail-sg/zero-bubble zbv_greedy.py",
          .own_chunks = 2,
          .splits_backward = true,
          .make = make_v_min},
      v_1f1b_kind()};
}

}  // namespace stepcast::sim::orders
