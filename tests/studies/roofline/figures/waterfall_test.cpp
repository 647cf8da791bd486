// The step as bars: sums by hand, and that nothing is lost or below nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "model/catalog.h"
#include "studies/roofline/figures/waterfall.h"
#include "tests/studies/asked_of.h"
#include "tests/studies/roofline/roofline_case.h"
#include "tests/studies/roofline/sample_report.h"

namespace stepcast::roofline {
namespace {

using testing_roofline::real_cases;
using testing_roofline::roofline_case;
using testing_roofline::RooflineCase;

double bar(const Waterfall& fall, const std::string& key) {
  for (const WaterfallBar& one : fall.bars)
    if (one.key == key) return one.time.value();
  ADD_FAILURE() << "no bar " << key;
  return -1;
}

void expect_whole(const Waterfall& fall, const std::string& what) {
  double sum = 0;
  for (const WaterfallBar& one : fall.bars) {
    EXPECT_GE(one.time.value(), 0) << what << ": " << one.key;
    sum += one.time.value();
  }
  EXPECT_NEAR(sum / fall.step_time.value(), 1, 1e-9) << what;
}

/// On the sample GPU: 1 PFLOP/s, 4 TB/s of HBM, 8 TB/s of L2 that somebody measured.
OperatorPoint kernel(
    double flops, double useful, double hbm, double l2, double seconds, double calls = 1, Pass pass = Pass::forward) {
  OperatorPoint point;
  point.pass = pass, point.calls = calls, point.time = Seconds(seconds);
  point.flops = point.work.flops = Flops(flops), point.work.useful = Flops(useful);
  point.hbm = Bytes(hbm), point.l2 = Bytes(l2);
  return point;
}

/// A real forecast whose phases are 10 s of kernels, 2 s of waiting, 1 s of bubble and nothing else.
RooflineCase ten_seconds() {
  RooflineCase run = roofline_case("llama3-8b", {{"gpus", "16"}, {"tp", "8"}});
  Phases phases;
  phases.forward = Seconds(4), phases.backward = Seconds(6);
  phases.exposed_communication = Seconds(2), phases.bubble = Seconds(1);
  run.prediction.step.phases = phases;
  run.prediction.step.step_time = phases.sum();
  return run;
}

TEST(Waterfall, GivesEveryRoofItsPart) {
  const RooflineCase run = ten_seconds();
  const Roofs roofs = testing_pictures::sample_roofs();
  const std::vector<OperatorPoint> points = {// 2 s of FLOPs, half of them padding, 1 s of HBM, 0.5 s of launches
      kernel(2e15, 1e15, 4e12, 0, 2.5), kernel(0, 0, 4e12, 16e12, 2.5),  // 1 s of HBM, 2 s of L2, 0.5 s more
      kernel(5e14, 5e14, 0, 0, 0.75, 2, Pass::recompute)};               // twice 0.5 s of repeats, twice 0.25 s more
  const Waterfall fall = waterfall(run.scenario, run.prediction, points, roofs);
  EXPECT_DOUBLE_EQ(bar(fall, "useful_compute"), 1);
  EXPECT_DOUBLE_EQ(bar(fall, "repeated_compute"), 2);
  EXPECT_DOUBLE_EQ(bar(fall, "hbm"), 1);
  EXPECT_DOUBLE_EQ(bar(fall, "l2"), 1);
  EXPECT_DOUBLE_EQ(bar(fall, "kernels"), 1.5);
  EXPECT_DOUBLE_EQ(bar(fall, "beside"), 3.5);
  EXPECT_DOUBLE_EQ(bar(fall, "exposed_node"), 2) << "nothing of the pipeline leaves a node";
  EXPECT_DOUBLE_EQ(bar(fall, "exposed_cluster"), 0);
  EXPECT_DOUBLE_EQ(bar(fall, "bubble"), 1);
  expect_whole(fall, "by hand");
}

TEST(Waterfall, FusedAttentionMakesItsScoresAgain) {
  const RooflineCase run = ten_seconds();
  std::vector<OperatorPoint> points = {
      kernel(1e15, 1e15, 0, 0, 1.5), kernel(2.5e15, 2.5e15, 0, 0, 3, 1, Pass::input_grad)};
  for (OperatorPoint& point : points) point.kernel = KernelClass::attention, point.block = "layer";
  points[0].name = "attn.core", points[1].name = "attn.core dX", points[1].work.backward = true;
  const Waterfall fall = waterfall(run.scenario, run.prediction, points, testing_pictures::sample_roofs());
  EXPECT_DOUBLE_EQ(bar(fall, "useful_compute"), 3) << "five products backward, of which MFU counts four";
  EXPECT_DOUBLE_EQ(bar(fall, "repeated_compute"), 0.5);
}

TEST(Waterfall, ShortensWhatIsFasterThanItsRoofs) {
  const RooflineCase run = ten_seconds();
  const Waterfall fall =
      waterfall(run.scenario, run.prediction, {kernel(3e15, 3e15, 16e12, 0, 2)}, testing_pictures::sample_roofs());
  EXPECT_DOUBLE_EQ(bar(fall, "useful_compute"), 1.5) << "3 s of FLOPs and 1 s of HBM beyond them, priced at 2 s";
  EXPECT_DOUBLE_EQ(bar(fall, "hbm"), 0.5);
  EXPECT_DOUBLE_EQ(bar(fall, "kernels"), 0);
  expect_whole(fall, "faster than its roofs");
}

TEST(Waterfall, LeavesL2OutWhereNobodyMeasuredIt) {
  const RooflineCase run = ten_seconds();
  Roofs roofs = testing_pictures::sample_roofs();
  for (MemoryRoof& roof : roofs.memory)
    if (roof.level == MemoryLevel::l2) roof.basis = RoofBasis::assumed;
  const Waterfall fall = waterfall(run.scenario, run.prediction, {kernel(0, 0, 4e12, 16e12, 2.5)}, roofs);
  EXPECT_DOUBLE_EQ(bar(fall, "l2"), 0);
  EXPECT_DOUBLE_EQ(bar(fall, "kernels"), 1.5);
}

TEST(Waterfall, CountsTheSlowestStageAlone) {
  RooflineCase run = ten_seconds();
  OperatorPoint elsewhere = kernel(1e15, 1e15, 0, 0, 1), tail = kernel(0, 0, 4e12, 0, 1, 1, Pass::step);
  elsewhere.stage = 1;
  const Waterfall fall = waterfall(run.scenario, run.prediction, {elsewhere, tail}, testing_pictures::sample_roofs());
  EXPECT_DOUBLE_EQ(bar(fall, "useful_compute"), 0);
  EXPECT_DOUBLE_EQ(bar(fall, "beside"), 10);
  expect_whole(fall, "other stages");
}

TEST(Waterfall, OfRealRunsHasThePhasesAndTheUtilisation) {
  for (const RooflineCase& run : real_cases()) {
    const Waterfall fall = waterfall(run.scenario, run.prediction, run.points, run.roofs);
    const Phases& phases = run.prediction.step.phases;
    expect_whole(fall, in_words(run.scenario));
    double exposed = 0, kernels = 0;
    for (const WaterfallBar& one : fall.bars)
      if (one.key.starts_with("exposed_")) exposed += one.time.value();
    for (const char* key : {"useful_compute", "repeated_compute", "hbm", "l2", "kernels", "beside"})
      kernels += bar(fall, key);
    const double close = 1e-9 * fall.step_time.value();
    EXPECT_NEAR(exposed, phases.exposed_communication.value(), close) << in_words(run.scenario);
    EXPECT_NEAR(kernels, (phases.forward + phases.backward).value(), close) << in_words(run.scenario);
    EXPECT_NEAR(bar(fall, "bubble"), phases.bubble.value(), close);
    EXPECT_EQ(fall.mfu, run.prediction.mfu);
    EXPECT_EQ(fall.hfu, run.prediction.hfu);
  }
}

TEST(Waterfall, FullRecomputationRepeatsTheForwardPass) {
  const RooflineCase plain = roofline_case("gpt3-175b", {{"gpus", "64"}, {"tp", "8"}, {"pp", "8"}});
  const RooflineCase full =
      roofline_case("gpt3-175b", {{"gpus", "64"}, {"tp", "8"}, {"pp", "8"}, {"recompute", "full"}});
  const Waterfall without = waterfall(plain.scenario, plain.prediction, plain.points, plain.roofs);
  const Waterfall with = waterfall(full.scenario, full.prediction, full.points, full.roofs);
  EXPECT_NEAR(bar(with, "useful_compute") / bar(without, "useful_compute"), 1, 1e-9);
  EXPECT_NEAR(
      (bar(with, "repeated_compute") - bar(without, "repeated_compute")) / bar(with, "useful_compute"), 1.0 / 3, 0.02);
}

TEST(Waterfall, OfAttentionWhoseScoresAreWrittenOutCountsTheCausalHalf) {
  for (const char* counted : {"causal", "full"}) {
    const RooflineCase run =
        roofline_case("gpt3-13b", {{"machine", "dgx-1-v100"}, {"gpus", "8"}, {"tp", "8"}, {"precision", "fp16"},
                                      {"recompute", "full"}, {"stack", "megatron-2020"}, {"attention_flops", counted}});
    const Waterfall fall = waterfall(run.scenario, run.prediction, run.points, run.roofs);
    EXPECT_NEAR(bar(fall, "useful_compute") / fall.step_time.value() / fall.mfu, 1, 1e-6) << counted;
    EXPECT_NEAR(
        (bar(fall, "useful_compute") + bar(fall, "repeated_compute")) / fall.step_time.value() / fall.hfu, 1, 1e-6)
        << counted;
    EXPECT_EQ(attention_words(fall), fmt::format("attention counted {}", counted));
  }
}

TEST(Waterfall, HoldsForEveryNetworkOfTheCatalogue) {
  int whole = 0;
  for (const NetworkSpec& network : built_in().networks) {
    testing_roofline::CaseFlags flags = asked_of(network);
    flags.emplace_back("gpus", "8");
    const RooflineCase run = roofline_case(network.id, flags);
    const Waterfall fall = waterfall(run.scenario, run.prediction, run.points, run.roofs);
    ASSERT_FALSE(fall.bars.empty()) << network.id;
    expect_whole(fall, network.id);
    whole += bar(fall, "useful_compute") > 0;
  }
  EXPECT_EQ(whole, static_cast<int>(built_in().networks.size()));
}

}  // namespace
}  // namespace stepcast::roofline
