// The dataflow view: one operator at every boundary that its data cross, from the multiply-adds outwards: registers,
// shared memory, L2, HBM, the links of its collectives. Which tensor stays put where, how many bytes cross per call,
// and which boundary limits.
#pragma once

#include <string>
#include <vector>

#include "studies/roofline/figures/boundary_moves.h"
#include "studies/run/forecast.h"
#include "studies/roofline/figures/operator_points.h"
#include "studies/roofline/figures/roofs.h"
#include "studies/run/scenario.h"

namespace stepcast::roofline {

struct OperatorBoundaries {
  std::string block, name, shape;
  Pass pass = Pass::forward;
  PointKind kind = PointKind::other;
  double share = 0;  ///< of the step, as the point's
  Flops flops;
  Seconds time, compute;          ///< one call; its FLOPs at the datasheet's peak
  std::string nest;               ///< the loops as the notation writes them: "hbm ... - l2 ... - sm ..."
  std::vector<BoundaryRow> rows;  ///< innermost first
  std::string limit;              ///< "compute", or outer of the row that limits
};

/// The boundaries of every operator among `points`, heaviest first. Matrix products have all, attention L2 and HBM, the
/// rest HBM; a row per level for the moves of the block that bring an operand or carry the result away, once per
/// micro-batch. What a block gathers or reduces once per step, in buckets of many tensors, belongs to no operator.
std::vector<OperatorBoundaries> operator_boundaries(const Scenario& scenario, const Prediction& prediction,
    const std::vector<OperatorPoint>& points, const Roofs& roofs);

}  // namespace stepcast::roofline
