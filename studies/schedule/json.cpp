// A schedule's run, and the comparison of all kinds, as JSON documents.
#include <nlohmann/json.hpp>

#include "sim/schedule/files/pytorch_csv.h"
#include "studies/schedule/report.h"

namespace stepcast::schedule {
namespace {

using ScheduleJson = nlohmann::ordered_json;

ScheduleJson rank_json(const ScheduleRun& run, int rank) {
  const Timeline& timeline = run.timeline;
  return {{"start", timeline.rank_start[rank].value()}, {"end", timeline.rank_end[rank].value()},
      {"busy", timeline.busy[rank].value()}, {"hop_wait", timeline.hop_wait[rank].value()},
      {"peak_activations", timeline.peak_in_flight[rank]},
      {"peak_activations_freed_at_input_grad", timeline.peak_freed_at_input_grad[rank]},
      {"peak_pending_weight_grads", timeline.peak_pending_weight_grads[rank]},
      {"order", pytorch_actions(run.order, rank)}};
}

ScheduleJson replay_json(const ScheduleReplay& replay) {
  ScheduleJson json = {{"makespan", replay.makespan}, {"makespan_of_stage_means", replay.makespan_of_means},
      {"means_gap", replay.means_gap}};
  if (replay.warning) json["warning"] = *replay.warning;
  if (replay.copies > 1) {
    json["copies"] = replay.copies;
    json["slowest_copy"] = replay.slowest;
  }
  if (replay.tail) {
    json["tail"] = *replay.tail;
    json["step"] = replay.step;
  }
  if (replay.measured) {
    json["measured"] = *replay.measured;
    json["error"] = *replay.error();
  }
  return json;
}

ScheduleJson figures_json(const ScheduleRun& run) {
  return {{"schedule", run.id}, {"time_unit", run.in_seconds ? "s" : "abstract"},
      {"p2p_mode", run.blocking_hops ? "blocking" : "overlapped"}, {"makespan", run.timeline.makespan.value()},
      {"span", run.timeline.span.value()}, {"bubble_fraction", run.timeline.bubble_fraction()},
      {"bubble_fraction_span", run.timeline.bubble_fraction_span()}, {"lower_bound", run.lower_bound},
      {"lower_bound_at_peak_memory", run.lower_bound_at_peak_memory}, {"p2p_messages", run.timeline.messages},
      {"weight_copies", run.order.directions}};
}

}  // namespace

std::string schedule_json(const ScheduleRun& run) {
  ScheduleJson json = figures_json(run);
  if (!run.notes.empty()) json["notes"] = run.notes;
  if (run.layers)
    json["partition"] = {{"layers", run.layers->layers}, {"imbalance", run.layers->balance.imbalance},
        {"cost", run.layers->balance.cost.value()}, {"layout", run.layers->layout}};
  if (run.replay) json["replay"] = replay_json(*run.replay);
  if (run.search)
    json["auto"] = {{"from", run.search->from}, {"placement", run.placement()}, {"tried", run.search->tried},
        {"gap", run.gap_to_bound()}, {"peak_micro_batches", run.peak_micro_batches()}};
  json["ranks"] = ScheduleJson::array();
  for (int rank = 0; rank < run.order.ranks; ++rank) json["ranks"].push_back(rank_json(run, rank));
  return json.dump(2) + "\n";
}

std::string comparison_json(const ScheduleComparison& comparison) {
  ScheduleJson json = {{"schedules", ScheduleJson::array()}, {"refused", ScheduleJson::array()}};
  for (const ScheduleRun& run : comparison.runs) {
    ScheduleJson row = figures_json(run);
    row["gap_to_bound"] = run.gap();
    row["peak_activations"] = run.timeline.peak_in_flight;
    row["peak_micro_batches"] = run.peak_micro_batches();
    if (run.replay) row["replay"] = replay_json(*run.replay);
    json["schedules"].push_back(row);
  }
  for (const RefusedSchedule& row : comparison.refused)
    json["refused"].push_back({{"schedule", row.kind}, {"reason", row.reason}});
  return json.dump(2) + "\n";
}

}  // namespace stepcast::schedule
