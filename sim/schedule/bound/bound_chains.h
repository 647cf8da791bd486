// What passes before and after an action at the least: the way of one unit through the stages, with nobody in its way.
// Parts of the lower bound (bound.cpp).
#pragma once

#include <vector>

#include "sim/schedule/bound/bound_problem.h"

namespace stepcast::sim::bounds {

/// One virtual stage. Times hold for every unit: the least or the largest where units differ.
struct StageWay {
  int rank = 0, direction = 0, units = 0;
  double forward_starts = 0;     ///< earliest start of any forward
  double input_grad_starts = 0;  ///< earliest start of any input gradient
  double after_input_grad = 0;   ///< from the end of any input gradient to the end of the step
  double alone = 0;              ///< from a unit's first start to its last end, as far as it passes here
  double life = 0;               ///< from the start of a forward to the end of its weight gradient
  double least_forward = 0, least_weight_grad = 0;
  double most_forward = 0, most_input_grad = 0, most_weight_grad = 0;
  double work = 0;  ///< of all units
};

std::vector<StageWay> stage_ways(const BoundProblem& problem, const StageTimes& times);

/// The same as a rank sees it that counts from its own first start to its own last end: the ways begin with the
/// rank's first stage of the direction, and end with its last weight gradient.
std::vector<StageWay> ways_within_rank(const BoundProblem& problem, const StageTimes& times);

}  // namespace stepcast::sim::bounds
