// Goal on one core: a measuring plan in under 20 ms and a network's own shapes in under 50 ms, so that a dry run
// answers at once.
#include <benchmark/benchmark.h>

#include "calibrate/measure/plan/plan.h"
#include "model/catalog.h"
#include "studies/calibrate/own_shapes.h"

namespace {

using namespace stepcast;
using namespace stepcast::calibration;

void plan_three_minutes(benchmark::State& state) {
  PlanRequest request;
  request.gpu = **find_row(built_in().gpus, "h100-sxm", "gpu");
  for (auto _ : state)
    if (!make_plan(request)) state.SkipWithError("no plan");
}
BENCHMARK(plan_three_minutes)->Unit(benchmark::kMillisecond);

void own_shapes_of(benchmark::State& state, const char* network) {
  OwnShapesRequest request;
  request.gpu = **find_row(built_in().gpus, "h100-sxm", "gpu");
  request.stack = **find_row(built_in().stacks, "megatron-core", "stack");
  const NetworkSpec& spec = **find_row(built_in().networks, network, "network");
  for (auto _ : state)
    if (!own_shapes(spec, request)) state.SkipWithError("no shapes");
}
BENCHMARK_CAPTURE(own_shapes_of, gpt3_175b, "gpt3-175b")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(own_shapes_of, deepseek_v3, "deepseek-v3")->Unit(benchmark::kMillisecond);

}  // namespace
