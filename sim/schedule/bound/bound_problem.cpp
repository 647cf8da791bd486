#include "sim/schedule/bound/bound_problem.h"

namespace stepcast::sim {

BoundProblem bound_problem(const Order& order) {
  return {.ranks = order.ranks,
      .stages = order.stages(),
      .units = order.units(),
      .directions = order.directions,
      .rank_of = order.rank_of,
      .memory_cap = {}};
}

BoundProblem bound_problem(const Order& order, const Timeline& timeline) {
  BoundProblem problem = bound_problem(order);
  problem.memory_cap.assign(timeline.peak_in_flight.begin(), timeline.peak_in_flight.end());
  return problem;
}

}  // namespace stepcast::sim
