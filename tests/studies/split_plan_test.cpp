#include "studies/split_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataflow/lower.h"
#include "model/catalog.h"

namespace stepcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Stack& core() {
  static const Stack stack = [] {
    for (const auto& row : catalog().stacks)
      if (row.id == "megatron-core") return Stack(row);
    return Stack{};
  }();
  return stack;
}

const NetworkSpec& called(const std::string& id) {
  for (const auto& row : catalog().networks)
    if (row.id == id) return row;
  ADD_FAILURE() << id;
  return catalog().networks.front();
}

/// llama3-70b on 64 GPUs: tp 4, pp 4, dp 4; 16 micro-batches of 1 x 4096.
SplitWishes wishes() {
  SplitWishes w;
  w.gpus = 64;
  w.tp = w.pp = 4;
  w.global_batch = 64;
  w.sequence = 4096;
  return w;
}

TEST(SplitPlan, WhatNobodySaidIsCompleted) {
  const Split split = split_of(wishes(), called("llama3-70b"), core());
  EXPECT_EQ(split.dp, 4);
  EXPECT_EQ(split.micro_batches, 16);
  EXPECT_EQ(split.schedule, "1f1b");
  EXPECT_TRUE(split.sequence);
  EXPECT_TRUE(split.vocabulary);
  EXPECT_EQ(split.scatter, Scatter::none);
  EXPECT_EQ(in_words(split), "tp 4, cp 1, pp 4, dp 4, sp, zero 1, 1f1b");
  EXPECT_FALSE(broken_rule(split, wishes().size(), called("llama3-70b")));
}

TEST(SplitPlan, SchedulesBringTheirChunks) {
  SplitWishes w = wishes();
  w.chunks = 2;
  EXPECT_EQ(split_of(w, called("llama3-70b"), core()).schedule, "interleaved-1f1b");
  w.chunks = 1;
  w.schedule = "zb-v";
  EXPECT_EQ(split_of(w, called("llama3-70b"), core()).chunks, 2);
}

TEST(SplitPlan, SequenceParallelismGivesWayWhereItDoesNotDivideUnlessAskedFor) {
  SplitWishes w = wishes();
  w.sequence = 4095;
  EXPECT_FALSE(split_of(w, called("llama3-70b"), core()).sequence);
  w.sp = true;
  EXPECT_TRUE(split_of(w, called("llama3-70b"), core()).sequence);
  w = wishes();
  w.tp = 1;
  w.sp = true;
  EXPECT_FALSE(split_of(w, called("llama3-70b"), core()).sequence);
}

TEST(SplitPlan, FewerGpusThanWaysStillMakeASplitForTheRulesToRefuse) {
  SplitWishes w = wishes();
  w.gpus = 8;
  const SplitRule* broken = broken_rule(split_of(w, called("llama3-70b"), core()), w.size(), called("llama3-70b"));
  ASSERT_NE(broken, nullptr);
  EXPECT_EQ(broken->id, "GPUs do not divide by tp x cp x pp");
}

TEST(SplitPlan, GathersAreKeptOnlyWhereBackwardWouldRepeatThem) {
  SplitWishes w = wishes();
  w.save_gathered = true;
  EXPECT_THAT(split_of(w, called("llama3-70b"), core()).kept_gathers, ElementsAre("norm1.y", "norm2.y", "norm3.y"));
  EXPECT_THAT(mapping_text(split_of(w, called("llama3-70b"), core())), HasSubstr("\nsave norm1.y, norm2.y, norm3.y at use\n"));
  w.sp = false;
  EXPECT_THAT(split_of(w, called("llama3-70b"), core()).kept_gathers, IsEmpty());
  w.sp = true;
  w.recompute.kind = Recompute::Kind::full;
  EXPECT_THAT(split_of(w, called("llama3-70b"), core()).kept_gathers, IsEmpty());
}

// The tensors are named for each network, so each network must have them.
TEST(SplitPlan, GathersAreTensorsOfEveryNetworkOfTheCatalogue) {
  for (const auto& network : catalog().networks) {
    SplitWishes w;
    w.gpus = w.tp = 1;
    w.sequence = 64;
    Split split = split_of(w, network, core());
    split.sequence = true;  // as with tp > 1: heads of some networks have no common factor
    split.kept_gathers.clear();
    SplitWishes two = w;
    two.gpus = two.tp = 2;
    two.save_gathered = true;
    split.kept_gathers = split_of(two, network, core()).kept_gathers;
    ASSERT_FALSE(split.kept_gathers.empty()) << network.id;
    const auto program = lower(network, plan_of(split, w.size(), {}), core());
    EXPECT_TRUE(program) << network.id << ": " << to_text(program.error());
  }
}

TEST(SplitPlan, TheBoundaryIsCutOnceAndOnlyWhereRanksWouldSendTheSame) {
  SplitWishes w = wishes();
  w.sp = false;
  w.scatter_boundary = true;
  EXPECT_EQ(split_of(w, called("llama3-70b"), core()).scatter, Scatter::stated);
  EXPECT_THAT(mapping_text(split_of(w, called("llama3-70b"), core())), HasSubstr("\nhome boundary: s on tp\n"));
  Stack implies = core();
  implies.statements = {scatter_statement};
  EXPECT_EQ(split_of(w, called("llama3-70b"), implies).scatter, Scatter::implied);
  EXPECT_THAT(mapping_text(split_of(w, called("llama3-70b"), implies)), testing::Not(HasSubstr("boundary")));
  w.scatter_boundary = false;
  EXPECT_EQ(split_of(w, called("llama3-70b"), implies).scatter, Scatter::none);
  w.scatter_boundary = true;
  w.sp = true;
  EXPECT_EQ(split_of(w, called("llama3-70b"), core()).scatter, Scatter::none);
  w.sp = false;
  w.pp = 1;
  EXPECT_EQ(split_of(w, called("llama3-70b"), core()).scatter, Scatter::none);
}

}  // namespace
}  // namespace stepcast
