#include "studies/schedule/replay.h"

namespace stepcast::schedule {
namespace {

bool single_durations(const StageTimes& times) {
  return !times.forward_each.empty() || !times.input_grad_each.empty() || !times.weight_grad_each.empty();
}

ScheduleReplay replay_figures(const Replay& replayed, int copies) {
  ScheduleReplay figures;
  figures.makespan = figures.step = replayed.single.makespan.value();
  figures.makespan_of_means = replayed.means.makespan.value();
  figures.means_gap = replayed.means_gap();
  figures.warning = means_warning(replayed);
  figures.copies = copies;
  figures.slowest = replayed.slowest;
  return figures;
}

}  // namespace

std::optional<double> ScheduleReplay::error() const {
  if (!measured) return std::nullopt;
  return step / *measured - 1;
}

Expected<CopiesRun> run_copies(const std::vector<TimedOrder>& copies) {
  CopiesRun result;
  if (copies.size() == 1 && !single_durations(copies.front().times)) {
    TRY(result.timeline, sim::run(copies.front().order, copies.front().times));
    return result;
  }
  TRY(auto replayed, replay(copies));
  result.replay = replay_figures(replayed, static_cast<int>(copies.size()));
  result.slowest = replayed.slowest;
  result.timeline = std::move(replayed.single);
  return result;
}

void add_measured(const MeasuredStep& step, const Timeline& timeline, ScheduleReplay& replay) {
  replay.tail = step.tail;
  replay.measured = step.measured;
  if (step.on_first_rank) replay.step = (timeline.rank_end[0] - timeline.rank_start[0]).value();
  if (step.tail) replay.step += *step.tail;
}

}  // namespace stepcast::schedule
