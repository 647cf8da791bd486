// Goals: a million configurations priced per second on one core (Calculon's space, like for like), the widest space of
// 3,072 GPUs in under 20 s, two threads at least 1.8 times as fast as one.
#include <algorithm>
#include <string>

#include <benchmark/benchmark.h>

#include "studies/sweep/price/legality.h"
#include "studies/sweep/price/pricer.h"
#include "studies/sweep/search/run.h"
#include "studies/sweep/sweep_flags.h"

namespace {

using namespace stepcast;
using namespace stepcast::sweep;

Space shipped_space(const std::string& file, const std::string& gpus = "") {
  std::vector<std::string> typed = {"--space", STEPCAST_SOURCE_DIR "/examples/spaces/" + file};
  if (!gpus.empty()) typed.insert(typed.end(), {"--gpus", gpus, "--global-batch", gpus});
  return read_space(parse_arguments(sweep_flags(), 0, 1, "sweep NETWORK", typed).value()).value();
}

/// Whole sweeps: legality, fast prices, forecasts of the best. Items are points that can run, fitting or not.
void sweep(benchmark::State& state, const Space& space, int threads) {
  double runnable = 0, refined = 0;
  for (auto _ : state) {
    SweepOptions options;
    options.threads = threads;
    const SweptSpace swept = run_sweep(space, {}, options).value();
    const SweepTally& tally = swept.result.tally;
    runnable = static_cast<double>(tally.enumerated - tally.illegal_sum());
    refined = static_cast<double>(swept.work.refined);
    if (swept.work.above > 0) state.SkipWithError("a bound lay above its forecast");
  }
  state.counters["points"] = runnable;
  state.counters["refined"] = refined;
  state.SetItemsProcessed(static_cast<std::int64_t>(runnable * static_cast<double>(state.iterations())));
}

void sweep_price(benchmark::State& state) {
  sweep(state, shipped_space("calculon.json", std::to_string(state.range(0))), static_cast<int>(state.range(1)));
}
BENCHMARK(sweep_price)
    ->ArgNames({"gpus", "threads"})
    ->Args({64, 1})
    ->Args({512, 1})
    ->Args({512, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void sweep_wide(benchmark::State& state) {
  sweep(state, shipped_space("gpt3-175b-3072.json"), static_cast<int>(state.range(0)));
}
BENCHMARK(sweep_wide)->ArgName("threads")->Arg(1)->Arg(2)->Iterations(1)->UseRealTime()->Unit(benchmark::kSecond);

/// Experts and long contexts on uneven layers: what is left is lowering.
void sweep_lowering(benchmark::State& state, const std::string& file) { sweep(state, shipped_space(file), 1); }
BENCHMARK_CAPTURE(sweep_lowering, experts, "deepseek-v3-2048.json")->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sweep_lowering, long_context, "llama3-405b-16384.json")->UseRealTime()->Unit(benchmark::kMillisecond);

/// Fast prices alone, in the sweep's order, of points whose parts are all there.
void sweep_price_point(benchmark::State& state) {
  const Space space = shipped_space("calculon.json");
  SpacePoints points = SpacePoints::make(space).value();
  Legality legality(points);
  struct Step {
    Digits digits;
    AxisId changed;
  };
  std::vector<Step> steps;
  for (std::uint64_t index = 0; index < space.size() && steps.size() < 20'000; ++index) {
    const Digits digits = space.digits(index);
    if (legality.ask(digits, AxisId{}).reason >= 0) continue;
    AxisId changed{};
    if (!steps.empty())
      changed = static_cast<AxisId>(
          std::mismatch(digits.begin(), digits.end(), steps.back().digits.begin()).first - digits.begin());
    steps.push_back({digits, changed});
  }
  Pricer pricer(points);
  const auto walk = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < steps.size(); ++i)
      sum += pricer.price(steps[i].digits, i == 0 ? AxisId{} : steps[i].changed).step_s;
    return sum;
  };
  walk();
  for (auto _ : state) benchmark::DoNotOptimize(walk());
  state.SetItemsProcessed(static_cast<std::int64_t>(steps.size()) * state.iterations());
}
BENCHMARK(sweep_price_point)->Unit(benchmark::kMillisecond);

}  // namespace
