// Collectives priced per second on one core, with a profile of the catalogue: the target is 1,000,000.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "model/catalog.h"
#include "model/profile/collective_law.h"

namespace {

using namespace stepcast;
using namespace stepcast::sim;

const Machine& bench_machine() {
  const auto& machines = built_in().machines;
  return *std::find_if(machines.begin(), machines.end(), [](const Machine& m) { return m.id == "azure-nd-h100"; });
}

/// Every query another size, so that no branch is learned by heart.
void price_collectives(benchmark::State& state, CollectiveKind kind, int ranks, int nodes) {
  const Machine& machine = bench_machine();
  const Profile profile = default_profile(machine.gpu, built_in().profiles);
  double bytes = 1024;
  for (auto _ : state) {
    bytes = bytes < 1e10 ? bytes * 1.37 : 1024;
    benchmark::DoNotOptimize(collective_time(machine, profile, CollectiveQuery{kind, ranks, nodes, Bytes(bytes)}));
  }
  state.SetItemsProcessed(state.iterations());
}

void collective_in_a_node(benchmark::State& state) { price_collectives(state, CollectiveKind::all_reduce, 8, 1); }
void collective_of_other_ranks(benchmark::State& state) { price_collectives(state, CollectiveKind::all_gather, 6, 1); }
void collective_across_nodes(benchmark::State& state) { price_collectives(state, CollectiveKind::all_reduce, 64, 8); }
void collective_by_nccl_model(benchmark::State& state) {
  const NcclLinks links = nccl_links(bench_machine());
  double bytes = 1024;
  for (auto _ : state) {
    bytes = bytes < 1e10 ? bytes * 1.37 : 1024;
    benchmark::DoNotOptimize(nccl_choice(links, {CollectiveKind::all_reduce, 64, 8, Bytes(bytes)}));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(collective_in_a_node);
BENCHMARK(collective_of_other_ranks);
BENCHMARK(collective_across_nodes);
BENCHMARK(collective_by_nccl_model);

}  // namespace
