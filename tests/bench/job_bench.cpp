// Goal on one core: 10,000 lives of a three-month job on 16,384 GPUs (2,048 nodes, 4 failures per 1,000 node-days: some
// 700 failures each) in under 1 s.
#include <benchmark/benchmark.h>

#include "sim/job/interval.h"
#include "sim/job/life.h"

namespace {

using namespace stepcast;

constexpr double bench_day = 86400;

sim::LifeSettings three_months(bool with_pool) {
  sim::LifeSettings settings;
  settings.failures.per_second = 2048 * 0.004 / bench_day;
  settings.failures.restart = Seconds(300);
  const Seconds save(30);
  settings.saves = {sim::exact_interval(settings.failures.mean_between(), save), save, {}, 1, {}};
  settings.work = Seconds(80 * bench_day);
  if (!with_pool) return settings;
  settings.pool = sim::NodePool{2048, 60, 0.78 * settings.failures.per_second, Seconds(5.54 * bench_day), 0};
  settings.repair_spread = 1.94;
  return settings;
}

void lives_of_a_job(benchmark::State& state) {
  const sim::LifeSettings settings = three_months(state.range(0) == 1);
  for (auto _ : state) {
    const auto lives = sim::draw_lives(settings, 10'000, 0, Seconds(1e12));
    benchmark::DoNotOptimize(lives.front().whole());
  }
}
BENCHMARK(lives_of_a_job)->ArgName("spares")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
