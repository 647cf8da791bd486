// What a bound of an order is asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/schedule/engine/timeline.h"
#include "sim/schedule/order.h"

namespace stepcast::sim {

/// What is asked of the order: where the stages lie, how many units pass, what each rank may hold.
struct BoundProblem {
  int ranks = 1, stages = 1, units = 1, directions = 1;
  std::vector<std::int32_t> rank_of;  ///< virtual stage -> rank
  std::vector<double> memory_cap;     ///< per rank, activations held until W; empty or 0 = no limit
};
BoundProblem bound_problem(const Order& order);
/// The same under the peaks that a run of the order had.
BoundProblem bound_problem(const Order& order, const Timeline& timeline);

}  // namespace stepcast::sim
