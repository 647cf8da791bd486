// The library's door: a forecast of one training step, from what a run is told.
//
//   stepcast::run::Request request;
//   request.network = *stepcast::run::choose_network("llama3-70b", "network");
//   (void)request.say("gpus", "128", "gpus");           // an Error where the value is wrong
//   auto scenario = stepcast::run::complete(request);        // filled in and checked, with scenario->assumptions
//   auto prediction = stepcast::run::predict(*scenario);     // prediction->step.step_time, ->mfu, ->step.memory.peak,
//   ...
//
// Every function answers with a value or an Error of {where, what, hint}; none throws, prints or keeps state. A Request
// may also come from a scenario file (run/scenario_file.h). Commands print a Prediction; sweeps repeat it.
#pragma once

#include "model/base/error.h"
#include "studies/run/prediction.h"
#include "studies/run/request.h"
#include "studies/run/scenario.h"

namespace stepcast::run {

/// The run with nothing left open: resolve(), and the layers weighed where the request asks for balanced ones.
Expected<Scenario> complete(const Request& request);

/// Errors: layers that cannot be balanced, the mapping against the network, the schedule against the micro-batches.
/// `reasons` says why each collective exists, for --explain.
Expected<Prediction> predict(const Scenario& scenario, bool reasons = false);
/// The same of a request, for those who need no more of it than the figures. Errors: those of complete() too.
Expected<Prediction> predict(const Request& request);

}  // namespace stepcast::run
