// How much of a step's work runs in pairs: a forward of one micro-batch at once with a backward of another.
#pragma once

#include "dataflow/program.h"
#include "sim/schedule/schedule_kind.h"

namespace stepcast::sim {

/// Of one copy of the model.
ScheduleSize schedule_size(const Program& program, int slices = 1);

/// Share of all forwards and backwards of the program's schedule that have a partner, the mean over ranks; what fills
/// and drains the pipeline has none. 0 where the kind makes no pairs.
double paired_share(const Program& program);
/// The same of a kind of schedule at a size.
double paired_share(const ScheduleKind& kind, const ScheduleSize& size);

}  // namespace stepcast::sim
