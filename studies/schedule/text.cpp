// A schedule's run on a terminal: figures, ranks, and the timeline drawn with letters; and all kinds side by side.
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"
#include "studies/schedule/report.h"

namespace stepcast::schedule {
namespace {

std::string layers_text(const ScheduleRun& run) {
  if (!run.layers) return {};
  const Balance& balance = run.layers->balance;
  const std::string equal = balance.costs_nothing()
                                ? "equal stages would be no faster"
                                : fmt::format("with equal stages {}, {} less",
                                      schedule_time_text(run, (run.timeline.makespan - balance.cost).value()),
                                      schedule_time_text(run, balance.cost.value()));
  return wrapped(
      {"layers " + run.layers->layout,
          fmt::format("slowest {} {:.2f} x the mean", run.chunks() > 1 ? "rank" : "stage", balance.imbalance), equal},
      "; ", "  ", 100);
}

std::string header_text(const ScheduleRun& run) {
  const Timeline& timeline = run.timeline;
  const auto time = [&](double value) { return schedule_time_text(run, value); };
  Table table({{""}, {""}, {""}});
  table.add({"makespan", time(timeline.makespan.value()),
      fmt::format("bubble {}", format_percent(timeline.bubble_fraction()))});
  table.add({"span", time(timeline.span.value()),
      fmt::format("bubble {}, ranks update without waiting", format_percent(timeline.bubble_fraction_span()))});
  table.add({"lower bound", time(run.lower_bound),
      schedule_gap_text(run.gap_to_bound()) + " above any order of these stages"});
  table.add({"", time(run.lower_bound_at_peak_memory), schedule_gap_text(run.gap()) + " above, at this memory"});
  if (run.search)
    table.add({"found by", run.search->from,
        fmt::format("{}; {} orders tried; {:.4g} micro-batches held at most", run.placement(), run.search->tried,
            run.peak_micro_batches())});
  table.add({"messages", fmt::format("{}", timeline.messages), "between ranks, both ways"});
  if (run.order.directions > 1) table.add({"weights", fmt::format("{} copies", run.order.directions), ""});
  return table.text("  ") + layers_text(run);
}

std::string off_text(double error) {
  return fmt::format("{:.2f} % {}", 100 * std::abs(error), error < 0 ? "below" : "above");
}

/// Single durations beside stage means, and beside the step that they were measured in.
std::string replay_text(const ScheduleRun& run) {
  if (!run.replay) return "";
  const ScheduleReplay& replay = *run.replay;
  const auto time = [&](double value) { return schedule_time_text(run, value); };
  Table table({{""}, {""}, {""}});
  table.add({"single durations", time(replay.makespan),
      replay.copies > 1 ? fmt::format("copy {} is the slowest of 0 to {}", replay.slowest, replay.copies - 1)
                        : "every micro-batch its own"});
  const bool even = std::abs(replay.means_gap) < 0.5e-4;
  table.add({"stage means", time(replay.makespan_of_means), even ? "the same" : off_text(replay.means_gap)});
  if (replay.tail) table.add({"with the tail", time(replay.step), fmt::format("{} after it", time(*replay.tail))});
  if (replay.measured)
    table.add({"measured", time(*replay.measured), fmt::format("this is {} it", off_text(*replay.error()))});
  const std::string warning = replay.warning ? fmt::format("  warning: {}\n", *replay.warning) : "";
  return "\n" + table.text("  ") + warning;
}

std::string ranks_text(const ScheduleRun& run) {
  std::vector<Table::Column> columns = {
      {"rank"}, {"start", Align::right}, {"end", Align::right}, {"busy", Align::right}};
  if (run.blocking_hops) columns.push_back({"in hops", Align::right});
  for (const char* held : {"held until W", "until I", "W pending"}) columns.push_back({held, Align::right});
  Table table(columns);
  const Timeline& timeline = run.timeline;
  for (int r = 0; r < run.order.ranks; ++r) {
    std::vector<std::string> cells = {fmt::format("{}", r), schedule_time_text(run, timeline.rank_start[r].value()),
        schedule_time_text(run, timeline.rank_end[r].value()), schedule_time_text(run, timeline.busy[r].value())};
    if (run.blocking_hops) cells.push_back(schedule_time_text(run, timeline.hop_wait[r].value()));
    for (const auto count :
        {timeline.peak_in_flight[r], timeline.peak_freed_at_input_grad[r], timeline.peak_pending_weight_grads[r]})
      cells.push_back(fmt::format("{}", count));
    table.add(cells);
  }
  return table.text("  ");
}

}  // namespace

std::string schedule_text(const ScheduleRun& run, const Console& console) {
  const Paint paint(console);
  std::string notes;
  for (const std::string& note : run.notes) notes += fmt::format("note: {}\n", note);
  return fmt::format("{}{}: {}\n{}{}\n{}\n{}", notes, paint.bold(run.name), schedule_size_text(run), header_text(run),
      replay_text(run), ranks_text(run), schedule_drawing(run, console));
}

namespace {

const ScheduleReplay* most_misled(const ScheduleComparison& comparison) {
  const ScheduleReplay* most = nullptr;
  for (const ScheduleRun& run : comparison.runs)
    if (run.replay && (most == nullptr || std::abs(run.replay->means_gap) > std::abs(most->means_gap)))
      most = &*run.replay;
  return most;
}

/// Rounded first, so that nothing is written as less than nothing.
std::string signed_gap(double gap) { return fmt::format("{:+.2f} %", std::round(1e4 * gap) / 100 + 0.0); }

}  // namespace

std::string comparison_text(const ScheduleComparison& comparison) {
  const ScheduleReplay* most = most_misled(comparison);
  Table table({{"schedule"}, {"time", Align::right}, {"span", Align::right}, {"bubble", Align::right},
      {"held", Align::right}, {"messages", Align::right}, {"weights", Align::right}, {"gap to bound", Align::right},
      {most == nullptr ? "" : "by stage means", Align::right}});
  for (const ScheduleRun& run : comparison.runs) {
    table.add({run.id, schedule_time_text(run, run.timeline.makespan.value()),
        schedule_time_text(run, run.timeline.span.value()), format_percent(run.timeline.bubble_fraction()),
        fmt::format("{:.4g}", run.peak_micro_batches()), fmt::format("{}", run.timeline.messages),
        fmt::format("{}x", run.order.directions), schedule_gap_text(run.gap()),
        run.replay ? signed_gap(run.replay->means_gap) : ""});
  }
  std::string text = table.text("");
  text += "\nheld: micro-batches whose activations the fullest rank keeps until W; gap: above the lower bound at that\n"
          "memory, of any order on the same placement of stages\n";
  if (most != nullptr) text += "by stage means: how much longer every micro-batch with its stage's mean would take\n";
  if (most != nullptr && most->warning) text += fmt::format("warning: {}\n", *most->warning);
  if (!comparison.refused.empty()) text += "\nnot here\n";
  for (const RefusedSchedule& row : comparison.refused) text += fmt::format("  {}: {}\n", row.kind, row.reason);
  return text;
}

}  // namespace stepcast::schedule
