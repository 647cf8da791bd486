// Prints one schedule, or all of them side by side.
#pragma once

#include <string>

#include "studies/cli/console.h"
#include "studies/schedule/run.h"
#include "studies/timeline/schedule_report.h"

namespace stepcast::schedule {

/// The orders are in PyTorch's words (sim/schedule/files/pytorch_csv.h). Stages of a second copy of the model follow
/// those of the first; where the sequence is cut, the last number is the unit, micro-batch x slices + slice.
std::string schedule_json(const ScheduleRun& run);
std::string schedule_text(const ScheduleRun& run, const Console& console);

std::string comparison_json(const ScheduleComparison& comparison);
std::string comparison_text(const ScheduleComparison& comparison);

}  // namespace stepcast::schedule
