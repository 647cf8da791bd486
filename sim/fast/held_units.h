// Which units each kind of rank holds at its fullest moments: what an order says about memory, whatever a unit weighs.
#pragma once

#include <string>
#include <vector>

#include "model/base/error.h"
#include "sim/fast/stage_shape.h"
#include "sim/schedule/schedule_kind.h"

namespace stepcast::sim {

/// By rank: counts of units held on its virtual stages, ascending; only such moments that no other exceeds. What a
/// stage is made of is not asked: many shapes share one of these.
using HeldOnStages = std::vector<std::vector<std::vector<int>>>;

/// Exact for every kind that makes its order without times and runs one copy of the model.
/// Errors: those of check_size().
Expected<HeldOnStages> held_on_stages(const ScheduleKind& kind, const ScheduleSize& size);

/// By kind of rank: counts of units held, by kind of stage; only such moments that no other exceeds.
using HeldUnits = std::vector<std::vector<std::vector<int>>>;

/// `held`: of a kind whose virtual stages lie on the ranks as those of the shape.
HeldUnits held_units(const StageShape& shape, const HeldOnStages& held);

/// Micro-batches after which more of them change no rank's fullest moments: orders repeat themselves with every round
/// of the ranks.
int settled_micro_batches(const ScheduleKind& kind, const ScheduleSize& size);

}  // namespace stepcast::sim
