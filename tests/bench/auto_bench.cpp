// Goal on one core: a zero-bubble order for p=32, m=256 (24576 actions) in under 50 ms. The public Python scheduler
// takes 2.9-4.2 s.
#include <benchmark/benchmark.h>

#include "sim/schedule/engine/engine.h"
#include "sim/schedule/schedule_table.h"
#include "sim/schedule/search/auto.h"
#include "sim/schedule/bound/bound.h"
#include "sim/schedule/layers/partition.h"

namespace {

using namespace stepcast;
using namespace stepcast::sim;

OrderTimes table_6_times(int stages, double cap) {
  const auto count = static_cast<std::size_t>(stages);
  const double share = 32.0 / stages;
  return {.forward = std::vector<double>(count, 10.402 * share),  // arXiv 2401.10241, Table 6, 28.3B, m=256
      .input_grad = std::vector<double>(count, 10.248 * share),
      .weight_grad = std::vector<double>(count, 7.698 * share),
      .hop = 0.46,
      .memory_cap = cap};
}

void make_timed_order(benchmark::State& state, const char* id, int stages, double cap) {
  const OrderTimes times = table_6_times(stages, cap);
  for (auto _ : state) benchmark::DoNotOptimize(make_order(id, {.ranks = 32, .micro_batches = 256}, times));
}
BENCHMARK_CAPTURE(make_timed_order, zb_1p, "zb-1p", 32, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make_timed_order, zb_2p, "zb-2p", 32, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make_timed_order, zb_auto, "zb-auto", 32, 64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make_timed_order, zb_v_auto, "zb-v-auto", 64, 64)->Unit(benchmark::kMillisecond);

/// At V-Min's memory, floor((p+4)/3) micro-batches per rank, where no rounds fit.
void find_order_tight(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  OrderTimes times = table_6_times(2 * ranks, 2 * ((ranks + 4) / 3));
  for (auto _ : state) benchmark::DoNotOptimize(find_order({.ranks = ranks, .micro_batches = 4 * ranks}, times));
}
BENCHMARK(find_order_tight)->ArgName("p")->Arg(4)->Arg(8)->Arg(16)->Unit(benchmark::kMillisecond);

void lower_bound_zb_2p(benchmark::State& state) {
  const Order order = make_order("zb-h2", {.ranks = 32, .micro_batches = 256}).value();
  StageTimes times;
  times.forward.assign(32, Seconds(10));
  times.input_grad.assign(32, Seconds(12));
  times.weight_grad.assign(32, Seconds(7));
  const Timeline timeline = sim::run(order, times).value();
  for (auto _ : state) benchmark::DoNotOptimize(lower_bound(bound_problem(order, timeline), times));
}
BENCHMARK(lower_bound_zb_2p)->Unit(benchmark::kMicrosecond);

void split_128_layers(benchmark::State& state) {
  const PartitionProblem problem{.layers = std::vector<double>(128, 1.0), .embedding = 0.5, .head = 3, .stages = 16};
  for (auto _ : state) benchmark::DoNotOptimize(split_layers(problem));
}
BENCHMARK(split_128_layers)->Unit(benchmark::kMicrosecond);

}  // namespace
