// A step's batch without backward, as evaluation runs it.
#pragma once

#include "model/base/error.h"
#include "sim/step/step_report.h"

namespace stepcast::sim {

/// Every rank does the forwards of its order, each as soon as its input is there; blocking hops hold both ranks
/// (sim/schedule/engine/engine.h). Nothing is summed or updated behind it. Error: stages that run both ways.
Expected<Seconds> forward_only(const StepReport& step);

}  // namespace stepcast::sim
