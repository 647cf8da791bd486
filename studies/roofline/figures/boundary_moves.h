// Finds the collectives of one operator: what its block gathers before it, and what it hands on.
#pragma once

#include <string>
#include <vector>

#include "dataflow/program.h"
#include "sim/cost.h"
#include "studies/roofline/figures/roofs.h"

namespace stepcast::roofline {

struct BoundaryRow {
  std::string outer, inner;   ///< "HBM" and "L2"; "cluster" and "GPU"
  Bytes bytes;                ///< cross in one call, of one GPU
  double flops_per_byte = 0;  ///< 0: nothing crosses, or no FLOPs
  BytesPerSecond rate;        ///< 0 = nobody says
  RoofBasis basis = RoofBasis::datasheet;
  Seconds time;            ///< bytes / rate; a link's: what its collectives take per call of the operator
  double ridge = 0;        ///< peak / rate, FLOP/B: above it this boundary does not limit; 0 without rate
  std::string stationary;  ///< tensors that stay inside, by the loops: "W", "none", "O"
  /// "weight-stationary at sm, input multicast over y"; of a link the moves and their reason
  std::string text;
  /// Takes longest of all rows whose rate somebody said or measured, and longer than the multiply-adds. An assumed rate
  /// limits nothing: beside one nearly every product would be called so.
  bool limits = false;
};

/// A row per level crossed, innermost first. `work`: index into the block's works.
std::vector<BoundaryRow> move_rows(const Program& program, const ProgramBlock& block, int work, const CostModel& cost);

}  // namespace stepcast::roofline
