// What every item of a chunk does when: the walk that times a chunk, written down item by item. For traces and
// pictures; sweeps ask for the times alone (sim/streams.h).
#pragma once

#include <vector>

#include "dataflow/program.h"
#include "sim/streams/chunk_times.h"
#include "sim/streams/laid_items.h"

namespace stepcast::sim {

/// Totals are those of ChunkTimes, to rounding. Items that take no time are in it, too.
ChunkLayout chunk_layout(
    const Program& program, const std::vector<BlockPrices>& prices, const Chunk& chunk, const CostModel& cost);

/// What one part of a backward list that is run in two does: kernels and waits of the weight gradient put together, or
/// all others. Time that belongs to the other part is taken out, for moves too: of a move that goes on during both
/// parts each has its piece.
ListLayout backward_part(const ListLayout& backward, bool weight_grad);

}  // namespace stepcast::sim
