#include "sim/schedule/bound/bound_chains.h"

#include <algorithm>
#include <limits>

namespace stepcast::sim::bounds {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

/// Durations of one unit as the bound may count them: a rank's slow-down is in them, and a fused pair that runs faster
/// than its two actions may make any action that much shorter.
class UnitTimes {
 public:
  UnitTimes(const BoundProblem& problem, const StageTimes& times)
      : problem_(problem), times_(times), pace_(std::min(1.0, times.pair_factor)) {}
  [[nodiscard]] double forward(int stage, int unit) const {
    return scaled(times_.forward, times_.forward_each, stage, unit);
  }
  [[nodiscard]] double input_grad(int stage, int unit) const {
    return scaled(times_.input_grad, times_.input_grad_each, stage, unit);
  }
  [[nodiscard]] double weight_grad(int stage, int unit) const {
    return scaled(times_.weight_grad, times_.weight_grad_each, stage, unit);
  }
  [[nodiscard]] double hop_forward(int lower) const { return hop(times_.hop_forward, lower); }
  [[nodiscard]] double hop_backward(int lower) const { return hop(times_.hop_backward, lower); }
  [[nodiscard]] bool all_alike() const {
    return times_.forward_each.empty() && times_.input_grad_each.empty() && times_.weight_grad_each.empty();
  }

 private:
  [[nodiscard]] double scaled(
      const std::vector<Seconds>& means, const std::vector<double>& each, int stage, int unit) const {
    const double slow = times_.rank_slowdown.empty() ? 1.0 : times_.rank_slowdown[problem_.rank_of[stage]];
    return pace_ * slow * (each.empty() ? means[stage].value() : each[stage * problem_.units + unit]);
  }
  [[nodiscard]] double hop(const std::vector<Seconds>& hops, int lower) const {
    return hops.empty() || problem_.rank_of[lower] == problem_.rank_of[lower + 1] ? 0.0 : hops[lower].value();
  }

  const BoundProblem& problem_;
  const StageTimes& times_;
  double pace_;
};

/// A unit that runs alone through the stages first..last-1 of its direction.
struct LoneRun {
  int first = 0, last = 0;
  std::vector<double> forward, input_grad, input_grad_end;  ///< by stage
};

void run_alone(const UnitTimes& times, int unit, LoneRun& run) {
  double now = 0;
  for (int s = run.first; s < run.last; ++s) {
    run.forward[s] = now;
    now += times.forward(s, unit) + (s + 1 < run.last ? times.hop_forward(s) : 0);
  }
  for (int s = run.last - 1; s >= run.first; --s) {
    run.input_grad[s] = now;
    now += times.input_grad(s, unit);
    run.input_grad_end[s] = now;
    if (s > run.first) now += times.hop_backward(s - 1);
  }
}

/// From the end of the input gradient at `stage` to the end of all that must follow it: each lower stage's weight
/// gradient, and its own. `seen_by` is the only rank that looks, or -1.
double time_after(
    const UnitTimes& times, const BoundProblem& problem, const LoneRun& run, int unit, int stage, int seen_by) {
  double end = run.input_grad_end[stage];
  for (int s = run.first; s <= stage; ++s) {
    if (seen_by >= 0 && problem.rank_of[s] != seen_by) continue;
    end = std::max(end, run.input_grad_end[s] + times.weight_grad(s, unit));
  }
  return end - run.input_grad_end[stage];
}

/// Lowers what is a least and raises what is a most by one unit's figures.
void add_unit(const UnitTimes& times, int stage, int unit, StageWay& way) {
  const double f = times.forward(stage, unit), i = times.input_grad(stage, unit), w = times.weight_grad(stage, unit);
  way.least_forward = std::min(way.least_forward, f);
  way.least_weight_grad = std::min(way.least_weight_grad, w);
  way.most_forward = std::max(way.most_forward, f);
  way.most_input_grad = std::max(way.most_input_grad, i);
  way.most_weight_grad = std::max(way.most_weight_grad, w);
  way.work += f + i + w;
}

void add_way(const UnitTimes& times, const BoundProblem& problem, const LoneRun& run, int unit, int stage,
    bool within_rank, StageWay& way) {
  int from = run.first;
  while (within_rank && problem.rank_of[from] != problem.rank_of[stage]) ++from;
  const double start = run.forward[from];
  const double after = time_after(times, problem, run, unit, stage, within_rank ? problem.rank_of[stage] : -1);
  const double end = run.input_grad_end[stage] + times.weight_grad(stage, unit);
  way.forward_starts = std::min(way.forward_starts, run.forward[stage] - start);
  way.input_grad_starts = std::min(way.input_grad_starts, run.input_grad[stage] - start);
  way.after_input_grad = std::min(way.after_input_grad, after);
  way.alone = std::max(way.alone, run.input_grad_end[stage] - start + after);
  way.life = std::min(way.life, end - run.forward[stage]);
}

std::vector<StageWay> gather(const BoundProblem& problem, const StageTimes& stage_times, bool within_rank) {
  const UnitTimes times(problem, stage_times);
  const auto stages = static_cast<std::size_t>(problem.stages);
  std::vector<StageWay> ways(stages);
  const int length = problem.stages / problem.directions, units = problem.units / problem.directions;
  LoneRun run{0, 0, std::vector<double>(stages), std::vector<double>(stages), std::vector<double>(stages)};
  for (int direction = 0; direction < problem.directions; ++direction) {
    run.first = direction * length;
    run.last = run.first + length;
    for (int s = run.first; s < run.last; ++s) {
      // clang-format off
      ways[s] = {.rank = problem.rank_of[s], .direction = direction, .units = units, .forward_starts = endless,
                 .input_grad_starts = endless, .after_input_grad = endless, .life = endless,
                 .least_forward = endless, .least_weight_grad = endless};
      // clang-format on
    }
    const int differing = times.all_alike() ? 1 : units;
    for (int unit = direction * units; unit < direction * units + differing; ++unit) {
      run_alone(times, unit, run);
      for (int s = run.first; s < run.last; ++s) {
        add_way(times, problem, run, unit, s, within_rank, ways[s]);
        add_unit(times, s, unit, ways[s]);
      }
    }
    for (int s = run.first; s < run.last; ++s) ways[s].work *= static_cast<double>(units) / differing;
  }
  return ways;
}

}  // namespace

std::vector<StageWay> stage_ways(const BoundProblem& problem, const StageTimes& times) {
  return gather(problem, times, false);
}

std::vector<StageWay> ways_within_rank(const BoundProblem& problem, const StageTimes& times) {
  return gather(problem, times, true);
}

}  // namespace stepcast::sim::bounds
