// The pipeline of a prediction, action by action: drawn with letters, as a picture, as a trace of the whole step, and as
// figures in the JSON document.
#pragma once

#include <string>

#include "model/json_writer.h"
#include "studies/console.h"
#include "studies/forecast.h"
#include "studies/schedule.h"

namespace stepcast {

/// The forecast's pipeline as the reports of `stepcast schedule` take it.
ScheduleRun pipeline_run(const Prediction& prediction);

std::string timeline_text(const Prediction& prediction, const Console& console);
std::string timeline_svg(const Prediction& prediction);

/// step_timeline_trace.cpp. From the wait for data to the host's work at the end: the last event ends with the step.
/// The counter is the memory of what lasts (weights, gradients, optimizer) and of what is kept for backward.
std::string timeline_trace(const Prediction& prediction);

/// Under the key "pipeline" of the open object: what was run, so that `stepcast schedule --times` can run it again.
void write_pipeline(JsonWriter& json, const Prediction& prediction);

}  // namespace stepcast
