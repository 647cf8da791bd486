// Activations in flight: kept from the end of a forward to the end of its backward (fused) or weight gradient.
// A rank does one action at a time, so these counts follow from its order alone.
#include <algorithm>
#include <cassert>

#include "sim/schedule/engine/engine.h"
#include "sim/schedule/engine/engine_parts.h"
#include "sim/schedule/engine/in_flight.h"

namespace stepcast::sim {
namespace {

struct InFlightPeak {
  std::int32_t count = 0;
  std::size_t actions = 0;  ///< how many actions the rank has begun when it is reached first
};

InFlightPeak find_in_flight_peak(std::span<const Action> actions, const ChangeByKind& changes) {
  InFlightPeak peak;
  std::int32_t now = 0;
  std::size_t begun = 0;
  walk_changes(actions, changes, [&](std::size_t, std::int32_t change) {
    now += change;
    ++begun;
    if (now > peak.count) peak = {now, begun};
  });
  return peak;
}

}  // namespace

void engine::count_in_flight(const Order& order, Timeline& timeline) {
  const auto ranks = static_cast<std::size_t>(order.ranks);
  timeline.peak_in_flight.assign(ranks, 0);
  timeline.peak_in_flight_stage.assign(order.rank_of.size(), 0);
  timeline.peak_freed_at_input_grad.assign(ranks, 0);
  timeline.peak_pending_weight_grads.assign(ranks, 0);
  for (int rank = 0; rank < order.ranks; ++rank) {
    const auto actions = order.of_rank(rank);
    const InFlightPeak peak = find_in_flight_peak(actions, held_until_weight_grad);
    timeline.peak_in_flight[rank] = peak.count;
    std::size_t left = peak.actions;
    walk_changes(actions, held_until_weight_grad, [&](std::size_t i, std::int32_t change) {
      if (left == 0) return;
      --left;
      timeline.peak_in_flight_stage[actions[i].stage] += change;
    });
    timeline.peak_freed_at_input_grad[rank] = find_in_flight_peak(actions, held_until_input_grad).count;
    timeline.peak_pending_weight_grads[rank] = find_in_flight_peak(actions, pending_weight_grad).count;
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
