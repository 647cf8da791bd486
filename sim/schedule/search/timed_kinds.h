// Kinds that schedule by the times at hand: the greedy zero-bubble family under a memory cap, on one stage per rank and
// on a V. For zb-1p and zb-2p the least span counts first, as the paper has it (Qi et al., arXiv 2401.10241), for the
// kinds that search the least makespan.
#pragma once

#include <vector>

#include "sim/schedule/schedule_kind.h"

namespace stepcast::sim::orders {

/// zb-1p, zb-2p, zb-auto, zb-v-auto: rows of the schedule table.
std::vector<ScheduleKind> timed_kinds();

}  // namespace stepcast::sim::orders
