// Finds the collectives of one operator: what its block gathers before it, and what it hands on.
#pragma once

#include <vector>

#include "dataflow/program.h"
#include "studies/roofline/figures/boundaries.h"

namespace stepcast {

/// A row per level crossed, innermost first. `work`: index into the block's works.
std::vector<BoundaryRow> move_rows(const Program& program, const ProgramBlock& block, int work, const CostModel& cost);

}  // namespace stepcast
