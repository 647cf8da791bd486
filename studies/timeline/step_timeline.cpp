#include "studies/timeline/step_timeline.h"

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "sim/schedule/bound/bound.h"
#include "sim/schedule/schedule_table.h"
#include "studies/print/paint.h"
#include "studies/timeline/schedule_report.h"
#include "studies/print/table.h"

namespace stepcast::timeline {
namespace {

std::vector<double> seconds_of(const std::vector<Seconds>& times) {
  std::vector<double> values;
  for (const Seconds time : times) values.push_back(time.value());
  return values;
}

/// Where slices differ, the stage's own figure is the mean of them.
void write_times(JsonWriter& json, const StageTimes& times) {
  json.fields("forward_s", seconds_of(times.forward), "input_grad_s", seconds_of(times.input_grad), "weight_grad_s",
      seconds_of(times.weight_grad), "hop_s", seconds_of(times.hop_forward), "blocking_hops", times.blocking_hops);
}

std::vector<std::int64_t> widened(const std::vector<std::int32_t>& counts) { return {counts.begin(), counts.end()}; }

std::string figures_text(const Prediction& prediction, const PipelineRun& run) {
  const auto share = [](double above) { return fmt::format("{:.2f} % above", 100 * above); };
  const double makespan = run.timeline.makespan.value();
  Table table({{""}, {""}, {""}});
  table.add({"makespan", schedule_time_text(run, makespan),
      fmt::format("bubble {}, of a step of {}", format_percent(run.timeline.bubble_fraction()),
          format_seconds(prediction.step.step_time))});
  table.add({"lower bound", schedule_time_text(run, run.lower_bound),
      share(makespan / run.lower_bound - 1) + " any order of these stages"});
  table.add({"", schedule_time_text(run, run.lower_bound_at_peak_memory), share(run.gap()) + ", at this memory"});
  return table.text("  ");
}

}  // namespace

PipelineRun pipeline_run(const Prediction& prediction) {
  const StepReport& step = prediction.step;
  PipelineRun run;
  run.id = prediction.program.schedule;
  const auto kind = find_schedule(run.id);
  run.name = kind ? (*kind)->name : run.id;
  run.in_seconds = true;
  run.order = step.order;
  run.timeline = step.timeline;
  run.lower_bound = lower_bound(bound_problem(step.order), step.times).makespan.value();
  run.lower_bound_at_peak_memory = lower_bound(bound_problem(step.order, step.timeline), step.times).makespan.value();
  return run;
}

std::string timeline_text(const Prediction& prediction, const Console& console) {
  const PipelineRun run = pipeline_run(prediction);
  const Paint paint(console);
  return fmt::format("\n{}  {}\n{}\n{}", paint.bold("Timeline"),
      paint.dim(fmt::format("{}: {}", run.name, schedule_size_text(run))), figures_text(prediction, run),
      schedule_drawing(run, console));
}

std::string timeline_svg(const Prediction& prediction) { return schedule_svg(pipeline_run(prediction)); }

void write_pipeline(JsonWriter& json, const Prediction& prediction) {
  const StepReport& step = prediction.step;
  const PipelineRun run = pipeline_run(prediction);
  json.open("pipeline");
  json.fields("schedule", run.id, "micro_batches", step.order.micro_batches, "chunks", run.chunks(), "slices",
      step.order.slices, "weight_copies", step.order.directions);
  json.base_fields("makespan_s", step.timeline.makespan, "span_s", step.timeline.span);
  json.fields("lower_bound_s", run.lower_bound, "lower_bound_at_peak_memory_s", run.lower_bound_at_peak_memory,
      "peak_activations", widened(step.timeline.peak_in_flight), "p2p_messages", step.timeline.messages);
  write_times(json, step.times);
  json.close();
}

}  // namespace stepcast::timeline
