#include "studies/infer/iteration_trace.h"

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "studies/timeline/scene.h"
#include "studies/timeline/trace_writer.h"

namespace stepcast::infer {
namespace {

constexpr int host_thread = 0, kernel_thread = 1, move_thread = 2;

}  // namespace

std::string iteration_trace(const Asked& asked, const Answer& answer) {
  const Serving& serving = answer.serving;
  const Phase& phase = answer.phase;
  const ServingCost cost(serving);
  const auto slices = cost.in_order(phase.shown_rows, phase.shown);
  const Engine::Tuning& tuning = cost.tuning();
  const Seconds before = tuning.host_per_iteration + tuning.host_per_sequence * phase.shown.sums.sequences,
                launching = tuning.host_per_launch * (phase.shown.sums.launched * phase.shown.sums.host_pace);
  // What prepares an iteration comes before it, or beside the one that runs.
  Seconds begin = serving.engine.host_beside ? Seconds(0) : before;
  constexpr double microseconds = 1e6;
  timeline::TraceWriter writer(microseconds, false);
  writer.expect(static_cast<std::int64_t>(2 * slices.size()) + 8);
  writer.begin(timeline::trace_mark,
      json_quoted(fmt::format("{} of {} on {} x {}, {}", asked.phase, serving.network().name,
          serving.scenario.plan.gpus, serving.machine().gpu.name, serving.engine.name)),
      json_quoted("times in microseconds"));
  writer.name_process(0, json_quoted("one GPU of each stage, and its host"), 0);
  writer.name_thread({0, host_thread}, json_quoted("host"), host_thread);
  writer.name_thread({0, kernel_thread}, json_quoted("kernels"), kernel_thread);
  writer.name_thread({0, move_thread}, json_quoted("collectives"), move_thread);
  if (before > Seconds(0))
    writer.slice({0, host_thread}, 0, before.value(),
        json_quoted(serving.engine.host_beside ? "prepare the next iteration" : "prepare the iteration"), "host", "");
  const bool in_turn = serving.engine.launches_in_turn && launching > Seconds(0);
  if (launching > Seconds(0) && !in_turn)
    writer.slice({0, host_thread}, before.value(), (before + launching).value(), json_quoted("launch"), "host", "");
  const auto write = [&](const std::vector<sim::IterationSlice>& all, const char* prefix, Seconds launches) {
    const Seconds launch = launches / static_cast<double>(all.size());
    for (const sim::IterationSlice& slice : all) {
      double start = (begin + slice.start).value();
      if (launches > Seconds(0)) {  // before each, all as long: some slices are several kernels
        writer.slice({0, host_thread}, start, start + launch.value(), json_quoted("launch"), "host", "");
        begin += launch, start += launch.value();
      }
      writer.slice({0, slice.is_move ? move_thread : kernel_thread}, start, start + slice.time.value(),
          json_quoted(prefix + slice.label), slice.is_move ? "collective" : "kernel",
          slice.shape.empty() ? "" : fmt::format("{{\"shape\":{}}}", json_quoted(slice.shape)));
    }
    if (!all.empty()) begin += all.back().start + all.back().time;
  };
  if (phase.guesses > 0) {  // one after the other, each by an iteration of its own
    const ServingCost drafts(*serving.drafter);
    std::vector<sim::Rows> guess = phase.shown_rows;
    for (sim::Rows& rows : guess) rows.positions = 1;
    const sim::IterationTime one = drafts.time(guess);
    const auto layers = drafts.in_order(guess, one);
    for (std::int64_t i = 0; i < phase.guesses; ++i) {
      write(layers, "draft ", Seconds(0));
      begin += one.host;
    }
  }
  write(slices, "", in_turn ? launching : Seconds(0));
  return writer.finish();
}

}  // namespace stepcast::infer
