// How short any order can be: a lower bound of the makespan for given stages, placement, times and memory.
// Every order that holds no more than the cap takes at least this long, whatever its kind.
#pragma once

#include "sim/schedule/engine/engine.h"
#include "sim/schedule/order.h"

namespace stepcast {

/// What is asked of the order: where the stages lie, how many units pass, what each rank may hold.
struct BoundProblem {
  int ranks = 1, stages = 1, units = 1, directions = 1;
  std::vector<std::int32_t> rank_of;       ///< virtual stage -> rank
  std::vector<double> memory_cap;          ///< per rank, activations held until W; empty or 0 = no limit
};
BoundProblem bound_problem(const Order& order);
/// The same under the peaks that a run of the order had.
BoundProblem bound_problem(const Order& order, const Timeline& timeline);

struct LowerBound {
  Seconds makespan;
  Seconds span;                            ///< of max over ranks (last end - first start)
  int rank = 0;                            ///< whose argument gives the makespan's
};
LowerBound lower_bound(const BoundProblem& problem, const StageTimes& times);

}  // namespace stepcast
