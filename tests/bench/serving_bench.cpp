// Goals on one core: 3,000 requests of 1024 + 1024 at concurrency 64 (48,000 iterations) in under 100 ms, and 100,000
// requests of 512 + 64 at concurrency 256 in under 1 s, with the table of iterations filled anew each time.
#include <benchmark/benchmark.h>

#include "studies/infer/served_load.h"

namespace {

using namespace stepcast::infer;
namespace sim = stepcast::sim;

void served_load(benchmark::State& state, const sim::RequestLaw& law, std::int64_t users) {
  ServingWishes wishes;
  wishes.network = "llama3-70b", wishes.machine = "dgx-h100", wishes.engine = "vllm", wishes.tp = 8;
  const auto serving = serving_of(wishes);
  if (!serving) return state.SkipWithError("no serving");
  const sim::Servers servers{policy_of(*serving, law.prompts.mean() + law.outputs.mean()), 1, 1};
  for (auto _ : state) {
    const sim::Load load{sim::requests_of(law), users};
    ServedTimes times(*serving);
    benchmark::DoNotOptimize(sim::simulate(load, servers, times.timer()).iterations.size());
  }
}
BENCHMARK_CAPTURE(served_load, long_words, sim::RequestLaw{3000, {1024, 1024}, {1024, 1024}, 0, 0}, 64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(served_load, of_many_lengths, sim::RequestLaw{3000, {820, 1024}, {820, 1024}, 0, 0}, 64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(served_load, short_words, sim::RequestLaw{100'000, {512, 512}, {64, 64}, 0, 0}, 256)
    ->Unit(benchmark::kMillisecond);

}  // namespace
