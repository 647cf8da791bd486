// What each layer of a network costs on a pipeline stage, and what stands before and behind the layers: the program's
// own blocks at the forecast's own prices, so that a split by these costs is even in the forecast too.
#pragma once

#include <vector>

#include "dataflow/program.h"
#include "sim/cost.h"
#include "sim/schedule/layers/partition.h"
#include "sim/streams/walk_lists.h"

namespace stepcast::sim {

/// Seconds of forward and backward (recompute included) of one micro-batch: a layer's is what one more of its block
/// adds to a long run of them, so that overlap between neighbours counts as it does inside a stage. `embedding` is what
/// runs before the layers, `head` all that follows them, loss and prediction modules too (`loss` stays 0). `stages` are
/// the program's virtual stages. How the program's layers lie on stages now does not matter. `paired`: the share of its
/// schedule (sim/step/paired.h).
PartitionProblem layer_costs(const Program& program, const CostModel& cost, double paired);
/// The same by lists that are known; `cost` with the program's ranks.
PartitionProblem layer_costs(const Program& program, const WalkLists& lists, const CostModel& cost);

}  // namespace stepcast::sim
