#include "sim/schedule/engine/replay.h"

#include <cassert>
#include <cmath>

#include <fmt/format.h>

namespace stepcast::sim {
namespace {

/// Over the units of the stage's direction.
void set_means(const Order& order, const std::vector<double>& each, std::vector<Seconds>& means) {
  if (each.empty()) return;
  means.assign(order.rank_of.size(), Seconds());
  const int passing = order.units() / order.directions;
  for (int stage = 0; stage < order.stages(); ++stage) {
    const double* first = each.data() + static_cast<std::ptrdiff_t>(stage) * order.units() +
                          static_cast<std::ptrdiff_t>(order.direction_of(stage)) * passing;
    double sum = 0;
    for (int unit = 0; unit < passing; ++unit) sum += first[unit];
    means[stage] = Seconds(sum / passing);
  }
}

/// Means of the units, and nothing of single ones.
StageTimes without_units(const TimedOrder& timed) {
  StageTimes times = timed.times;
  set_stage_means(timed.order, times);
  times.forward_each.clear();
  times.input_grad_each.clear();
  times.weight_grad_each.clear();
  return times;
}

void add_times(StageTimes& sum, const StageTimes& times) {
  for (std::size_t stage = 0; stage < sum.forward.size(); ++stage) {
    sum.forward[stage] += times.forward[stage];
    sum.input_grad[stage] += times.input_grad[stage];
    sum.weight_grad[stage] += times.weight_grad[stage];
  }
}

}  // namespace

void set_stage_means(const Order& order, StageTimes& times) {
  set_means(order, times.forward_each, times.forward);
  set_means(order, times.input_grad_each, times.input_grad);
  set_means(order, times.weight_grad_each, times.weight_grad);
}

double Replay::means_gap() const { return single.makespan > Seconds() ? means.makespan / single.makespan - 1 : 0.0; }

Expected<Replay> replay(const TimedOrder& timed) { return replay(std::span(&timed, 1)); }

Expected<Replay> replay(std::span<const TimedOrder> copies) {
  assert(!copies.empty());
  Replay result;
  StageTimes means = without_units(copies.front());
  for (const TimedOrder& copy : copies) {
    assert(copy.order.actions == copies.front().order.actions);
    TRY(auto single, run(copy.order, copy.times));
    if (&copy != &copies.front()) add_times(means, without_units(copy));
    if (single.makespan <= result.single.makespan && !result.single.end.empty()) continue;
    result.single = std::move(single);
    result.slowest = static_cast<int>(&copy - copies.data());
  }
  for (auto* stages : {&means.forward, &means.input_grad, &means.weight_grad}) {
    for (Seconds& time : *stages) time = time / static_cast<double>(copies.size());
  }
  TRY(result.means, run(copies.front().order, means));
  return result;
}

std::optional<std::string> means_warning(const Replay& replay, double tolerance) {
  const double gap = replay.means_gap();
  if (std::abs(gap) <= tolerance) return std::nullopt;
  return fmt::format("stage means make the step {:.1f} % {}: durations of single micro-batches are needed here",
      100 * std::abs(gap), gap < 0 ? "shorter" : "longer");
}

}  // namespace stepcast::sim
