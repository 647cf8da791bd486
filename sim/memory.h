// Peak memory per rank, by lifetime: what is persistent, what is kept per micro-batch in flight (the order says how
// many), what a block needs while it runs, and what the framework takes.
#pragma once

#include <span>

#include "dataflow/program.h"
#include "model/stack.h"
#include "sim/memory/memory_report.h"
#include "sim/schedule/engine/engine.h"

namespace stepcast::sim {

/// Of the stage with the least room, of whose ranks each has `capacity[stage]`. What is kept per micro-batch peaks
/// together with the block that needs most while it runs.
MemoryReport peak_memory(const Program& program, const Order& order, const Timeline& timeline,
    std::span<const Bytes> capacity, const Stack& stack);

}  // namespace stepcast::sim
