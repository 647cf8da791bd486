// How short any order can be: a lower bound of the makespan for given stages, placement, times and memory.
// Every order that holds no more than the cap takes at least this long, whatever its kind.
#pragma once

#include "sim/schedule/bound/bound_problem.h"
#include "sim/schedule/engine/timeline.h"

namespace stepcast::sim {

struct LowerBound {
  Seconds makespan;
  Seconds span;  ///< of max over ranks (last end - first start)
  int rank = 0;  ///< whose argument gives the makespan's
};
LowerBound lower_bound(const BoundProblem& problem, const StageTimes& times);

}  // namespace stepcast::sim
