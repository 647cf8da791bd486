// Operators as points: their sums are the step report's, their shares and bounds follow from their own figures.
#include "studies/roofline/figures/operator_points.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/catalog.h"
#include "studies/cli/flags.h"
#include "studies/launch/asked_run.h"
#include "studies/roofline/figures/stage_work.h"
#include "studies/launch/run_flags.h"
#include "studies/run/forecast.h"
#include "tests/studies/asked_of.h"

namespace stepcast::roofline {
namespace {

using testing::HasSubstr;

struct PointsOfRun {
  Scenario scenario;
  Prediction prediction;
  Roofs roofs;
  std::vector<OperatorPoint> points;

  [[nodiscard]] const StepReport& step() const { return prediction.step; }
  /// Of the slowest stage's rank.
  [[nodiscard]] double seconds(const std::set<PointPass>& passes) const {
    double sum = 0;
    for (const OperatorPoint& point : points)
      if (point.stage == step().slowest_stage && passes.contains(point_pass(point.pass))) sum += point.total().value();
    return sum;
  }
  [[nodiscard]] std::vector<OperatorPoint> named(const std::string& block, const std::string& name) const {
    std::vector<OperatorPoint> found;
    std::copy_if(points.begin(), points.end(), std::back_inserter(found),
        [&](const OperatorPoint& point) { return point.block == block && point.name == name; });
    return found;
  }
  [[nodiscard]] OperatorPoint only(const std::string& block, const std::string& name) const {
    const std::vector<OperatorPoint> found = named(block, name);
    EXPECT_EQ(found.size(), 1U) << block << " " << name;
    return found.empty() ? OperatorPoint{} : found.front();
  }
};

Scenario resolved_run(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> typed;
  for (std::string word; words >> word;) typed.push_back(word);
  const auto arguments = parse_arguments(run_flags(), 1, 1, "", typed);
  EXPECT_TRUE(arguments.has_value()) << line << (arguments ? "" : to_text(arguments.error()));
  const auto request = read_request(arguments->words.at(0), *arguments);
  EXPECT_TRUE(request.has_value()) << line << (request ? "" : to_text(request.error()));
  const auto scenario = complete(*request);
  EXPECT_TRUE(scenario.has_value()) << line << (scenario ? "" : to_text(scenario.error()));
  return *scenario;
}

PointsOfRun points_of_run(Scenario scenario) {
  PointsOfRun run;
  run.scenario = std::move(scenario);
  auto prediction = run::predict(run.scenario);
  EXPECT_TRUE(prediction.has_value()) << (prediction ? "" : to_text(prediction.error()));
  run.prediction = std::move(*prediction);
  run.roofs = roofs_of(run.scenario.machine.row.gpu, run.scenario.profile.row);
  run.points = operator_points(run.scenario, run.prediction, run.roofs);
  return run;
}

const std::string one_gpu_run = "llama3-8b --machine dgx-h100 --gpus 1 --global-batch 4";
const std::string staged_run =
    "gpt3-175b --machine dgx-a100 --gpus 128 --tp 8 --pp 8 --global-batch 128 --recompute full --stack megatron-2022";
/// Runs whose kernels no move slows: blocking collectives, exchanges that are not overlapped.
const std::string runs_without_overlap[] = {one_gpu_run, staged_run,
    "llama3-8b --machine dgx-h100 --gpus 8 --tp 2 --pp 2 --global-batch 32 --stack megatron-2022",
    "llama3-8b --machine dgx-h100 --gpus 32 --tp 2 --pp 4 --global-batch 64 --schedule dualpipe --stack megatron-2022",
    "llama3-8b --machine dgx-h100 --gpus 32 --tp 2 --pp 4 --global-batch 64 --seq-splits 4 --schedule seq-1f1b --stack "
    "jax",
    "llama3-8b --machine dgx-h100 --gpus 32 --tp 2 --pp 4 --chunks 2 --global-batch 64 --stack megatron-2022",
    "llama3-8b --machine dgx-h100 --gpus 32 --tp 2 --pp 4 --global-batch 64 --schedule dualpipev --stack megatron-2022",
    "llama3-8b --machine dgx-h100 --gpus 32 --tp 2 --pp 4 --global-batch 64 --schedule chimera --stack megatron-2022",
    "gpt3-175b --machine dgx-a100 --gpus 64 --tp 8 --pp 8 --global-batch 64 --stack megatron-2022",
    "deepseek-v3 --machine dgx-h100 --gpus 2048 --pp 16 --ep 8 --global-batch 4096 --precision fp8 --layout balanced"};

// --- sums ---

TEST(OperatorPoints, SumToThePhasesOfTheSlowestStage) {
  for (const std::string& line : runs_without_overlap) {
    const PointsOfRun run = points_of_run(resolved_run(line));
    const Phases& phases = run.step().phases;
    EXPECT_NEAR(run.seconds({PointPass::forward}) / phases.forward.value(), 1, 1e-9) << line;
    EXPECT_NEAR(run.seconds({PointPass::backward, PointPass::recompute}) / phases.backward.value(), 1, 1e-9) << line;
  }
}

/// Weight gathers run beside the kernels, which slows these by the overlap law and no more.
TEST(OperatorPoints, MovesBesideThemMakePhasesLongerNotPoints) {
  const PointsOfRun run =
      points_of_run(resolved_run("llama3-8b --machine dgx-h100 --gpus 64 --zero 3 --global-batch 256"));
  const Phases& phases = run.step().phases;
  const double most = 1 + cost_model(run.scenario).overlap().compute_slowdown;
  const double forward = phases.forward.value() / run.seconds({PointPass::forward});
  const double backward = phases.backward.value() / run.seconds({PointPass::backward, PointPass::recompute});
  for (const double slower : {forward, backward}) {
    EXPECT_GT(slower, 1);
    EXPECT_LE(slower, most);
  }
}

TEST(OperatorPoints, FlopsAreWhatTheStageExecutes) {
  for (const std::string& line : runs_without_overlap) {
    const PointsOfRun run = points_of_run(resolved_run(line));
    double flops = 0;
    for (const OperatorPoint& point : run.points)
      if (point.stage == run.step().slowest_stage) flops += point.flops.value() * point.calls;
    const double stage = StageWork(run.scenario, run.prediction).matrix_flops(run.step().slowest_stage).value();
    EXPECT_NEAR(flops / stage, 1, 1e-9) << line;
  }
  const PointsOfRun whole = points_of_run(resolved_run(one_gpu_run));
  double flops = 0;
  for (const OperatorPoint& point : whole.points) flops += point.flops.value() * point.calls;
  EXPECT_NEAR(flops / whole.step().hardware_flops.value(), 1, 1e-9) << "one rank executes all of them";
}

TEST(OperatorPoints, OptimizerAndNormAreTheTail) {
  for (const std::string& line : runs_without_overlap) {
    const PointsOfRun run = points_of_run(resolved_run(line));
    const OperatorPoint optimizer = run.only("step", "optimizer"), norm = run.only("step", "gradient norm");
    EXPECT_NEAR(optimizer.total() / run.step().phases.optimizer, 1, 1e-9) << line;
    EXPECT_LE(norm.total().value(), run.step().phases.clip.value() * (1 + 1e-9)) << line;
    EXPECT_EQ(optimizer.kind, PointKind::optimizer);
    EXPECT_EQ(point_pass(norm.pass), PointPass::step);
  }
  const PointsOfRun run = points_of_run(resolved_run(one_gpu_run));
  EXPECT_NEAR(run.only("step", "gradient norm").total() / run.step().phases.clip, 1, 1e-9)
      << "no collective on one GPU";
}

// --- one point ---

TEST(OperatorPoints, FiguresOfOneFollowFromEachOther) {
  for (const std::string& line : runs_without_overlap) {
    const PointsOfRun run = points_of_run(resolved_run(line));
    for (const OperatorPoint& p : run.points) {
      SCOPED_TRACE(line + ": " + p.block + " " + p.name);
      ASSERT_GT(p.time.value(), 0);
      EXPECT_GT(p.calls, 0);
      EXPECT_GT(p.hbm.value(), 0);
      EXPECT_GE(p.l2.value(), p.hbm.value() * (1 - 1e-9));
      EXPECT_NEAR(p.share, p.calls * p.time.value() / run.step().step_time.value(), 1e-12);
      EXPECT_DOUBLE_EQ(p.rate.value(), (p.flops / p.time).value());
      EXPECT_DOUBLE_EQ(p.bandwidth.value(), (p.hbm / p.time).value());
      EXPECT_NEAR(p.intensity(MemoryLevel::hbm) * p.hbm.value(), p.flops.value(), p.flops.value() * 1e-9);
      EXPECT_GE(p.intensity(MemoryLevel::hbm), p.intensity(MemoryLevel::l2) * (1 - 1e-9));
      const double roof = p.flops.value() > 0
                              ? std::min(run.roofs.peak(p.precision).value(),
                                    run.roofs.bandwidth(MemoryLevel::hbm).value() * p.intensity(MemoryLevel::hbm))
                              : run.roofs.bandwidth(MemoryLevel::hbm).value();
      EXPECT_NEAR(p.share_of_roof, (p.flops.value() > 0 ? p.rate.value() : p.bandwidth.value()) / roof, 1e-9);
      EXPECT_EQ(p.outside == "no FLOPs counted", p.flops.value() == 0);
      EXPECT_THAT(p.bound, testing::AnyOf("compute", "HBM", "launch")) << "nobody measured L2";
      EXPECT_FALSE(p.shape.empty());
      EXPECT_FALSE(p.l2_from.empty());
      EXPECT_FALSE(p.law.empty());
      EXPECT_FALSE(p.measured.has_value());
    }
    EXPECT_TRUE(std::is_sorted(run.points.begin(), run.points.end(), [](const auto& a, const auto& b) {
      return a.total() > b.total();
    })) << line;
  }
}

TEST(OperatorPoints, EqualWorksOfABlockAreOne) {
  const PointsOfRun run = points_of_run(resolved_run(one_gpu_run));
  const double layers = 32, batches = 4;
  EXPECT_EQ(run.only("layer", "norm").calls, 2 * layers * batches);
  EXPECT_EQ(run.only("layer", "mlp.up").calls, layers * batches);
  EXPECT_EQ(run.only("head", "head").calls, batches);
  EXPECT_EQ(run.only("head", "norm").calls, batches) << "another block's norm is another point";
}

TEST(OperatorPoints, ProductIsPlacedByItsOwnFigures) {
  const OperatorPoint up = points_of_run(resolved_run(one_gpu_run)).only("layer", "mlp.up");
  EXPECT_EQ(up.shape, "8192 x 28672 x 4096");
  EXPECT_EQ(up.kind, PointKind::mlp);
  EXPECT_EQ(up.precision, Precision::bf16);
  EXPECT_DOUBLE_EQ(up.flops.value(), 2.0 * 8192 * 28672 * 4096);
  EXPECT_EQ(up.bound, "compute");
  EXPECT_EQ(up.outside, "");
  EXPECT_EQ(up.warning, "");
  EXPECT_EQ(up.work.label, "mlp.up");
  EXPECT_THAT(up.l2_from, HasSubstr("tiles of 256 x 128"));
}

TEST(OperatorPoints, EmbeddingAndHeadComeFromTheStagesThatHaveThem) {
  const PointsOfRun run = points_of_run(resolved_run(staged_run));
  ASSERT_EQ(run.named("embedding", "embedding").size(), 2U) << "the look-up, and adding positions";
  for (const OperatorPoint& point : run.named("embedding", "embedding")) EXPECT_EQ(point.stage, 0);
  EXPECT_EQ(run.only("head", "head").stage, 7);
  for (const OperatorPoint& point : run.points)
    if (point.block == "layer") {
      EXPECT_EQ(point.stage, run.step().slowest_stage) << point.name;
    }
}

TEST(OperatorPoints, RecomputeIsAPassOfItsOwn) {
  const PointsOfRun run = points_of_run(resolved_run(staged_run));
  const OperatorPoint again = run.only("layer", "mlp.up again"), first = run.only("layer", "mlp.up");
  EXPECT_EQ(point_pass(again.pass), PointPass::recompute);
  EXPECT_EQ(again.calls, first.calls);
  EXPECT_EQ(again.kind, first.kind);
}

TEST(OperatorPoints, SumsMadeAgainAreRecomputed) {
  const PointsOfRun run = points_of_run(resolved_run("qwen1.5-moe-a2.7b --gpus 4 --ep 4 --recompute full"));
  // of the routed experts and those of all tokens
  const std::vector<OperatorPoint> sums = run.named("expert_layer", "Y2 sum");
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(std::set({sums[0].pass, sums[1].pass}), std::set({Pass::forward, Pass::recompute}));
  EXPECT_EQ(sums[0].calls, sums[1].calls);
}

TEST(OperatorPoints, SlicesCountTheirMean) {
  const std::string line =
      "llama3-8b --machine dgx-h100 --gpus 32 --tp 2 --pp 4 --global-batch 64 --schedule seq-1f1b --seq-splits ";
  const PointsOfRun two = points_of_run(resolved_run(line + "2")), four = points_of_run(resolved_run(line + "4"));
  EXPECT_EQ(four.only("layer", "attn.core").shape, "2048 to 8192 keys, heads of 128");
  EXPECT_EQ(four.only("layer", "attn.core").calls, 2 * two.only("layer", "attn.core").calls);
  const auto flops = [](const OperatorPoint& point) { return point.flops.value() * point.calls; };
  EXPECT_NEAR(flops(four.only("layer", "attn.core")) / flops(two.only("layer", "attn.core")), 1, 1e-3);
}

TEST(OperatorPoints, NarrowPlanMultipliesNarrowOperandsWhereItCasts) {
  const PointsOfRun run =
      points_of_run(resolved_run("llama3-8b --machine dgx-h100 --gpus 8 --precision fp8 --global-batch 32"));
  EXPECT_EQ(run.only("layer", "mlp.up").precision, Precision::fp8);
  EXPECT_EQ(run.only("layer", "mlp.up").operand_bytes, 1);
  EXPECT_EQ(run.only("head", "head").precision, Precision::bf16);
  EXPECT_EQ(run.only("layer", "attn.core").precision, Precision::bf16);
  EXPECT_EQ(run.only("head", "head").operand_bytes, 2);
}

TEST(OperatorPoints, MeasuredL2CanBeTheBound) {
  Scenario scenario = resolved_run(one_gpu_run);
  scenario.profile.row.roofs = {{"l2 read", 1e11, "burst"}};
  const PointsOfRun run = points_of_run(std::move(scenario));
  EXPECT_EQ(run.only("layer", "mlp.up").bound, "L2") << "a level-2 cache slower than device memory";
}

TEST(OperatorPoints, StartingTakesLongestOfTinyKernels) {
  Scenario scenario = resolved_run(one_gpu_run);
  scenario.profile.row.gemm[0].t0 = Seconds(1);
  for (RooflineLaw& law : scenario.profile.row.gemm) law.t0 = Seconds(1);
  EXPECT_EQ(points_of_run(std::move(scenario)).only("layer", "mlp.up").bound, "launch");
}

TEST(OperatorPoints, AboveARoofWarns) {
  const PointsOfRun foreign =
      points_of_run(resolved_run("llama3-8b --machine rtx-4090-box --gpus 4 --profile a100-sxm-80"));
  const OperatorPoint up = foreign.only("layer", "mlp.up");
  EXPECT_THAT(up.warning, HasSubstr("above the datasheet roof of 165 TFLOP/s"));
  EXPECT_THAT(up.warning, HasSubstr("boost"));
  for (const OperatorPoint& point : points_of_run(resolved_run(one_gpu_run)).points)
    EXPECT_EQ(point.warning, "") << point.name;
}

TEST(OperatorPoints, HostileLabelsStayPlainText) {
  Scenario scenario = resolved_run(one_gpu_run);
  auto prediction = run::predict(scenario);
  ASSERT_TRUE(prediction.has_value());
  const std::string label = "<script>alert(\"&'\")</script>", block = "]]>\n</svg>";
  prediction->program.blocks[1].works[1].label = label;
  prediction->program.blocks[1].name = block;
  const Roofs roofs = roofs_of(scenario.machine.row.gpu, scenario.profile.row);
  const std::vector<OperatorPoint> points = operator_points(scenario, *prediction, roofs);
  const auto found =
      std::find_if(points.begin(), points.end(), [&](const OperatorPoint& point) { return point.name == label; });
  ASSERT_NE(found, points.end());
  EXPECT_EQ(found->block, block);
  EXPECT_EQ(found->kind, PointKind::projection) << "by its kernel";
}

TEST(OperatorPoints, EveryNetworkOfTheCatalogueHasThem) {
  for (const NetworkSpec& network : built_in().networks) {
    std::string line = network.id + " --machine dgx-h100 --gpus 512";
    for (const std::string& word : asked_words(network)) line += " " + word;
    const PointsOfRun run = points_of_run(resolved_run(line));
    for (const OperatorPoint& point : run.points) {
      EXPECT_TRUE(std::isfinite(point.share) && point.share > 0) << network.id << " " << point.name;
      EXPECT_EQ(point.warning, "") << network.id << " " << point.name;
    }
    EXPECT_GT(run.points.size(), 20U) << network.id;
  }
}

}  // namespace
}  // namespace stepcast::roofline
