// Shows a pipeline's order in time as a drawing, a picture, a trace and a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "studies/cli/console.h"
#include "studies/timeline/pipeline_run.h"

namespace stepcast::timeline {

/// An action's stretch of time, drawn as it stands in the picture. The two of a fused pair share theirs by halves.
struct ScheduleBlock {
  Action action;
  double start = 0, end = 0;
};
std::vector<ScheduleBlock> rank_blocks(const PipelineRun& run, int rank);
char letter_of(ActionKind kind);
/// "1.25 %" of a fraction; what rounding leaves of none is 0.00 %.
std::string schedule_gap_text(double gap);
/// Chunks of a rank, or copies of the model: how many there are, and which one a stage belongs to.
int schedule_shades(const PipelineRun& run);
int schedule_shade_of(const PipelineRun& run, int stage);
/// "8 ranks, 32 micro-batches, 2 chunks".
std::string schedule_size_text(const PipelineRun& run);
/// "13.7 ms", or the bare number where times came without units.
std::string schedule_time_text(const PipelineRun& run, double time);

/// The timeline alone, as letters: a row per rank, and what the letters mean.
std::string schedule_drawing(const PipelineRun& run, const Console& console);
/// PyTorch's compute-only CSV: a row per rank, a cell per action.
std::string schedule_csv(const PipelineRun& run);
/// Chrome's trace event format, which Perfetto reads too: a process per rank with its actions, its sends with arrows to
/// the actions that they feed, and a counter of activations. A time unit without a name is shown as a microsecond; the
/// two of a fused pair are shown one after the other.
std::string schedule_trace(const PipelineRun& run);
std::string schedule_svg(const PipelineRun& run);
bool is_pipeline_picture(const std::string& name);
/// Stands in the picture's first element, so that an earlier one is known.
constexpr std::string_view schedule_svg_mark = "class=\"stepcast-pipeline\"";
/// The order with the duration of every action, as --from reads it (sim/schedule/files/order_json.h).
std::string schedule_order(const PipelineRun& run);
bool is_order_file(const std::string& name);

}  // namespace stepcast::timeline
