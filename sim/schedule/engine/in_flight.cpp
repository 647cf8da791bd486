// Activations in flight: kept from the end of a forward to the end of its backward (fused) or weight gradient.
// A rank does one action at a time, so these counts follow from its order alone.
#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/schedule/engine/engine.h"
#include "sim/schedule/engine/engine_parts.h"
#include "sim/schedule/engine/in_flight.h"

namespace stepcast::sim {
namespace {

/// What is counted of one rank's actions.
class InFlight {
 public:
  void more(std::size_t begun) {
    if (++now_ > peak_) peak_ = now_, to_peak_ = begun;
  }
  void fewer() { --now_; }
  /// Two at once, with what they change: what frees takes its turn last, as walk_changes() has it.
  void take_pair(std::int32_t first, std::int32_t second, std::size_t begun) {
    if (first < 0) std::swap(first, second);
    add(first, begun);
    add(second, begun + 1);
  }
  [[nodiscard]] std::int32_t peak() const { return peak_; }
  /// How many changes there have been when the peak is reached first.
  [[nodiscard]] std::size_t changes_to_peak() const { return to_peak_; }

 private:
  void add(std::int32_t change, std::size_t begun) {
    if (change > 0) more(begun);
    else now_ += change;
  }

  std::int32_t now_ = 0, peak_ = 0;
  std::size_t to_peak_ = 0;
};

/// All counts in one walk. Of actions alone only those that may reach a peak are asked whether they do.
struct InFlightCounts {
  InFlight held, until_input_grad, pending;

  explicit InFlightCounts(std::span<const Action> actions) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const bool pair = actions[i].with_next && i + 1 < actions.size();
      if (!pair) {
        take(actions[i].kind, i + 1);
        continue;
      }
      take_pair(held, held_until_weight_grad, actions[i].kind, actions[i + 1].kind, i + 1);
      take_pair(until_input_grad, held_until_input_grad, actions[i].kind, actions[i + 1].kind, i + 1);
      take_pair(pending, pending_weight_grad, actions[i].kind, actions[i + 1].kind, i + 1);
      ++i;
    }
  }

 private:
  void take(ActionKind kind, std::size_t begun) {
    switch (kind) {
      case ActionKind::forward: held.more(begun), until_input_grad.more(begun); break;
      case ActionKind::backward: held.fewer(), until_input_grad.fewer(); break;
      case ActionKind::input_grad: until_input_grad.fewer(), pending.more(begun); break;
      case ActionKind::weight_grad: held.fewer(), pending.fewer(); break;
    }
  }
  static void take_pair(
      InFlight& count, const ChangeByKind& changes, ActionKind first, ActionKind second, std::size_t begun) {
    count.take_pair(changes[static_cast<std::size_t>(first)], changes[static_cast<std::size_t>(second)], begun);
  }
};

}  // namespace

void engine::count_in_flight(const Order& order, Timeline& timeline) {
  const auto ranks = static_cast<std::size_t>(order.ranks);
  timeline.peak_in_flight.assign(ranks, 0);
  timeline.peak_in_flight_stage.assign(order.rank_of.size(), 0);
  timeline.peak_freed_at_input_grad.assign(ranks, 0);
  timeline.peak_pending_weight_grads.assign(ranks, 0);
  for (int rank = 0; rank < order.ranks; ++rank) {
    const auto actions = order.of_rank(rank);
    const InFlightCounts counts(actions);
    timeline.peak_in_flight[rank] = counts.held.peak();
    timeline.peak_freed_at_input_grad[rank] = counts.until_input_grad.peak();
    timeline.peak_pending_weight_grads[rank] = counts.pending.peak();
    // Of two at once the second may change first, so that one action more is looked at.
    std::size_t left = counts.held.changes_to_peak();
    walk_changes(actions.first(std::min(actions.size(), left + 1)), held_until_weight_grad,
        [&](std::size_t i, std::int32_t change) {
          if (left == 0) return;
          --left;
          timeline.peak_in_flight_stage[actions[i].stage] += change;
        });
  }
}

std::vector<double> peak_weighted(const Order& order, std::span<const double> bytes_per_stage) {
  assert(bytes_per_stage.size() == order.rank_of.size());
  std::vector<double> peaks(static_cast<std::size_t>(order.ranks), 0.0);
  for (int rank = 0; rank < order.ranks; ++rank) {
    const auto actions = order.of_rank(rank);
    double now = 0;  // whole bytes are exact in a double to 9 PB, so adding and taking away does not drift
    walk_changes(actions, held_until_weight_grad, [&](std::size_t i, std::int32_t change) {
      now += change * bytes_per_stage[actions[i].stage];
      peaks[rank] = std::max(peaks[rank], now);
    });
  }
  return peaks;
}

}  // namespace stepcast::sim
