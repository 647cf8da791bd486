// Which measured runs are fitted together, and which parameters the stack lets a fit turn.
#include <gtest/gtest.h>

#include "model/catalog.h"
#include "studies/records/built_in_runs.h"
#include "studies/records/step_fitting.h"

namespace stepcast::records {
namespace {

// clang-format off
struct PoolCase { const char* stack; Precision precision; const char* machine; bool experts; };
// clang-format on

std::vector<MeasuredRun> runs_of_cases(const std::vector<PoolCase>& cases) {
  std::vector<MeasuredRun> runs;
  for (const PoolCase& c : cases) {
    MeasuredRun run;
    run.scenario.stack.id = c.stack;
    run.scenario.stack.row = **find_row(built_in().stacks, c.stack, "stack");
    run.scenario.plan.precision = c.precision;
    run.scenario.machine.row = **find_row(built_in().machines, c.machine, "machine");
    run.scenario.network.row.experts.count = c.experts ? 8 : 0;
    runs.push_back(std::move(run));
  }
  return runs;
}

std::size_t pools_among(const std::vector<PoolCase>& cases) { return pools_of(runs_of_cases(cases)).size(); }

constexpr Precision bf16 = Precision::bf16, fp8 = Precision::fp8;

TEST(FitPools, PrecisionsAreApartUnlessTheStackJoinsThem) {
  EXPECT_EQ(pools_among({{"nemo", bf16, "dgx-h100", false}, {"nemo", fp8, "dgx-h100", false}}), 2U);
  EXPECT_EQ(pools_among({{"jax", bf16, "dgx-h100", false}, {"jax", fp8, "dgx-h100", false}}), 1U);
  auto runs = runs_of_cases({{"nemo", bf16, "dgx-h100", false}, {"nemo", fp8, "dgx-h100", false}});
  for (MeasuredRun& run : runs) run.scenario.stack.row.joint_precisions = true;
  EXPECT_EQ(pools_of(runs).size(), 1U);
}

TEST(FitPools, SoftwareWithTheSameKernelsMakesOnePool) {
  const auto runs =
      runs_of_cases({{"pytorch-fsdp-eager", bf16, "dgx-h100", false}, {"pytorch-fsdp", bf16, "dgx-h100", false}});
  const auto pools = pools_of(runs);
  ASSERT_EQ(pools.size(), 1U);
  EXPECT_EQ(pools.front().stack, "pytorch-fsdp");
  EXPECT_EQ(group_of(runs[0], Leave::stack), group_of(runs[1], Leave::stack)) << "left out together";
}

TEST(FitPools, RoutedRunsAreApartFromDenseOnesAndInAllPrecisions) {
  EXPECT_EQ(pools_among(
                {{"nemo", bf16, "dgx-h100", false}, {"nemo", bf16, "dgx-h100", true}, {"nemo", fp8, "dgx-h100", true}}),
      2U);
}

TEST(FitPools, HardwareIsTheArchitectureAndForExpertsTheKindOfHost) {
  EXPECT_EQ(pools_among({{"nemo", bf16, "dgx-h100", false}, {"nemo", bf16, "dgx-a100", false}}), 2U);
  EXPECT_EQ(pools_among({{"nemo", bf16, "dgx-h100", false}, {"nemo", bf16, "grand-teton-h100-96gb", false}}), 1U);
  EXPECT_EQ(pools_among({{"nemo", bf16, "dgx-h100", false}, {"nemo", bf16, "alps-gh200", false}}), 1U);
  EXPECT_EQ(pools_among({{"nemo", bf16, "dgx-h100", true}, {"nemo", bf16, "alps-gh200", true}}), 2U);
}

/// 8 layers on 8 H100, as if they were measured.
records::Run small_fitting_run(const std::string& name, std::int64_t batch) {
  records::Run run;
  run.id = name, run.source = name, run.date = "2025-09", run.software = "NeMo 25.09";
  run.model.name = name;
  run.model.layers = 8, run.model.hidden = 2048, run.model.ffn_hidden = 8192, run.model.heads = 16,
  run.model.seq_len = 2048;
  run.model.vocab = 51200, run.model.gated_mlp = true;
  run.hardware.gpu = "H100-80GB-SXM", run.hardware.gpus_per_node = 8;
  run.parallel.gpus = run.parallel.dp = 8;
  run.micro_batch = 1, run.global_batch = batch, run.precision = "bf16";
  run.measured.step_time_s = 0.02 * static_cast<double>(batch);
  return run;
}

TEST(MeasuredJobs, RunsOfOneJobDifferInTheirSplitOnly) {
  const records::Run one = small_fitting_run("a.log", 64), again = small_fitting_run("b.log", 64);
  const MeasuredRun first = *measured_run(one);
  EXPECT_EQ(measured_run(again)->job, first.job) << "names and sources are the logs' own";
  EXPECT_EQ(measured_run(again)->split, first.split);
  std::vector<records::Run> splits(3, again), others(6, again);
  splits[0].micro_batch = 2;
  splits[1].recompute = "full";
  splits[2].parallel.dp = 4, splits[2].parallel.tp = 2;
  for (const auto& run : splits) {
    EXPECT_EQ(measured_run(run)->job, first.job);
    EXPECT_NE(measured_run(run)->split, first.split);
  }
  others[0].global_batch = 128;
  others[1].model.heads = 32;
  others[2].date = "2025-10";
  others[3].software = "NeMo 25.11";
  others[4].hardware.inter_node_gbit_per_s = 100;
  others[5].precision = "fp8";
  for (const auto& run : others) EXPECT_NE(measured_run(run)->job, first.job);
}

/// Parameters that a fit turns over steps of these batches on 8 H100, as if they were measured.
std::vector<StepParameter> fitted_parameters(
    bool experts, const Stack& stack, const std::vector<std::int64_t>& batches = {16, 32, 64, 128}) {
  std::vector<MeasuredRun> runs;
  for (const std::int64_t batch : batches) {
    records::Run run = small_fitting_run("batch-" + std::to_string(batch), batch);
    if (experts) run.model.experts = RunExperts{.count = 8, .top_k = 2, .ffn_hidden = 1024};
    auto measured = measured_run(run);
    EXPECT_TRUE(measured.has_value()) << (measured ? "" : to_text(measured.error()));
    if (!measured) return {};
    measured->scenario.stack.row.parameters = stack.parameters;
    measured->scenario.stack.row.expert_parameters = stack.expert_parameters;
    runs.push_back(std::move(*measured));
  }
  auto pools = pools_of(runs);
  EXPECT_EQ(pools.size(), 1U);
  fit_pool(pools.at(0), runs, {});
  std::vector<StepParameter> turned;
  for (const StepValue& value : fit_row(pools.at(0), runs).values) turned.push_back(value.parameter);
  return turned;
}

TEST(FitParameters, AreThoseThatTheStackNamesForTheKindOfNetwork) {
  using Names = std::vector<StepParameter>;
  Stack stack;
  stack.parameters = {"products"};
  EXPECT_EQ(fitted_parameters(false, stack), (Names{StepParameter::products}));
  EXPECT_EQ(fitted_parameters(true, stack), (Names{StepParameter::products})) << "no others are named for experts";
  stack.expert_parameters = {"host_per_launch_s", "memory"};
  EXPECT_EQ(fitted_parameters(false, stack), (Names{StepParameter::products}));
  EXPECT_EQ(fitted_parameters(true, stack), (Names{StepParameter::host_per_launch, StepParameter::memory}));
  EXPECT_EQ(fitted_parameters(true, stack, {16, 64}), (Names{StepParameter::host_per_launch})) << "two runs for each";
}

// Two runs of a software whose fit is known: values that two runs alone would not be trusted with stay near what they
// were.
TEST(FitParameters, AKnownFitKeepsAllItsValues) {
  std::vector<MeasuredRun> runs;
  const auto records = built_in_runs();
  ASSERT_TRUE(records.has_value());
  for (const records::Run& record : *records) {
    if (runs.size() == 2 || record.hardware.gpu != "H100-80GB-SXM" || record.precision != "bf16" ||
        record.model.experts)
      continue;
    auto run = measured_run(record);
    if (run && run->witness && run->scenario.stack.row.id == "nemo") runs.push_back(std::move(*run));
  }
  ASSERT_EQ(runs.size(), 2U);
  const FoundFit known = step_fit(runs[0].scenario);
  ASSERT_TRUE(known.fit.has_value());
  ASSERT_GE(known.fit->values.size(), 2U);
  const std::vector<std::size_t> both = {0, 1};
  const auto forecasts = forecast_steps(runs, both, &*known.fit);
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].seconds = forecasts[i];
  auto pools = pools_of(runs);
  FitWishes wishes;
  wishes.from_profile = true;
  fit_pool(pools.at(0), runs, wishes);
  const StepFit fit = fit_row(pools.at(0), runs);
  ASSERT_EQ(fit.values.size(), known.fit->values.size());
  for (std::size_t i = 0; i < fit.values.size(); ++i) {
    EXPECT_EQ(fit.values[i].parameter, known.fit->values[i].parameter);
    EXPECT_NEAR(fit.values[i].value, known.fit->values[i].value, 0.02 * known.fit->values[i].value);
  }
}

}  // namespace
}  // namespace stepcast::records
