#include "studies/job/spread.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/base/percentile.h"
#include "sim/job/draws.h"
#include "studies/job/whole_step.h"

namespace stepcast::job {
namespace {

constexpr double z90 = 1.2815515655;  // 90th percentile of the normal law
constexpr double most_over = 100;     // of the expected time: lives end there

/// Of a law whose 10th, 50th and 90th percentiles are low, value and high; from 0 upward where the value is 0.
double drawn(const RateRange& range, double z) {
  if (range.value == 0) return std::max(0.0, z / z90) * range.high;
  const double end = z < 0 ? range.low : range.high;
  if (end <= 0) return std::max(0.0, range.value * (1 - std::abs(z) / z90));
  return range.value * std::pow(end / range.value, std::abs(z) / z90);
}

/// Storage: from "good" to "best" (checkpoint.h), written 7 and 62 over 20, read 15 and 125 over 40.
constexpr RateRange storage_factors{1, 0.35, 3.1};
constexpr RateRange restart_factors{1, restart_low, restart_high};

struct DrawnInputs {
  sim::LifeSettings life;
  double step = 1;
};

DrawnInputs draw_inputs(
    const JobSettings& settings, const JobWishes& wishes, const StepSpread& step, sim::Draws& draws) {
  DrawnInputs inputs{settings.life, drawn({1, step.p10, step.p90}, draws.normal())};
  sim::LifeSettings& life = inputs.life;
  const double z_node = draws.normal(), z_fixed = draws.normal(), z_restart = draws.normal(), z_store = draws.normal();
  if (step.by_fleets) inputs.step *= FleetUnevenness::at(draws.unit()) / FleetUnevenness::mean;
  if (wishes.logged) {
    life.failures.per_second *= drawn(wishes.logged->per_day, z_node) / wishes.logged->per_day.value;
  } else {
    const RateRange &node = wishes.rates.per_node_day, &fixed = wishes.rates.fixed_per_day;
    const double grows = life.failures.per_second - life.fixed_per_second;
    constexpr double day = 86400;
    const double factor = node.value > 0 ? drawn(node, z_node) / node.value : 1;
    life.fixed_per_second = drawn(fixed, z_fixed) * settings.fixed_part / day;
    life.failures.per_second = grows * factor + life.fixed_per_second;
    if (life.pool) life.pool->taken_per_second *= factor;
  }
  const double restart = wishes.detect && wishes.restart ? 1 : drawn(restart_factors, z_restart);
  const double slower = settings.storage.assumed ? 1 / drawn(storage_factors, z_store) : 1;
  const Seconds read = settings.times.read;
  const Seconds start = life.failures.restart - read;
  if (!wishes.logged) life.failures.detect = life.failures.detect * restart;
  const Seconds drawn_start = wishes.logged ? start : start * restart;
  life.failures.soft_restart += drawn_start - start;
  life.failures.restart = drawn_start + read * slower;
  if (wishes.async) {
    life.saves.store += wishes.background_slowdown * settings.times.write * (slower - 1);
    life.saves.settle = life.saves.settle * slower;
  } else {
    life.saves.store = life.saves.store * slower;
  }
  // Where storage does not keep up the next checkpoint waits for it.
  const double apart = (life.saves.interval * static_cast<double>(life.saves.per_stored)).value();
  if (life.saves.settle.value() > apart)
    life.saves.interval = life.saves.interval * (life.saves.settle.value() / apart);
  life.work = life.work * inputs.step;
  return inputs;
}

struct LifeFigures {
  std::vector<double> wall, goodput, failures;
  void add(const sim::LifeTimes& times) {
    wall.push_back(times.whole().value()), goodput.push_back(times.goodput()), failures.push_back(times.failures);
  }
};

Percentiles percentiles_of(const std::vector<double>& values) {
  return {percentile(values, 0.1), percentile(values, 0.5), percentile(values, 0.9)};
}

}  // namespace

JobSpread job_spread(const JobSettings& settings, const JobWishes& wishes, const StepSpread& step) {
  JobSpread spread;
  const sim::LifeTimes expected = sim::expected_life(settings.life);
  if (!(expected.goodput() >= least_drawn_goodput)) return spread;
  const Seconds most = expected.whole() * most_over;
  LifeFigures chance, all;
  double useful = 0, whole = 0;
  // Lives are drawn failure by failure: of jobs that fail all the time fewer are enough.
  constexpr double most_failures = 2e6;
  constexpr std::int64_t fewest = 20;
  const auto enough = static_cast<std::int64_t>(most_failures / std::max(1.0, expected.failures));
  spread.lives = std::min(wishes.lives, std::max(fewest, enough));
  for (std::int64_t index = 0; index < spread.lives; ++index) {
    const auto seed = sim::seed_of(static_cast<std::uint64_t>(wishes.seed), static_cast<std::uint64_t>(index));
    const sim::LifeTimes by_chance = sim::draw_life(settings.life, seed, most);
    chance.add(by_chance);
    useful += by_chance.useful.value(), whole += by_chance.whole().value();
    sim::Draws draws(~seed);
    const DrawnInputs inputs = draw_inputs(settings, wishes, step, draws);
    all.add(sim::draw_life(inputs.life, seed, most));
  }
  spread.chance_wall_s = percentiles_of(chance.wall), spread.wall_s = percentiles_of(all.wall);
  spread.chance_goodput = percentiles_of(chance.goodput), spread.goodput = percentiles_of(all.goodput);
  spread.chance_failures = percentiles_of(chance.failures), spread.failures = percentiles_of(all.failures);
  spread.mean_goodput = useful / whole;
  return spread;
}

}  // namespace stepcast::job
