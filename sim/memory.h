// Peak memory per rank, by lifetime: what is persistent, what is kept per micro-batch in flight (the order says how
// many), what a block needs while it runs, and what the framework takes.
#pragma once

#include "dataflow/program.h"
#include "model/machine/machine.h"
#include "model/stack.h"
#include "sim/memory/memory_report.h"
#include "sim/schedule/engine/engine.h"

namespace stepcast::sim {

/// Of the fullest stage. What is kept per micro-batch peaks together with the block that needs most while it runs.
MemoryReport peak_memory(
    const Program& program, const Order& order, const Timeline& timeline, const Machine& machine, const Stack& stack);

}  // namespace stepcast::sim
