// The pipeline of a prediction, action by action: drawn with letters, as a picture, and as figures in the JSON
// document. The whole step, as traces and pages show it, is studies/timeline/scene.h.
#pragma once

#include <string>

#include "model/base/json_writer.h"
#include "studies/cli/console.h"
#include "studies/run/forecast.h"
#include "studies/timeline/pipeline_run.h"

namespace stepcast::timeline {

/// The forecast's pipeline, as pictures of an order take it.
PipelineRun pipeline_run(const Prediction& prediction);

std::string timeline_text(const Prediction& prediction, const Console& console);
std::string timeline_svg(const Prediction& prediction);

/// Under the key "pipeline" of the open object: what was run, so that `stepcast schedule --times` can run it again.
void write_pipeline(JsonWriter& json, const Prediction& prediction);

}  // namespace stepcast::timeline
