// When blocking hops hold their ranks. Timeline::hop_wait has the sums; here is where they lie, for traces and
// pictures.
#pragma once

#include <vector>

#include "sim/schedule/engine/engine.h"

namespace stepcast::sim {

/// A rank stands between two of its actions while it sends what the first made or receives what the second needs.
struct HopHold {
  double start = 0, end = 0;
};

/// By rank, in order of time; those of a rank do not overlap and sum to its Timeline::hop_wait. Empty lists where hops
/// do not block. `timeline` is that of the order run with these times. Rules: engine.h.
std::vector<std::vector<HopHold>> hop_holds(const Order& order, const StageTimes& times, const Timeline& timeline);

}  // namespace stepcast::sim
