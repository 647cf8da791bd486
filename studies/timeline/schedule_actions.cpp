// Parts that the forms of a schedule's report share, and the order as a file: the CSV and our own JSON.
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "sim/schedule/files/order_json.h"
#include "sim/schedule/files/pytorch_csv.h"
#include "studies/cli/output_file.h"
#include "studies/timeline/schedule_report.h"

namespace stepcast::timeline {

char letter_of(ActionKind kind) {
  constexpr char letters[] = {'F', 'B', 'I', 'W'};
  return letters[static_cast<int>(kind)];
}

std::vector<ScheduleBlock> rank_blocks(const PipelineRun& run, int rank) {
  std::vector<ScheduleBlock> blocks;
  for (std::int32_t i = run.order.begin[rank]; i < run.order.begin[rank + 1]; ++i) {
    const double start = run.timeline.start[i].value(), end = run.timeline.end[i].value(), half = (start + end) / 2;
    if (!run.order.actions[i].with_next) {
      blocks.push_back({run.order.actions[i], start, end});
      continue;
    }
    blocks.push_back({run.order.actions[i], start, half});
    blocks.push_back({run.order.actions[++i], half, end});
  }
  return blocks;
}

std::string schedule_gap_text(double gap) { return fmt::format("{:.2f} %", std::abs(gap) < 5e-5 ? 0 : 100 * gap); }

int schedule_shades(const PipelineRun& run) { return schedule_shade_of(run, run.order.stages() - 1) + 1; }

int schedule_shade_of(const PipelineRun& run, int stage) {
  return run.order.directions > 1 ? run.order.direction_of(stage) : stage / run.order.ranks;
}

std::string schedule_size_text(const PipelineRun& run) {
  const auto counted = [](int count, const char* what) {
    return fmt::format("{} {}{}", count, what, count > 1 ? (std::string_view(what).ends_with("h") ? "es" : "s") : "");
  };
  std::string text = counted(run.order.ranks, "rank") + ", " + counted(run.order.micro_batches, "micro-batch");
  if (run.chunks() > 1) text += fmt::format(", {} chunks", run.chunks());
  if (run.order.slices > 1) text += fmt::format(", {} slices", run.order.slices);
  if (run.order.directions > 1) text += ", half of them each way";
  return text;
}

std::string schedule_time_text(const PipelineRun& run, double time) {
  return run.in_seconds ? format_seconds(Seconds(time)) : fmt::format("{:.7g}", time);
}

std::string schedule_order(const PipelineRun& run) {
  TimedOrder timed{run.order, run.times};
  const auto slow_down = [&](auto& times, std::size_t per_stage) {
    for (std::size_t i = 0; i < times.size() && !run.times.rank_slowdown.empty(); ++i)
      times[i] = times[i] * run.times.rank_slowdown[run.order.rank_of[i / per_stage]];
  };
  for (auto* means : {&timed.times.forward, &timed.times.input_grad, &timed.times.weight_grad}) slow_down(*means, 1);
  for (auto* each : {&timed.times.forward_each, &timed.times.input_grad_each, &timed.times.weight_grad_each})
    slow_down(*each, static_cast<std::size_t>(run.order.units()));
  return write_order_json(timed, run.in_seconds);
}

bool is_order_file(const std::string& name) {
  return file_holds(name, "\"micro_batches\": ") && file_holds(name, "\"rank_of\": [");
}

bool is_pipeline_picture(const std::string& name) {
  return file_holds(name, "<svg") && file_holds(name, schedule_svg_mark);
}

std::string schedule_csv(const PipelineRun& run) { return write_pytorch_csv(run.order); }

}  // namespace stepcast::timeline
