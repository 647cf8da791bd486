// How fast a trace is written: all 64 GPUs of a Llama 3 70B run with every kernel, 1.4 million events. One million in 2
// s is asked.
#include <cstdlib>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "studies/cli/arguments.h"
#include "studies/cli/flags.h"
#include "studies/launch/asked_run.h"
#include "studies/launch/run_flags.h"
#include "studies/run/forecast.h"
#include "studies/run/request.h"
#include "studies/timeline/scene.h"

namespace stepcast::report {
namespace {

template <typename T> T or_abort(Expected<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}\n", to_text(result.error()));
  std::abort();
}

const Scenario& traced_scenario() {
  static const Scenario scenario = [] {
    const Arguments arguments = or_abort(parse_arguments(run_flags(), 1, 1, "predict",
        {"llama3-70b", "--gpus", "64", "--tp", "8", "--pp", "4", "--global-batch", "32"}));
    return or_abort(complete(or_abort(read_request("llama3-70b", arguments))));
  }();
  return scenario;
}

void write_trace(benchmark::State& state) {
  const Prediction prediction = or_abort(run::predict(traced_scenario()));
  const StepScene scene = or_abort(step_scene(traced_scenario(), prediction));
  const TraceChoice choice{TraceDetail::kernels, true};
  const std::int64_t events = trace_events(scene, choice);
  for (auto _ : state) benchmark::DoNotOptimize(scene_trace(scene, choice));
  state.SetItemsProcessed(state.iterations() * events);
  state.counters["events"] = static_cast<double>(events);
}
BENCHMARK(write_trace)->Unit(benchmark::kMillisecond);

void lay_scene(benchmark::State& state) {
  const Prediction prediction = or_abort(run::predict(traced_scenario()));
  for (auto _ : state) benchmark::DoNotOptimize(step_scene(traced_scenario(), prediction));
}
BENCHMARK(lay_scene)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stepcast::report
