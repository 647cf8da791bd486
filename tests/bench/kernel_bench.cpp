// Kernels priced per second on one core, with a profile of the catalogue: the target is 1,000,000.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "model/catalog.h"
#include "model/profile/kernel_law.h"

namespace {

using namespace stepcast;
using namespace stepcast::kernels;

Profile bench_profile() {
  const auto& gpus = built_in().gpus;
  const auto gpu = std::find_if(gpus.begin(), gpus.end(), [](const Gpu& g) { return g.id == "h100-sxm"; });
  return default_kernel_profile(*gpu, built_in().profiles);
}

void kernel_gemm(benchmark::State& state) {
  const Profile profile = bench_profile();
  GemmQuery gemm;
  gemm.n = gemm.k = 4096;
  for (auto _ : state) {
    gemm.m = gemm.m < 65536 ? gemm.m + 128 : 1;
    benchmark::DoNotOptimize(gemm_time(profile, gemm));
  }
  state.SetItemsProcessed(state.iterations());
}

void kernel_attention(benchmark::State& state) {
  const Profile profile = bench_profile();
  AttentionQuery attention;
  attention.heads = attention.kv_heads = 32;
  for (auto _ : state) {
    attention.queries = attention.keys = attention.keys < 32768 ? attention.keys + 128 : 128;
    benchmark::DoNotOptimize(attention_time(profile, attention));
  }
  state.SetItemsProcessed(state.iterations());
}

void kernel_memory_op(benchmark::State& state) {
  const Profile profile = bench_profile();
  MemoryQuery memory{find_memory_op("norm"), 1, 4096, 2};
  for (auto _ : state) {
    memory.rows = memory.rows < 65536 ? memory.rows + 128 : 1;
    benchmark::DoNotOptimize(memory_time(profile, memory));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(kernel_gemm);
BENCHMARK(kernel_attention);
BENCHMARK(kernel_memory_op);

}  // namespace
