#include "sim/schedule/engine/balance.h"

#include <algorithm>
#include <numeric>

namespace stepcast::sim {
namespace {

/// Makespans that differ by less are the same sum in another order.
constexpr double makespan_rounding = 1e-12;

std::vector<Seconds> at_the_mean(const std::vector<Seconds>& times) {
  const Seconds sum = std::accumulate(times.begin(), times.end(), Seconds());
  return std::vector<Seconds>(times.size(), sum / static_cast<double>(times.size()));
}

double imbalance_of(const Order& order, const StageTimes& times) {
  std::vector<double> work(static_cast<std::size_t>(order.ranks), 0);
  for (int s = 0; s < order.stages(); ++s)
    work[order.rank_of[s]] += (times.forward[s] + times.input_grad[s] + times.weight_grad[s]).value();
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  return sum > 0 ? *std::max_element(work.begin(), work.end()) * order.ranks / sum : 1;
}

}  // namespace

Balance balance_of(const Order& order, const StageTimes& times, Seconds makespan) {
  StageTimes even = times;
  even.forward = at_the_mean(times.forward);
  even.input_grad = at_the_mean(times.input_grad);
  even.weight_grad = at_the_mean(times.weight_grad);
  even.forward_each.clear();
  even.input_grad_each.clear();
  even.weight_grad_each.clear();
  Balance balance{imbalance_of(order, times), Seconds(0)};
  // The order ran with other times; whether it can run does not depend on them.
  const auto timeline = run(order, even);
  if (!timeline) return balance;
  const Seconds saved = makespan - timeline->makespan;
  if (saved.value() > makespan_rounding * makespan.value()) balance.cost = saved;
  return balance;
}

}  // namespace stepcast::sim
