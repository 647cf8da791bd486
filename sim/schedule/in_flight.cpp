// Activations in flight: kept from the end of a forward to the end of its backward (fused) or weight gradient.
// A rank does one action at a time, so these counts follow from its order alone.
#include <algorithm>
#include <cassert>

#include "sim/schedule/engine_parts.h"

namespace stepcast {
namespace {

/// +1 a micro-batch more, -1 one less, 0 no change.
int in_flight_change(ActionKind kind) {
  constexpr int by_kind[] = {1, -1, 0, -1};
  return by_kind[static_cast<int>(kind)];
}

struct InFlightPeak {
  std::int32_t count = 0;
  std::size_t actions = 0;  ///< how many actions the rank has done when it is reached first
};

InFlightPeak find_in_flight_peak(std::span<const Action> actions) {
  InFlightPeak peak;
  std::int32_t now = 0;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    now += in_flight_change(actions[i].kind);
    if (now > peak.count) peak = {now, i + 1};
  }
  return peak;
}

}  // namespace

void engine::count_in_flight(const Order& order, Timeline& timeline) {
  timeline.peak_in_flight.assign(static_cast<std::size_t>(order.ranks), 0);
  timeline.peak_in_flight_stage.assign(order.rank_of.size(), 0);
  for (int rank = 0; rank < order.ranks; ++rank) {
    const auto actions = order.of_rank(rank);
    const InFlightPeak peak = find_in_flight_peak(actions);
    timeline.peak_in_flight[rank] = peak.count;
    for (const Action& action : actions.first(peak.actions))
      timeline.peak_in_flight_stage[action.stage] += in_flight_change(action.kind);
  }
}

std::vector<double> peak_weighted(const Order& order, std::span<const double> bytes_per_stage) {
  assert(bytes_per_stage.size() == order.rank_of.size());
  std::vector<double> peaks(static_cast<std::size_t>(order.ranks), 0.0);
  for (int rank = 0; rank < order.ranks; ++rank) {
    double now = 0;  // whole bytes are exact in a double to 9 PB, so adding and taking away does not drift
    for (const Action& action : order.of_rank(rank)) {
      now += in_flight_change(action.kind) * bytes_per_stage[action.stage];
      peaks[rank] = std::max(peaks[rank], now);
    }
  }
  return peaks;
}

}  // namespace stepcast
