// Reading traces of PyTorch's profiler, and finding steps and sums in them: a gigabyte of JSON in under 20 s on one
// core.
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "calibrate/trace/kineto_trace.h"
#include "studies/compare/traced/facts.h"

namespace stepcast::comparison {
namespace {

/// Steps as Kineto writes them: of five events one is of the GPU, one its launch, the others operators and arrows.
std::string recorded(std::size_t bytes) {
  std::string text = R"({"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": [)";
  constexpr std::size_t of_step = 2000;
  for (std::size_t i = 0; text.size() < bytes; ++i) {
    const double at = 10.0 * static_cast<double>(i);
    if (i % of_step == 0)
      text += fmt::format(
          R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":1,"tid":1,"ts":{:.3f},"dur":{:.3f},"args":{{"External id":{},"Ev Idx":{}}}}},)",
          i / of_step, at, 10.0 * of_step - 1, i, i);
    text += fmt::format(
        R"({{"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":1,"tid":1,"ts":{0:.3f},"dur":7.5,"args":{{"External id":{1},"Record function id":0,"Concrete Inputs":["","","","1","1"],"Input type":["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar"],"Input Strides":[[1],[4096,1],[1,4096],[],[]],"Input Dims":[[4096],[8192,4096],[4096,4096],[],[]],"Ev Idx":{1}}}}},)"
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernelExC","pid":1,"tid":1,"ts":{0:.3f},"dur":3.1,"args":{{"External id":{1},"cbid":430,"correlation":{1}}}}},)"
        R"({{"ph":"s","id":{1},"pid":1,"tid":1,"ts":{0:.3f},"cat":"ac2g","name":"ac2g"}},)"
        R"({{"ph":"X","cat":"kernel","name":"nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT_{2}","pid":0,"tid":7,"ts":{3:.3f},"dur":8.9,"args":{{"External id":{1},"queued":0,"device":0,"context":1,"stream":7,"correlation":{1},"registers per thread":168,"shared memory":213248,"blocks per SM":1.0,"warps per SM":12.0,"grid":[8,16,1],"block":[384,1,1],"est. achieved occupancy %":19}}}},)",
        at, i, i % 40, at + 12);
  }
  text.back() = ']';
  return text + "}";
}

void trace_of_kineto(benchmark::State& state) {
  const std::string text = recorded(static_cast<std::size_t>(state.range(0)) << 20);
  for (auto _ : state) {
    TimingsStream stream("trace.json", std::string_view(text));
    const auto traces = calibrate::read_kineto_trace(stream);
    if (!traces) return state.SkipWithError("the trace is not read");
    const FoundSteps steps = find_steps(traces->front());
    benchmark::DoNotOptimize(facts_of(traces->front(), steps, steps.taken));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
}
BENCHMARK(trace_of_kineto)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stepcast::comparison
