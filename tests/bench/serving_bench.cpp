// Goals on one core: 3,000 requests of 1024 + 1024 at concurrency 64 (48,000 iterations) in under 100 ms, and 100,000
// requests of 512 + 64 at concurrency 256 in under 1 s, with the table of iterations filled anew each time.
#include <benchmark/benchmark.h>

#include "sim/serving/steady/mean_field.h"
#include "studies/infer/served_load.h"
#include "studies/serve/sweep/explored.h"

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

/// Goal: 100,000 configurations a second in a warm process: 16 limits of the policy and lengths, each with its
/// saturation and 12 loads.
void mean_field(benchmark::State& state, bool closed) {
  ServingWishes wishes;
  wishes.network = "llama3-70b", wishes.machine = "dgx-h100", wishes.engine = "vllm", wishes.tp = 8;
  const auto serving = serving_of(wishes);
  if (!serving) return state.SkipWithError("no serving");
  ServedTimes times(*serving);
  const sim::BatchTimer timer = times.timer();
  constexpr int policies = 16, loads = 12;
  for (auto _ : state)
    for (int i = 0; i < policies; ++i) {
      const sim::RequestLaw law{1, {512, 1024 + 64 * i}, {256, 512}, 0, 0};
      BatchingWishes wanted;
      wanted.most_positions = 1024 << (i % 4);
      const sim::Servers servers{policy_of(*serving, 1536, wanted), 1, 1, 1, serving->engine.host_per_request};
      const sim::MeanField field(sim::means_of(law), servers, timer);
      for (int load = 0; load < loads; ++load) {
        sim::SteadyLoad asked;
        if (closed) asked.users = 1 << load;
        else asked.rate = 0.07 * (load + 1) * field.saturation().requests_per_second;
        benchmark::DoNotOptimize(field.of(asked).words_per_second);
      }
    }
  state.SetItemsProcessed(state.iterations() * policies * loads);
}
BENCHMARK_CAPTURE(mean_field, closed_loops, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(mean_field, open_loops, false)->Unit(benchmark::kMicrosecond);

/// Goal: Llama 3 70B on 8 H100 with three engines, all splits and 12 loads in under 1 s, with the best simulated.
void serve_sweep(benchmark::State& state) {
  stepcast::serve::sweeping::Asked asked;
  asked.network = "llama3-70b", asked.machines = {"dgx-h100"}, asked.engines = {"vllm", "sglang", "tensorrt-llm"};
  asked.weights = asked.caches = {""};
  asked.gpus = {8}, asked.tp = {1, 2, 4, 8}, asked.pp = asked.ep = asked.attention_dp = {1};
  asked.most_sequences = asked.most_positions = {0};
  asked.law.prompts = asked.law.outputs = {1024, 1024};
  asked.loads = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048};
  asked.simulated = 8, asked.top = 10;
  for (auto _ : state) benchmark::DoNotOptimize(stepcast::serve::sweeping::explore(asked)->rows.size());
}
BENCHMARK(serve_sweep)->Unit(benchmark::kMillisecond);

/// Goal: DeepSeek-R1 on 72 GB200 with pools in under 5 s, with the best simulated.
void serve_sweep_of_pools(benchmark::State& state) {
  stepcast::serve::sweeping::Asked asked;
  asked.network = "deepseek-r1", asked.machines = {"gb200-nvl72"}, asked.engines = {"tensorrt-llm"};
  asked.weights = {"fp8-block"}, asked.caches = {"fp8"};
  asked.gpus = {72}, asked.tp = asked.prefill_tp = {1, 4, 8}, asked.pp = {1};
  asked.ep = asked.prefill_ep = asked.attention_dp = asked.prefill_attention_dp = {1, 4, 8, 16};
  asked.most_sequences = asked.most_positions = asked.prefill_most_sequences = asked.prefill_most_positions = {0};
  asked.pools = true;
  asked.law.prompts = {8192, 8192}, asked.law.outputs = {1024, 1024};
  asked.loads = {16, 32, 64, 128, 256, 512, 1024, 2048};
  asked.simulated = 8, asked.top = 10;
  for (auto _ : state) benchmark::DoNotOptimize(stepcast::serve::sweeping::explore(asked)->rows.size());
}
BENCHMARK(serve_sweep_of_pools)->Unit(benchmark::kMillisecond);

}  // namespace
