// What a step needs in memory, asked alone.
#pragma once

#include "dataflow/program.h"
#include "model/base/error.h"
#include "sim/memory/memory_report.h"
#include "sim/step/stage_costs.h"

namespace stepcast::sim {

/// StepReport::memory: nothing is priced where the schedule's order asks for no times.
Expected<MemoryReport> step_memory(const Program& program, const StageCosts& costs);

}  // namespace stepcast::sim
