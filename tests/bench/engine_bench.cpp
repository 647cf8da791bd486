// Goals on one core: 20 million actions per second, and p=32, m=256 1F1B (16384 actions) in under 1 ms.
#include <benchmark/benchmark.h>

#include "sim/schedule/engine/engine.h"
#include "sim/schedule/schedule_table.h"

namespace {

using namespace stepcast;
using namespace stepcast::sim;

StageTimes growing_times(int stages, bool blocking) {
  StageTimes times;
  for (int s = 0; s < stages; ++s) {
    times.forward.emplace_back(1 + 0.01 * s);
    times.input_grad.emplace_back(1.2);
    times.weight_grad.emplace_back(0.8);
  }
  times.hop_forward.assign(static_cast<std::size_t>(stages) - 1, Seconds(0.05));
  times.hop_backward = times.hop_forward;
  times.blocking_hops = blocking;
  return times;
}

void run_again(benchmark::State& state, const char* id, const ScheduleSize& size, bool blocking) {
  const Order order = make_order(id, size).value();
  const StageTimes times = growing_times(order.stages(), blocking);
  EngineWorkspace workspace;
  Timeline timeline;
  for (auto _ : state) {
    if (!sim::run(order, times, timeline, workspace)) state.SkipWithError("does not run");
    benchmark::DoNotOptimize(timeline.makespan);
  }
  state.counters["actions/s"] =
      benchmark::Counter(static_cast<double>(order.actions.size()), benchmark::Counter::kIsIterationInvariantRate);
}

void engine_1f1b(benchmark::State& state) {
  run_again(state, "1f1b",
      {.ranks = static_cast<int>(state.range(0)), .micro_batches = static_cast<int>(state.range(1))},
      state.range(2) != 0);
}
BENCHMARK(engine_1f1b)
    ->ArgNames({"p", "m", "blocking"})
    ->Args({4, 32, 0})
    ->Args({32, 256, 0})
    ->Args({32, 256, 1})
    ->Args({64, 4096, 0});

void engine_gpipe(benchmark::State& state) { run_again(state, "gpipe", {.ranks = 32, .micro_batches = 256}, false); }
BENCHMARK(engine_gpipe);

void engine_interleaved(benchmark::State& state) {
  run_again(state, "interleaved-1f1b", {.ranks = 16, .chunks = 4, .micro_batches = 256}, false);
}
BENCHMARK(engine_interleaved);

/// Fused pairs both ways, and split backwards over a V.
void engine_dualpipe(benchmark::State& state) {
  run_again(state, "dualpipe", {.ranks = 32, .micro_batches = 256}, false);
}
BENCHMARK(engine_dualpipe);

void engine_zb_v(benchmark::State& state) { run_again(state, "zb-v", {.ranks = 32, .micro_batches = 256}, false); }
BENCHMARK(engine_zb_v);

/// A duration of its own for every action.
void engine_single_durations(benchmark::State& state) {
  const Order order = make_order("1f1b", {.ranks = 32, .micro_batches = 256}).value();
  StageTimes times = growing_times(32, false);
  times.forward_each.assign(std::size_t{32} * 256, 1.0);
  times.input_grad_each.assign(std::size_t{32} * 256, 1.2);
  times.weight_grad_each.assign(std::size_t{32} * 256, 0.8);
  EngineWorkspace workspace;
  Timeline timeline;
  for (auto _ : state) {
    if (!sim::run(order, times, timeline, workspace)) state.SkipWithError("does not run");
    benchmark::DoNotOptimize(timeline.makespan);
  }
  state.counters["actions/s"] =
      benchmark::Counter(static_cast<double>(order.actions.size()), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(engine_single_durations);

/// Order, workspace and timeline made anew: what a single forecast pays.
void engine_from_nothing(benchmark::State& state) {
  const StageTimes times = growing_times(32, false);
  for (auto _ : state)
    benchmark::DoNotOptimize(sim::run(make_order("1f1b", {.ranks = 32, .micro_batches = 256}).value(), times));
}
BENCHMARK(engine_from_nothing);

void make_order_1f1b(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(make_order("1f1b", {.ranks = 32, .micro_batches = 256}));
}
BENCHMARK(make_order_1f1b);

/// Timetables that move passes forward: the slowest generators.
void make_order_v_half(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(make_order("v-half", {.ranks = 32, .micro_batches = 256}));
}
BENCHMARK(make_order_v_half)->Unit(benchmark::kMillisecond);

void check_order_1f1b(benchmark::State& state) {
  const Order order = make_order("1f1b", {.ranks = 32, .micro_batches = 256}).value();
  for (auto _ : state) benchmark::DoNotOptimize(check_order(order));
}
BENCHMARK(check_order_1f1b);

}  // namespace
