// Holds a pipeline's order in time, as drawings and traces take it.
#pragma once

#include <string>

#include "sim/schedule/engine/engine.h"
#include "sim/schedule/order.h"

namespace stepcast::timeline {

struct PipelineRun {
  std::string id, name;  ///< of the kind, or the file's name
  bool in_seconds = false;
  double hop = 0;
  Order order;
  StageTimes times;  ///< that were run; of several copies, the slowest one's
  Timeline timeline;
  double lower_bound = 0;                 ///< of the makespan of any order on this placement under the cap
  double lower_bound_at_peak_memory = 0;  ///< and of any that holds no more on any rank than this one
  /// Virtual stages of one copy of the model per rank.
  [[nodiscard]] int chunks() const { return order.stages() / order.directions / order.ranks; }
  /// The makespan above the lower bound, as a fraction.
  [[nodiscard]] double gap_to_bound() const { return timeline.makespan.value() / lower_bound - 1; }
  /// The same above the bound at this memory.
  [[nodiscard]] double gap() const { return timeline.makespan.value() / lower_bound_at_peak_memory - 1; }
};

}  // namespace stepcast::timeline
