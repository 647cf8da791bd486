// The box that says on what a report rests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/version.h"
#include "studies/roofline/report.h"
#include "tests/studies/roofline/roofline_case.h"

namespace stepcast::roofline {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing_roofline::roofline_case;
using testing_roofline::RooflineCase;

std::string fact(const Provenance& provenance, const std::string& name) {
  for (const Provenance::Fact& one : provenance.facts)
    if (one.name == name) return one.value;
  return "no such fact";
}

Provenance box_of(const RooflineCase& run) { return provenance_of(run.scenario, run.prediction); }

TEST(Provenance, NamesProfileLawsAndConventions) {
  const Provenance box = box_of(roofline_case("llama3-70b", {{"gpus", "64"}, {"tp", "8"}}));
  EXPECT_THAT(fact(box, "profile"), HasSubstr("h100-sxm"));
  EXPECT_EQ(fact(box, "regime"), "burst");
  EXPECT_EQ(fact(box, "matrix products, bf16"),
      "fitted; 80 % of times lie at 0.927 to 1.1 of it; off by 5.4 % on 12634 held-out samples of "
      "training size, without the correction that single kernels get");
  EXPECT_THAT(fact(box, "fused attention"), HasSubstr("off by 8.4 % on 470 held-out samples"));
  EXPECT_THAT(fact(box, "all_gather, 8 GPUs"), HasSubstr("measured"));
  EXPECT_THAT(fact(box, "attention FLOPs"), HasSubstr("backward 2.5 x"));
  EXPECT_THAT(fact(box, "attention FLOPs"), HasSubstr("MFU counts the causal half"));
  EXPECT_THAT(fact(box, "stack"), HasSubstr("megatron-core"));
  EXPECT_EQ(fact(box, "stepcast"), version());
  EXPECT_THAT(fact(box, "whole steps"), HasSubstr("measured runs"));
}

TEST(Provenance, SaysWhatNobodyRecorded) {
  RooflineCase run = roofline_case("llama3-8b", {{"gpus", "8"}});
  run.scenario.profile.row.conditions = {};
  for (const char* name : {"clocks", "power limit", "driver", "CUDA", "cuBLAS", "NCCL", "date", "device"})
    EXPECT_EQ(fact(box_of(run), name), "not recorded") << name;
}

TEST(Provenance, QuotesTheErrorOfTheLawThatWasUsed) {
  RooflineCase run = roofline_case("llama3-8b", {{"gpus", "8"}});
  RooflineLaw* law = nullptr;
  for (RooflineLaw& one : run.scenario.profile.row.gemm)
    if (one.precision == Precision::bf16) law = &one;
  ASSERT_NE(law, nullptr);
  law->refinement.held_out = {.mape = 0.045, .samples = 20956};
  law->alone = {};
  EXPECT_THAT(fact(box_of(run), "matrix products, bf16"),
      HasSubstr("was not kept (with it: off by 4.5 % on 20956 held-out samples)"));
  law->refinement.use = CorrectionUse::kernels_and_steps;
  EXPECT_THAT(fact(box_of(run), "matrix products, bf16"),
      HasSubstr("off by 4.5 % on 20956 held-out samples, with its correction"));
  law->refinement = {};
  EXPECT_THAT(fact(box_of(run), "matrix products, bf16"), HasSubstr("sample count not recorded"));
}

TEST(Provenance, SaysWhatSomebodyRecorded) {
  RooflineCase run = roofline_case("llama3-8b", {{"gpus", "8"}});
  Conditions& conditions = run.scenario.profile.row.conditions;
  conditions.sm_clock_mhz = 1755, conditions.power_limit_w = 700;
  conditions.driver = "570.86", conditions.nccl = "2.27.3", conditions.sources = {"gemm.csv: 10 rows"};
  const Provenance box = box_of(run);
  EXPECT_EQ(fact(box, "clocks"), "SM 1755 MHz, memory not recorded");
  EXPECT_EQ(fact(box, "power limit"), "700 W");
  EXPECT_EQ(fact(box, "driver"), "570.86");
  EXPECT_EQ(fact(box, "NCCL"), "2.27.3");
  EXPECT_EQ(fact(box, "table"), "gemm.csv: 10 rows");
}

TEST(Provenance, FollowsTheRun) {
  const Provenance full =
      box_of(roofline_case("llama3-8b", {{"gpus", "8"}, {"attention_flops", "full"}, {"precision", "fp8"}}));
  EXPECT_THAT(fact(full, "attention FLOPs"), HasSubstr("MFU counts the full square"));
  EXPECT_NE(fact(full, "matrix products, fp8"), "no such fact");
  const Provenance old =
      box_of(roofline_case("gpt3-6.7b", {{"gpus", "8"}, {"machine", "dgx-a100"}, {"stack", "megatron-2020"}}));
  EXPECT_THAT(fact(old, "attention FLOPs"), HasSubstr("scores are written out"));
  EXPECT_EQ(fact(old, "fused attention"), "no such fact");
}

TEST(Provenance, SaysWhereNoStepWasMeasured) {
  RooflineCase run = roofline_case("llama3-8b", {{"gpus", "8"}});
  run.scenario.profile.row.steps.clear();
  EXPECT_THAT(
      fact(box_of(run), "whole steps"), HasSubstr("what software usually makes of them, by fits on other GPUs"));
}

TEST(Provenance, ListsAssumptionsAsPredictDoes) {
  const Provenance box = box_of(roofline_case("llama3-8b", {{"gpus", "8"}}));
  EXPECT_THAT(box.assumptions, Contains("--stack like:megatron-core (nobody named the software)"));
  EXPECT_THAT(box.assumptions, Contains("--profile h100-sxm (for NVIDIA H100-SXM5-80GB)"));
}

}  // namespace
}  // namespace stepcast::roofline
