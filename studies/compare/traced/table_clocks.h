// Clocks that were sampled beside a recording, given to the traces of the GPUs that were sampled. A table has the GPUs
// of one host by the driver's numbers; a trace has the number that its process saw, which is another one where not all
// GPUs are visible to it.
#pragma once

#include <span>

#include "calibrate/trace/clock_table.h"
#include "calibrate/trace/rank_trace.h"

namespace stepcast::comparison {

/// Each trace takes its GPU's samples, and keeps its own ones as those that were replaced. Errors: a table without
/// numbers for several traces; more traces than GPUs, ranks further apart than a host has GPUs, or a GPU twice: of
/// several hosts, or of processes that see one GPU each; a GPU without samples.
Expected<void> take_table_clocks(const ClockTable& table, std::span<RankTrace* const> traces);

}  // namespace stepcast::comparison
