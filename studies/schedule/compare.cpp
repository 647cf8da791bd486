// All kinds on one request.
#include <algorithm>

#include <fmt/format.h>

#include "sim/schedule/schedule_table.h"
#include "studies/schedule/run.h"

namespace stepcast::schedule {

ScheduleRequest request_for(const ScheduleKind& kind, const ScheduleRequest& request) {
  ScheduleRequest own = request;
  own.size.chunks = !kind.takes_chunks ? 1 : request.chunks_given ? request.size.chunks : 2;
  own.size.slices = !kind.takes_slices ? 1 : request.slices_given ? request.size.slices : 2;
  if (!kind.takes_group) own.size.group = 0;
  if (!kind.pairs) own.pair_factor = 1;
  own.cap_unit = shared_cap_unit(request, chunks_of(kind, own.size), own.size.slices);
  return own;
}

double shared_cap_unit(const ScheduleRequest& request, int chunks, int slices) {
  return static_cast<double>(chunks) * slices / (request.chunks_given ? request.size.chunks : 1);
}

namespace {

/// Kinds side by side run one model: two times per rank are its chunks, which a kind with two copies of the model would
/// take for the stages of both.
Expected<void> check_one_model(const ScheduleKind& kind, const ScheduleRequest& request) {
  const auto entries = static_cast<int>(request.forward_list.size());
  if (kind.directions == 1 || entries != 2 * request.size.ranks) return {};
  return fail(request.times_file,
      fmt::format("{} times are two chunks on each of {} ranks here, and {} has a stage of each copy there", entries,
          request.size.ranks, kind.id),
      fmt::format("{} times to compare it, or stepcast schedule {} to run the {} as two copies", request.size.ranks,
          kind.id, entries));
}

/// Actions and their times, of which two dozen kinds would fill the memory; a comparison has figures alone.
void keep_figures_only(ScheduleRun& run) {
  run.order.actions = {};
  run.timeline.start = run.timeline.end = {};
  run.times.forward_each = run.times.input_grad_each = run.times.weight_grad_each = {};
}

Expected<ScheduleRun> run_in_comparison(const ScheduleKind& kind, const ScheduleRequest& request) {
  TRY(check_one_model(kind, request));
  TRY(auto run, run_schedule(kind.id, request_for(kind, request)));
  keep_figures_only(run);
  return run;
}

}  // namespace

ScheduleComparison compare_schedules(const ScheduleRequest& request) {
  ScheduleComparison comparison;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (auto run = run_in_comparison(kind, request)) {
      comparison.runs.push_back(std::move(*run));
    } else {
      comparison.refused.push_back({kind.id, to_text(run.error())});
    }
  }
  std::stable_sort(comparison.runs.begin(), comparison.runs.end(),
      [](const ScheduleRun& a, const ScheduleRun& b) { return a.timeline.makespan < b.timeline.makespan; });
  return comparison;
}

}  // namespace stepcast::schedule
