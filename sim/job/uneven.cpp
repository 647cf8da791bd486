#include "sim/job/uneven.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "model/base/percentile.h"

namespace stepcast::sim {
namespace {

/// Log-normal with a mean of 1.
double factor(Draws& draws, double spread) {
  return spread == 0 ? 1 : std::exp(spread * draws.normal() - spread * spread / 2);
}

/// Of a micro-batch.
double unit_factor(const Unevenness& uneven, Draws& draws) {
  double all = factor(draws, uneven.micro_batches);
  if (uneven.law) all *= uneven.law->at(draws.unit()) / uneven.law->mean;
  if (uneven.costs.empty()) return all;
  const auto count = static_cast<double>(uneven.costs.size());
  const double mean = std::accumulate(uneven.costs.begin(), uneven.costs.end(), 0.0) / count;
  return all * uneven.costs[static_cast<std::size_t>(count * draws.unit())] / mean;
}

/// One step of one copy: every unit with its own duration. Units of a stage of the other direction have entries, too.
class UnevenCopy {
 public:
  UnevenCopy(const Order& order, const StageTimes& times) : order_(order), even_(times), drawn_(times) {
    const auto all = static_cast<std::size_t>(order.stages() * order.units());
    for (auto* each : {&drawn_.forward_each, &drawn_.input_grad_each, &drawn_.weight_grad_each}) each->resize(all);
  }

  void draw(const Unevenness& uneven, const std::vector<double>& of_rank, Draws& draws) {
    std::vector<double> of_unit(static_cast<std::size_t>(order_.units()));
    for (double& one : of_unit) one = unit_factor(uneven, draws);
    for (int stage = 0; stage < order_.stages(); ++stage)
      for (int unit = 0; unit < order_.units(); ++unit) {
        const auto s = static_cast<std::size_t>(stage), u = static_cast<std::size_t>(unit);
        const auto at = static_cast<std::size_t>(stage * order_.units() + unit);
        const double both = of_rank[static_cast<std::size_t>(order_.rank_of[s])] * of_unit[u];
        drawn_.forward_each[at] = even_.forward[s].value() * both * factor(draws, uneven.actions);
        const double backward = both * factor(draws, uneven.actions);
        drawn_.input_grad_each[at] = even_.input_grad[s].value() * backward;
        drawn_.weight_grad_each[at] = even_.weight_grad[s].value() * backward;
      }
  }

  Expected<double> makespan() {
    TRY(run(order_, drawn_, timeline_, workspace_));
    return timeline_.makespan.value();
  }

 private:
  const Order& order_;
  const StageTimes& even_;
  StageTimes drawn_;
  Timeline timeline_;
  EngineWorkspace workspace_;
};

/// Factors of the ranks of all copies: those that last, drawn once, times those of the slow ones.
std::vector<std::vector<double>> rank_factors(
    const std::vector<std::vector<double>>& lasting, const Unevenness& uneven, Draws& draws) {
  std::vector<std::vector<double>> factors = lasting;
  const std::int64_t ranks = static_cast<std::int64_t>(lasting.front().size());
  std::vector<std::int64_t> all(static_cast<std::size_t>(ranks) * lasting.size());
  std::iota(all.begin(), all.end(), 0);
  for (std::int64_t taken = 0; taken < std::min<std::int64_t>(uneven.slow, std::ssize(all)); ++taken) {
    const auto left = static_cast<double>(std::ssize(all) - taken);
    std::swap(all[static_cast<std::size_t>(taken)],
        all[static_cast<std::size_t>(taken) + static_cast<std::size_t>(left * draws.unit())]);
    const std::int64_t one = all[static_cast<std::size_t>(taken)];
    factors[static_cast<std::size_t>(one / ranks)][static_cast<std::size_t>(one % ranks)] *= uneven.slow_factor;
  }
  return factors;
}

}  // namespace

double DurationLaw::exponent() const {
  // The mean is that of the straight pieces and of p50 + (p95 - p50) x^k, whose mean is 1/(k + 1).
  const double low = 2 * p5 > p50 ? 2 * p5 - p50 : p5;  // the lowest twentieth: as far below as the median is above
  const double pieces = 0.05 * (low + p5) / 2 + 0.45 * (p5 + p50) / 2 + 0.05 * (p95 + largest) / 2 + 0.45 * p50;
  const double share = (mean - pieces) / (0.45 * (p95 - p50));
  return share > 0 && share < 1 ? 1 / share - 1 : 1;
}

double DurationLaw::at(double share) const {
  const double low = 2 * p5 > p50 ? 2 * p5 - p50 : p5;
  if (share < 0.05) return low + (p5 - low) * share / 0.05;
  if (share < 0.5) return p5 + (p50 - p5) * (share - 0.05) / 0.45;
  if (share < 0.95) return p50 + (p95 - p50) * std::pow((share - 0.5) / 0.45, exponent());
  return p95 + (largest - p95) * (share - 0.95) / 0.05;
}

Expected<UnevenSteps> uneven_steps(const Order& order, const StageTimes& times, std::int64_t copies,
    const Unevenness& uneven, std::int64_t samples, std::uint64_t seed) {
  UnevenSteps steps;
  TRY(const auto even, run(order, times));
  steps.even = even.makespan.value();
  Draws draws(seed_of(seed, 0));
  const int ranks = *std::max_element(order.rank_of.begin(), order.rank_of.end()) + 1;
  UnevenCopy copy(order, times);
  std::vector<double> makespans;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    std::vector<std::vector<double>> lasting(static_cast<std::size_t>(copies));
    for (auto& of_copy : lasting)
      for (int rank = 0; rank < ranks; ++rank) of_copy.push_back(factor(draws, uneven.ranks));
    double slowest = 0;
    for (const std::vector<double>& of_rank : rank_factors(lasting, uneven, draws)) {
      copy.draw(uneven, of_rank, draws);
      TRY(const auto makespan, copy.makespan());
      slowest = std::max(slowest, makespan);
    }
    makespans.push_back(slowest);
  }
  const auto count = static_cast<double>(samples);
  double squares = 0;
  for (const double one : makespans) steps.mean += one / count;
  for (const double one : makespans) squares += (one - steps.mean) * (one - steps.mean);
  steps.error = std::sqrt(squares / (count - 1) / count);
  steps.p10 = percentile(makespans, 0.1), steps.p90 = percentile(makespans, 0.9);
  return steps;
}

double normal_maximum(std::int64_t count) {
  // E max = integral over x > 0 of (1 - Phi(x)^n) - Phi(-x)^n, in steps that the tails end long before.
  constexpr double end = 12, step = 1e-3;
  const auto n = static_cast<double>(count);
  const auto below = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
  double sum = 0;
  for (double x = step / 2; x < end; x += step) {
    const double above = below(-x);
    sum += -std::expm1(n * std::log1p(-above)) - std::pow(above, n);
  }
  return sum * step;
}

double one_stage_step(
    double forward_backward, std::int64_t micro_batches, std::int64_t copies, const Unevenness& uneven) {
  const double variance = std::expm1(uneven.micro_batches * uneven.micro_batches + uneven.actions * uneven.actions);
  const double sum = forward_backward * static_cast<double>(micro_batches);
  return sum * (1 + std::sqrt(variance / static_cast<double>(micro_batches)) * normal_maximum(copies));
}

}  // namespace stepcast::sim
