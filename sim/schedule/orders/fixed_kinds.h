// The kinds whose orders follow from their size alone, and the rules for sizes. The kinds that also ask for times take
// neither chunks nor a group nor slices, so the rules need not know them.
#pragma once

#include <vector>

#include "model/base/error.h"
#include "sim/schedule/schedule_kind.h"

namespace stepcast::sim {

/// In the order in which they are listed.
const std::vector<ScheduleKind>& fixed_kinds();

/// All rules of a kind for a size, without making the order.
Expected<void> check_size(const ScheduleKind& kind, const ScheduleSize& size);

}  // namespace stepcast::sim
