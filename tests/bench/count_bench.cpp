// Mappings counted per second on one core: what the mapper's search rests on.
#include <benchmark/benchmark.h>

#include "dataflow/chip/count/count.h"

namespace {

using namespace stepcast;
using namespace stepcast::dataflow;

ChipTensor bench_tensor(const char* name, TensorUse use, std::vector<ChipIndex> indices) {
  return {name, use, std::move(indices), 2};
}

ChipLevel bench_level(
    const char* name, std::vector<bool> keeps, std::vector<ChipLoop> space, std::vector<ChipLoop> time) {
  ChipLevel level;
  level.name = name;
  level.keeps = std::move(keeps);
  level.space = std::move(space);
  level.time = std::move(time);
  return level;
}

ChipLoop bench_loop(int dim, std::int64_t trips) { return {dim, trips, -1, false, {}}; }

/// All three dims tiled on all three levels, n and k on a 16x16 array: the GPT-2 QKV projection at 512 tokens. With
/// `short_by`, every extent is that much below the product of its trips.
ChipProgram bench_gemm(std::int64_t short_by) {
  enum { m, n, k };
  ChipProgram chip;
  chip.dims = {{"m", 512 - short_by}, {"n", 2304 - short_by}, {"k", 768 - short_by}};
  chip.tensors = {bench_tensor("I", TensorUse::input, {{{{m, 1}}}, {{{k, 1}}}}),
      bench_tensor("W", TensorUse::weight, {{{{k, 1}}}, {{{n, 1}}}}),
      bench_tensor("O", TensorUse::output, {{{{m, 1}}}, {{{n, 1}}}})};
  const std::vector<bool> all(3, true);
  chip.levels = {bench_level("dram", all, {}, {bench_loop(n, 6), bench_loop(k, 4), bench_loop(m, 4)}),
      bench_level("glb", all, {}, {bench_loop(m, 16), bench_loop(n, 6), bench_loop(k, 4)}),
      bench_level(
          "pe", all, {bench_loop(k, 16), bench_loop(n, 16)}, {bench_loop(k, 3), bench_loop(m, 8), bench_loop(n, 4)})};
  return chip;
}

/// Seven loops, windows p + r and q + s: a ResNet-50 3x3 layer of 2 images, row-stationary on 12 x 3 units.
ChipProgram bench_convolution(std::int64_t short_by) {
  enum { b, k, c, p, q, r, s };
  ChipProgram chip;
  chip.dims = {{"b", 2}, {"k", 128 - short_by}, {"c", 128}, {"p", 24 - short_by}, {"q", 28}, {"r", 3}, {"s", 3}};
  chip.tensors = {bench_tensor("I", TensorUse::input, {{{{b, 1}}}, {{{c, 1}}}, {{{p, 1}, {r, 1}}}, {{{q, 1}, {s, 1}}}}),
      bench_tensor("W", TensorUse::weight, {{{{k, 1}}}, {{{c, 1}}}, {{{r, 1}}}, {{{s, 1}}}}),
      bench_tensor("O", TensorUse::output, {{{{b, 1}}}, {{{k, 1}}}, {{{p, 1}}}, {{{q, 1}}}})};
  const std::vector<bool> all(3, true);
  chip.levels = {bench_level("dram", all, {}, {bench_loop(b, 2), bench_loop(k, 8), bench_loop(c, 8), bench_loop(q, 2)}),
      bench_level("glb", all, {}, {bench_loop(p, 2), bench_loop(k, 4), bench_loop(c, 4), bench_loop(q, 14)}),
      bench_level(
          "pe", all, {bench_loop(p, 12), bench_loop(r, 3)}, {bench_loop(k, 4), bench_loop(c, 4), bench_loop(s, 3)})};
  return chip;
}

void count_again_and_again(benchmark::State& state, const ChipProgram& chip, Windows windows = Windows::exact) {
  Nest nest = *nest_of(chip, windows);
  Counts counts;
  for (auto _ : state) {
    benchmark::DoNotOptimize(nest);
    count(nest, counts);
    benchmark::DoNotOptimize(counts);
  }
  state.SetItemsProcessed(state.iterations());
}

void count_gemm(benchmark::State& state) { count_again_and_again(state, bench_gemm(0)); }
void count_gemm_ragged(benchmark::State& state) { count_again_and_again(state, bench_gemm(5)); }
void count_convolution(benchmark::State& state) { count_again_and_again(state, bench_convolution(0)); }
void count_convolution_boxes(benchmark::State& state) {
  count_again_and_again(state, bench_convolution(0), Windows::timeloop);
}
void count_convolution_ragged(benchmark::State& state) { count_again_and_again(state, bench_convolution(3)); }
BENCHMARK(count_gemm);
BENCHMARK(count_gemm_ragged);
BENCHMARK(count_convolution);
BENCHMARK(count_convolution_boxes);
BENCHMARK(count_convolution_ragged);

}  // namespace
