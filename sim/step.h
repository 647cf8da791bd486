// One training step: what the pipeline takes, and what stands around it.
#pragma once

#include <span>

#include "dataflow/program.h"
#include "model/base/error.h"
#include "sim/cost.h"
#include "sim/step/slices.h"
#include "sim/step/stage_costs.h"
#include "sim/step/step_report.h"

namespace stepcast::sim {

/// Fails when the schedule cannot run this many micro-batches on these stages. `memory_cap` holds the activations of
/// every rank down, in the unit of Timeline::peak_in_flight; 0 = none. Kinds that cannot keep to it are refused.
Expected<StepReport> forecast(const Program& program, const StageCosts& costs, double memory_cap = 0);

/// StepReport::step_time alone, in two thirds of the time: for those who fit.
Expected<Seconds> step_time(const Program& program, const StageCosts& costs);

/// The same with the sequence cut: the program of each slice, first to last (slice_programs).
Expected<StepReport> forecast_slices(std::span<const Program> slices, const StageCosts& costs, double memory_cap = 0);

}  // namespace stepcast::sim
