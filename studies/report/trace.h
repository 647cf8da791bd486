// A pipeline in Chrome's trace event format, which Perfetto reads too: a process per rank, its actions and its sends as
// threads, arrows from a send to the action that it feeds, and a counter of what the rank holds.
#pragma once

#include <string>
#include <vector>

#include "sim/schedule/engine.h"
#include "sim/schedule/order.h"

namespace stepcast {

/// A stretch of time outside of the pipeline, the same on every rank.
struct TraceStretch {
  std::string name;
  bool communication = false;  ///< on a thread of its own, beside the rank's work
  double start = 0, end = 0;
};

/// Times are in the unit of the timeline.
struct TraceScene {
  const Order& order;
  const Timeline& timeline;
  double microseconds = 1;                   ///< of a unit of time
  double begin = 0;                          ///< where the pipeline's time 0 stands
  std::vector<double> hop_ahead, hop_back;   ///< by virtual stage: of what it hands on
  std::vector<TraceStretch> around;          ///< before and after the pipeline
  std::string counter = "activations", counted = "held";
  std::vector<double> kept;                  ///< by virtual stage: by a unit in flight there
  std::vector<double> always;                ///< by rank: before and after everything; empty = nothing, and not said
};

std::string trace_text(const TraceScene& scene);

}  // namespace stepcast
