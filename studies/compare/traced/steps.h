// Finds the steps of a trace: by ranges of an engine's iterations, by the profiler's marks, by the optimizer, by
// launches of graphs, or by kernels that repeat. Events are cut by when the host launched them, not by when they ran: a
// GPU lags behind its host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/trace/rank_trace.h"

namespace stepcast::comparison {

/// Microseconds of the recording's clock.
struct FoundStep {
  std::int64_t number = 0;    ///< the profiler's own, or from 1
  double begin = 0, end = 0;  ///< first start of its events; last end
  double next = 0;            ///< first start of the next step's events, or `end` where none follows
  std::size_t events = 0;
  IterationRows rows;  ///< of an engine's iteration whose range says them
  /// Of most of what its matrix products multiply, by the shapes that were recorded: positions of an iteration; 0: none
  double product_rows = 0;
  bool whole = true;  ///< begins and ends inside of the recording
  bool outlier = false;

  /// What a step takes: to where the next begins.
  [[nodiscard]] double duration() const { return next - begin; }
};

struct FoundSteps {
  std::string how;  ///< "marks of the profiler", ...
  std::vector<FoundStep> steps;
  std::vector<std::int32_t> step_of;  ///< by event: index into `steps`; -1: of none
  /// by event without a launch: the step in whose range of the host it starts; -1: in none. Empty: all have launches
  std::vector<std::int32_t> started_in;
  int taken = 0;            ///< the median of those that are whole and no outliers
  std::size_t outside = 0;  ///< events of no step
};

/// There is always one at least: all of the recording.
FoundSteps find_steps(const RankTrace& trace);

}  // namespace stepcast::comparison
