#include "sim/job/uneven.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>

#include "model/base/percentile.h"

namespace stepcast::sim {
namespace {

/// Log-normal with a mean of 1.
double factor(Draws& draws, double spread) {
  return spread == 0 ? 1 : std::exp(spread * draws.normal() - spread * spread / 2);
}

/// Of a micro-batch, beside its documents.
double unit_factor(const Unevenness& uneven, Draws& draws) {
  double all = factor(draws, uneven.micro_batches);
  if (uneven.law) all *= uneven.law->at(draws.unit()) / uneven.law->mean;
  if (uneven.costs.empty()) return all;
  const auto count = static_cast<double>(uneven.costs.size());
  const double mean = std::accumulate(uneven.costs.begin(), uneven.costs.end(), 0.0) / count;
  return all * uneven.costs[static_cast<std::size_t>(count * draws.unit())] / mean;
}

double mean_of(const std::vector<double>& shares) {
  return shares.empty() ? 0 : std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(shares.size());
}

/// Of a whole micro-batch: backward takes twice as long as forward.
double mean_attending(const Unevenness& uneven) {
  return (mean_of(uneven.attending_forward) + 2 * mean_of(uneven.attending_backward)) / 3;
}

/// The micro-batches of a step, those of one copy after those of another.
std::vector<UnitCost> drawn_units(const Unevenness& uneven, std::int64_t copies, std::int64_t each, Draws& draws) {
  std::vector<UnitCost> units(static_cast<std::size_t>(copies * each));
  if (uneven.documents) units = filled_units(*uneven.documents, copies * each, draws);
  for (UnitCost& unit : units) {
    const double factor = unit_factor(uneven, draws);
    unit.linear *= factor, unit.quadratic *= factor;
  }
  deal(units, copies, mean_attending(uneven), uneven.dealing);
  return units;
}

/// One step of one copy: every unit with its own duration. Units of a stage of the other direction have entries, too.
class UnevenCopy {
 public:
  UnevenCopy(const Order& order, const StageTimes& times) : order_(order), even_(times), drawn_(times) {
    const auto all = static_cast<std::size_t>(order.stages() * order.units());
    for (auto* each : {&drawn_.forward_each, &drawn_.input_grad_each, &drawn_.weight_grad_each}) each->resize(all);
  }

  void draw(
      const Unevenness& uneven, const std::vector<double>& of_rank, std::span<const UnitCost> of_unit, Draws& draws) {
    const auto share = [](const std::vector<double>& of_stage, std::size_t stage) {
      return of_stage.empty() ? 0 : of_stage[stage];
    };
    for (int stage = 0; stage < order_.stages(); ++stage)
      for (int unit = 0; unit < order_.units(); ++unit) {
        const auto s = static_cast<std::size_t>(stage);
        const auto at = static_cast<std::size_t>(stage * order_.units() + unit);
        const double rank = of_rank[static_cast<std::size_t>(order_.rank_of[s])];
        const UnitCost& cost = of_unit[static_cast<std::size_t>(unit)];
        drawn_.forward_each[at] = even_.forward[s].value() * rank * factor(draws, uneven.actions) *
                                  cost.with(share(uneven.attending_forward, s));
        const double backward = rank * factor(draws, uneven.actions) * cost.with(share(uneven.attending_backward, s));
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

/// Factors of the ranks of all copies: those that last, times those of the slow ones, of which GPUs are drawn.
std::vector<std::vector<double>> rank_factors(
    std::int64_t copies, std::int64_t ranks, const Unevenness& uneven, Draws& draws) {
  std::vector<std::vector<double>> lasting(static_cast<std::size_t>(copies)), slow = lasting;
  for (auto& of_copy : lasting)
    for (std::int64_t rank = 0; rank < ranks; ++rank) of_copy.push_back(factor(draws, uneven.ranks));
  for (auto& of_copy : slow) of_copy.assign(static_cast<std::size_t>(ranks), 1.0);
  const auto slow_one = [&](std::int64_t copy, std::int64_t rank) -> double& {
    return slow[static_cast<std::size_t>(copy)][static_cast<std::size_t>(rank)];
  };
  if (uneven.slow > 0) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(ranks * copies * uneven.gpus_per_rank));
    std::iota(all.begin(), all.end(), 0);
    for (std::int64_t taken = 0; taken < std::min<std::int64_t>(uneven.slow, std::ssize(all)); ++taken) {
      const auto left = static_cast<double>(std::ssize(all) - taken);
      std::swap(all[static_cast<std::size_t>(taken)],
          all[static_cast<std::size_t>(taken) + static_cast<std::size_t>(left * draws.unit())]);
      const std::int64_t one = all[static_cast<std::size_t>(taken)] / uneven.gpus_per_rank;
      slow_one(one / ranks, one % ranks) = uneven.slow_factor;
    }
  }
  for (const SlowRank& one : uneven.named) {
    double& now = slow_one(one.copy, one.rank);
    now = now == 1 ? one.factor : std::max(now, one.factor);
  }
  for (std::size_t copy = 0; copy < slow.size(); ++copy)
    for (std::size_t rank = 0; rank < slow[copy].size(); ++rank) lasting[copy][rank] *= slow[copy][rank];
  return lasting;
}

/// Of one micro-batch over the even one: mean, standard deviation and skewness, from draws.
struct UnitMoments {
  double mean = 0, deviation = 0, skewness = 0;
};
UnitMoments unit_moments(const Unevenness& uneven) {
  constexpr std::int64_t count = 20'000;
  Draws draws(seed_of(0, 1));
  std::vector<double> values;
  for (const UnitCost& unit : drawn_units(uneven, 1, count, draws))
    values.push_back(unit.with(mean_attending(uneven)) * factor(draws, uneven.actions));
  UnitMoments moments;
  for (const double value : values) moments.mean += value / count;
  double squares = 0, cubes = 0;
  for (const double value : values) {
    const double off = value - moments.mean;
    squares += off * off / count, cubes += off * off * off / count;
  }
  moments.deviation = std::sqrt(squares);
  moments.skewness = squares > 0 ? cubes / std::pow(squares, 1.5) : 0;
  return moments;
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
    const auto factors = rank_factors(copies, ranks, uneven, draws);
    const std::vector<UnitCost> units = drawn_units(uneven, copies, order.units(), draws);
    double slowest = 0;
    for (std::size_t one = 0; one < factors.size(); ++one) {
      const auto each = static_cast<std::size_t>(order.units());
      copy.draw(uneven, factors[one], std::span(units).subspan(one * each, each), draws);
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

std::optional<double> one_stage_step(
    double forward_backward, std::int64_t micro_batches, std::int64_t copies, const Unevenness& uneven) {
  const bool by_cost = uneven.documents && uneven.documents->fill == Fill::balanced;
  if (uneven.ranks > 0 || uneven.slow > 0 || !uneven.named.empty() || by_cost ||
      uneven.dealing != Dealing::as_they_come)
    return std::nullopt;
  const UnitMoments unit = unit_moments(uneven);
  const auto count = static_cast<double>(micro_batches);
  constexpr double most_skewness = 0.5;
  if (std::abs(unit.skewness) > most_skewness * std::sqrt(count)) return std::nullopt;
  return forward_backward * (count * unit.mean + std::sqrt(count) * unit.deviation * normal_maximum(copies));
}

}  // namespace stepcast::sim
