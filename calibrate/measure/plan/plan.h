// Decides what is measured, in which order and for how long. A plan is made before anything runs, so that a dry run can
// show it, and it is never longer than the budget.
#pragma once

#include "calibrate/measure/plan/planned_work.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// Every phase gets its most telling thing, then the user's own shapes up to half of the budget, then each phase its
/// share; what one leaves goes to the others. A product that would take longer than longest_replay is planned only as
/// an own shape. Fails on an unknown phase, and on a budget too short for one thing of each phase that was asked for
/// (the hint says how long that takes).
Expected<MeasurePlan> make_plan(const PlanRequest& request);

}  // namespace stepcast::calibrate
