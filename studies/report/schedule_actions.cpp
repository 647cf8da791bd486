// Parts that the forms of a schedule's report share, and the order as a file: the CSV and our own JSON.
#include <fmt/format.h>

#include "model/quantity_text.h"
#include "sim/schedule/order_json.h"
#include "sim/schedule/pytorch_csv.h"
#include "studies/report/schedule_report.h"

namespace stepcast {

char letter_of(ActionKind kind) {
  constexpr char letters[] = {'F', 'B', 'I', 'W'};
  return letters[static_cast<int>(kind)];
}

std::vector<ScheduleBlock> rank_blocks(const ScheduleRun& run, int rank) {
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

std::string schedule_time_text(const ScheduleRun& run, double time) {
  return run.in_seconds ? format_seconds(Seconds(time)) : fmt::format("{:.7g}", time);
}

std::string schedule_order(const ScheduleRun& run) {
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

std::string schedule_csv(const ScheduleRun& run) { return write_pytorch_csv(run.order); }

}  // namespace stepcast
