// stepcast schedule --layer-costs FILE: times of single layers, split over the virtual stages of a pipeline.
//
//   { "forward": [1, 1, 1, 1], "input_grad": [1, 1, 1, 1], "weight_grad": [1, 1, 1, 1],
//     "embedding": [0.2, 0, 0.1], "head": [1.5, 1.5, 1.5], "loss": [0.3, 0.3, 0] }
//
// The first three have an entry per layer; the others, which may be left out, are [forward, input_grad, weight_grad] of
// what stands on the first and on the last virtual stage. Numbers, or text with units, as in --times.
#pragma once

#include <functional>
#include <string>

#include "studies/cli/arguments.h"
#include "studies/schedule/request.h"
#include "studies/schedule/run.h"

namespace stepcast::schedule {

/// A time in its text, with where it stands.
using ReadTime = std::function<Expected<double>(const std::string& text, const std::string& where)>;

/// Fills the request's lists as --times would, and its split. --layout says how: balanced by total cost, the slowest
/// virtual stage as fast as can be (default; first and last may hold no layer), even, a list, or Megatron's string.
/// Needs a KIND, which says how many virtual stages there are, and the sizes.
Expected<void> read_layer_costs(const Arguments& arguments, const ReadTime& read_time, ScheduleRequest& request);

/// What the split costs this run; nothing where it had none.
void add_layer_split(const ScheduleRequest& request, ScheduleRun& run);

}  // namespace stepcast::schedule
