// Goal on one core: an iteration of a new plan in under 300 us in a warm process.
#include <benchmark/benchmark.h>

#include "studies/infer/serving.h"

namespace {

using namespace stepcast::infer;

void iteration(benchmark::State& state, const char* network, std::int64_t tp, std::int64_t positions) {
  ServingWishes wishes;
  wishes.network = network, wishes.machine = "dgx-h100", wishes.engine = "vllm", wishes.tp = tp;
  const auto serving = serving_of(wishes);
  if (!serving) return state.SkipWithError("no serving");
  std::int64_t cached = 1000;
  for (auto _ : state)
    if (!iterate(*serving, {8, positions, ++cached})) state.SkipWithError("no iteration");
}
BENCHMARK_CAPTURE(iteration, dense_word, "llama3-70b", 8, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(iteration, dense_prompt, "llama3-70b", 8, 1024)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(iteration, experts_word, "mixtral-8x7b", 4, 1)->Unit(benchmark::kMicrosecond);

}  // namespace
