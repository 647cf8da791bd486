// Goals on one core, in a warm process: a new plan in under 300 us, and 1,000,000 iterations a second of one plan whose
// batch and context vary.
#include <benchmark/benchmark.h>

#include "studies/infer/serving.h"

namespace {

using namespace stepcast::infer;
using stepcast::sim::Rows;

ServingWishes wishes_for(const char* network, std::int64_t tp) {
  ServingWishes wishes;
  wishes.network = network, wishes.machine = "dgx-h100", wishes.engine = "vllm", wishes.tp = tp;
  return wishes;
}

void new_plan(benchmark::State& state, const char* network, std::int64_t tp, double positions) {
  const auto serving = serving_of(wishes_for(network, tp));
  if (!serving) return state.SkipWithError("no serving");
  for (auto _ : state) {
    const auto form = iteration_form(*serving);
    if (!form) return state.SkipWithError("no form");
    Serving other = *serving;
    other.form = *form;
    benchmark::DoNotOptimize(ServingCost(other).time(Rows{8, positions, 1000}).time);
  }
}
BENCHMARK_CAPTURE(new_plan, dense_word, "llama3-70b", 8, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(new_plan, dense_prompt, "llama3-70b", 8, 1024)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(new_plan, experts_word, "mixtral-8x7b", 4, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(new_plan, picked_word, "deepseek-v3.2", 8, 1)->Unit(benchmark::kMicrosecond);

/// Items a second.
void warm_iterations(benchmark::State& state, const char* network, std::int64_t tp) {
  const auto serving = serving_of(wishes_for(network, tp));
  if (!serving) return state.SkipWithError("no serving");
  const ServingCost cost(*serving);
  auto prices = cost.prices();
  std::uint64_t at = 1;
  for (auto _ : state) {
    at = at * 6364136223846793005U + 1442695040888963407U;
    const Rows rows{static_cast<double>(1 + (at >> 33U) % 256), 1, static_cast<double>(1 + (at >> 41U) % 8192)};
    benchmark::DoNotOptimize(prices.time(std::span(&rows, 1), true));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(warm_iterations, dense, "llama3-70b", 8);
BENCHMARK_CAPTURE(warm_iterations, experts, "mixtral-8x7b", 4);
BENCHMARK_CAPTURE(warm_iterations, picked, "deepseek-v3.2", 8);

}  // namespace
