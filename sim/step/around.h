// What a step takes beside its pipeline, whatever the timeline: the same for a whole forecast and for a bound of it.
#pragma once

#include "dataflow/program.h"
#include "sim/cost.h"

namespace stepcast::sim {

/// Loader time that is not hidden.
Seconds data_wait(const CostModel& cost);
/// The stage's share of token ids and labels over the host link.
Seconds host_to_device(const Program& program, const CostModel& cost);
/// The host's fixed work per step.
Seconds host_time(const CostModel& cost);

}  // namespace stepcast::sim
