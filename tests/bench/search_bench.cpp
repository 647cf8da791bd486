// Goal on one core: the QKV GEMM of GPT-2 on a 16x16 array with three stores, the whole space covered, in under 2 s for
// each objective.
#include <benchmark/benchmark.h>

#include "dataflow/chip/search/search.h"

namespace {

using namespace stepcast;
using namespace stepcast::dataflow;

constexpr const char* kQkv = "arch dram { glb cap:128 KiB { pe[16x16] { rf cap:512 B } } }\n"
                             "dim m:128 n:2304 k:768\n"
                             "qkv: O[m,n] += I[m,k] * W[k,n]\n";

void search_gpt2_qkv(benchmark::State& state) {
  const SearchProblem problem = search_problem(parse(kQkv, "qkv.flow").value(), "").value();
  SearchOptions options;
  options.objective = static_cast<SearchObjective>(state.range(0));
  double looked = 0;
  for (auto _ : state) {
    const SearchResult result = search(problem.start, problem.constraints, options).value();
    if (!result.complete) state.SkipWithError("not covered");
    looked = static_cast<double>(result.evaluated + result.pruned);
  }
  state.counters["mappings and parts/s"] = benchmark::Counter(looked, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(search_gpt2_qkv)->ArgName("time, energy, traffic")->Arg(0)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);

/// Random starts only: whole mappings made, counted and scored.
void search_annealing(benchmark::State& state) {
  const SearchProblem problem = search_problem(parse("arch dram { glb cap:256 KiB { pe[16x16] { rf cap:512 B } } }\n"
                                                     "dim n:64 k:720 c:720 p:60 q:60 r:3 s:3\n"
                                                     "conv: O[n,k,p,q] += I[n,c,p+r,q+s] * W[k,c,r,s]\n",
                                                   "conv.flow")
                                                   .value(),
      "")
                                    .value();
  SearchOptions options;
  options.most_evaluations = 200'000;
  double evaluated = 0;
  for (auto _ : state)
    evaluated = static_cast<double>(search(problem.start, problem.constraints, options).value().evaluated);
  state.counters["mappings/s"] = benchmark::Counter(evaluated, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(search_annealing)->Unit(benchmark::kMillisecond);

}  // namespace
