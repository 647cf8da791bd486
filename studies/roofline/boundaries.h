// The dataflow view: one operator at every boundary that its data cross, from the multiply-adds outwards: registers, shared memory,
// L2, HBM, the links of its collectives. Which tensor stays put where, how many bytes cross per call, and which boundary limits.
#pragma once

#include <string>
#include <vector>

#include "studies/forecast.h"
#include "studies/roofline/operator_points.h"
#include "studies/roofline/roofs.h"
#include "studies/scenario.h"

namespace stepcast {

struct BoundaryRow {
  std::string outer, inner;     ///< "HBM" and "L2"; "cluster" and "GPU"
  Bytes bytes;                  ///< cross in one call, of one GPU
  double flops_per_byte = 0;    ///< 0: nothing crosses, or no FLOPs
  BytesPerSecond rate;          ///< 0 = nobody says
  RoofBasis basis = RoofBasis::datasheet;
  Seconds time;                 ///< bytes / rate; a link's: what its collectives take per call of the operator
  double ridge = 0;             ///< peak / rate, FLOP/B: above it this boundary does not limit; 0 without rate
  std::string stationary;       ///< tensors that stay inside, by the loops: "W", "none", "O"
  std::string text;             ///< "weight-stationary at sm, input multicast over y"; of a link the moves and their reason
  bool limits = false;          ///< takes longest of all rows and longer than the multiply-adds
};

struct OperatorBoundaries {
  std::string block, name, shape;
  Pass pass = Pass::forward;
  PointKind kind = PointKind::other;
  double share = 0;             ///< of the step, as the point's
  Flops flops;
  Seconds time, compute;        ///< one call; its FLOPs at the datasheet's peak
  std::string nest;             ///< the loops as the notation writes them: "hbm ... - l2 ... - sm ..."
  std::vector<BoundaryRow> rows;  ///< innermost first
  std::string limit;            ///< "compute", or outer of the row that limits
};

/// Of every matrix product among `points`, heaviest first; attention and memory-bound operators have L2, HBM and links.
std::vector<OperatorBoundaries> operator_boundaries(const Scenario& scenario, const Prediction& prediction,
                                                    const std::vector<OperatorPoint>& points, const Roofs& roofs);

}  // namespace stepcast
