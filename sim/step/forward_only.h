// A step's batch without backward, as evaluation runs it.
#pragma once

#include "model/base/error.h"
#include "sim/step/step_report.h"

namespace stepcast::sim {

/// The same pipeline in the same order, backward taking no time: for stages in a row that is each micro-batch as soon
/// as the stage before is through. Nothing is summed or updated behind it. Error: stages that run both ways.
Expected<Seconds> forward_only(const StepReport& step);

}  // namespace stepcast::sim
