// Compares a run of single durations with its run of stage means: how far the means are off, and how far the replay of
// a measured step is off (sim/schedule/engine/replay.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/schedule/engine/replay.h"

namespace stepcast::schedule {

struct ScheduleReplay {
  double makespan = 0;  ///< every unit with its own duration; of the slowest copy
  double makespan_of_means = 0;
  double means_gap = 0;                ///< the second against the first, -0.27: 27 % shorter
  std::optional<std::string> warning;  ///< where that matters
  int copies = 1, slowest = 0;
  std::optional<double> tail;  ///< from the pipeline's end to the step's
  double step = 0;             ///< what `measured` is about: the makespan and the tail, or rank 0's part
  std::optional<double> measured;
  [[nodiscard]] std::optional<double> error() const;  ///< of `step`, -0.01: 1 % below the measured one
};

/// What one run of copies gives; `replay` only where single units have durations of their own, or copies differ.
struct CopiesRun {
  Timeline timeline;
  int slowest = 0;
  std::optional<ScheduleReplay> replay;
};
Expected<CopiesRun> run_copies(const std::vector<TimedOrder>& copies);

/// What a file knows of the step beside the durations.
struct MeasuredStep {
  std::optional<double> tail, measured;
  bool on_first_rank = false;  ///< `measured` is from rank 0's first start to its last end
};
void add_measured(const MeasuredStep& step, const Timeline& timeline, ScheduleReplay& replay);

}  // namespace stepcast::schedule
