// What a warm process pays for a configuration that it has not seen: the mapping's text to a whole report. Llama 3 70B
// on 512 H100; configurations alternate, so that nothing of the one before can be used again.
#include <array>
#include <cstdlib>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "dataflow/lower/lower.h"
#include "model/catalog.h"
#include "sim/step.h"
#include "studies/run/split/mapping_text.h"

namespace stepcast::report {
namespace {

template <typename Row> const Row& row(const LazyRows<Row>& rows, const char* id) {
  const auto found = find_row(rows, id, "row");
  if (!found) {
    fmt::print(stderr, "{}\n", to_text(found.error()));
    std::abort();
  }
  return **found;
}

struct Setting {
  explicit Setting(const char* network_id) : network(row(built_in().networks, network_id)) {}

  const NetworkSpec& network;
  const Machine& machine = row(built_in().machines, "dgx-h100");
  const Stack& stack = row(built_in().stacks, "megatron-core");
  Profile profile = default_profile(machine.gpu, built_in().profiles);
  std::array<Plan, 5> plans{plan(8, 4, 1), plan(4, 8, 1), plan(8, 2, 2), plan(8, 8, 1), plan(4, 2, 1)};

 private:
  [[nodiscard]] Plan plan(std::int64_t tp, std::int64_t pp, std::int64_t micro_batch) const {
    Split split;
    split.tp = tp;
    split.pp = pp;
    split.dp = 512 / (tp * pp);
    split.vocabulary = split.sequence = true;
    split.mixer = static_cast<bool>(network.mixer);
    if (split.mixer) split.mixer_recompute = network.mixer.form->recompute;
    split.micro_batches = 1024 / (micro_batch * split.dp);
    Plan plan;
    plan.mapping = mapping_text(split);
    plan.gpus = 512;
    plan.micro_batch = micro_batch;
    plan.global_batch = 1024;
    plan.sequence = network.sequence;
    return plan;
  }
};

const Setting& setting() {
  static const Setting setting("llama3-70b");
  return setting;
}
/// Layers of three kinds, each one sublayer: Nemotron-H 56B has 118; two stages hold 59 each.
const Setting& hybrid() {
  static const Setting setting("nemotron-h-56b");
  return setting;
}

CostModel cost_model(const Setting& of = setting()) { return {of.machine, of.profile, of.stack, Precision::bf16}; }

[[noreturn]] void give_up(const Error& error) {
  fmt::print(stderr, "{}\n", to_text(error));
  std::abort();
}

Program lowered(const Plan& plan, const Setting& of = setting()) {
  auto program = lower(of.network, plan, of.stack);
  if (!program) give_up(program.error());
  return *std::move(program);
}

void whole_forecast(benchmark::State& state) {
  const CostModel cost = cost_model();
  std::size_t i = 0;
  for (auto _ : state) {
    const Program program = lowered(setting().plans[i++ % 4]);
    auto report = forecast(program, cost);
    if (!report) give_up(report.error());
    benchmark::DoNotOptimize(report->step_time);
  }
}
BENCHMARK(whole_forecast)->Unit(benchmark::kMicrosecond);

void hybrid_forecast(benchmark::State& state) {
  const CostModel cost = cost_model(hybrid());
  constexpr std::array<std::size_t, 2> two_stages{2, 4};
  std::size_t i = 0;
  for (auto _ : state) {
    const Program program = lowered(hybrid().plans.at(two_stages[i++ % two_stages.size()]), hybrid());
    auto report = forecast(program, cost);
    if (!report) give_up(report.error());
    benchmark::DoNotOptimize(report->step_time);
  }
}
BENCHMARK(hybrid_forecast)->Unit(benchmark::kMicrosecond);

void lower_only(benchmark::State& state) {
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(lowered(setting().plans[i++ % 4]).ranks);
}
BENCHMARK(lower_only)->Unit(benchmark::kMicrosecond);

/// One Program, four stages, 64 micro-batches.
void simulate_only(benchmark::State& state) {
  const CostModel cost = cost_model();
  const Program program = lowered(setting().plans[0]);
  for (auto _ : state) benchmark::DoNotOptimize(forecast(program, cost)->step_time);
}
BENCHMARK(simulate_only)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace stepcast::report
