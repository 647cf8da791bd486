// A chunk's items on streams: one for compute, one per fabric tier, each in issue order. Only data edges order items,
// plus the blocking edges that the stack adds; kernels beside a collective run slower by the profile's overlap law.
#pragma once

#include <vector>

#include "dataflow/program.h"
#include "sim/cost.h"
#include "sim/streams/chunk_times.h"

namespace stepcast::sim {

/// A move with the group that it names; local moves have none.
Price price_move(const Program& program, const Move& move, const CostModel& cost);
/// `paired`: share of the passes that run at once with a pass of another micro-batch, whose compute hides the exchanges
/// of routed rows (sim/step/paired.h).
std::vector<BlockPrices> price_blocks(const Program& program, const CostModel& cost, double paired = 0);
/// The same of what a micro-batch does alone, and in two steps: each item by itself, and then how passes in pairs hide
/// exchanges and how the host's pace stretches kernels. Programs that differ in `paired` alone share the first.
std::vector<BlockPrices> price_items(const Program& program, const CostModel& cost);
void pair_passes(const Program& program, const CostModel& cost, double paired, std::vector<BlockPrices>& prices);
std::vector<BlockPrices> price_passes(const Program& program, const CostModel& cost, double paired);

/// Of every chunk of the program; chunks with the same runs are laid out once.
std::vector<ChunkTimes> all_chunk_times(
    const Program& program, const std::vector<BlockPrices>& prices, const CostModel& cost);

}  // namespace stepcast::sim
