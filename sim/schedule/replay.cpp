#include "sim/schedule/replay.h"

#include <cmath>

#include <fmt/format.h>

namespace stepcast {
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

}  // namespace

void set_stage_means(const Order& order, StageTimes& times) {
  set_means(order, times.forward_each, times.forward);
  set_means(order, times.input_grad_each, times.input_grad);
  set_means(order, times.weight_grad_each, times.weight_grad);
}

double Replay::means_gap() const { return single.makespan > Seconds() ? means.makespan / single.makespan - 1 : 0.0; }

Expected<Replay> replay(const TimedOrder& timed) {
  Replay result;
  auto single = run(timed.order, timed.times);
  if (!single) return tl::unexpected(single.error());
  StageTimes times = timed.times;
  set_stage_means(timed.order, times);
  times.forward_each.clear();
  times.input_grad_each.clear();
  times.weight_grad_each.clear();
  auto means = run(timed.order, times);
  if (!means) return tl::unexpected(means.error());
  result.single = std::move(*single);
  result.means = std::move(*means);
  return result;
}

std::optional<std::string> means_warning(const Replay& replay, double tolerance) {
  const double gap = replay.means_gap();
  if (std::abs(gap) <= tolerance) return std::nullopt;
  return fmt::format("stage means make the step {:.1f} % {}: durations of single micro-batches are needed here",
                     100 * std::abs(gap), gap < 0 ? "shorter" : "longer");
}

}  // namespace stepcast
