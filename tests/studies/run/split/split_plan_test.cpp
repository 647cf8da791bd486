#include "studies/run/split/split_plan.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataflow/lower/lower.h"
#include "model/catalog.h"

namespace stepcast::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Stack& core() {
  static const Stack stack = [] {
    for (const auto& row : built_in().stacks)
      if (row.id == "megatron-core") return Stack(row);
    return Stack{};
  }();
  return stack;
}

const NetworkSpec& called(const std::string& id) {
  for (const auto& row : built_in().networks)
    if (row.id == id) return row;
  ADD_FAILURE() << id;
  return built_in().networks.front();
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

TEST(SplitPlan, OnlyWhatIsInShardsHasCopies) {
  SplitWishes w = wishes();
  w.replicas = 2;
  EXPECT_EQ(
      in_words(split_of(w, called("llama3-70b"), core())), "tp 4, cp 1, pp 4, dp 4, sp, zero 1 in 2 copies, 1f1b");
  w.zero = 0;
  EXPECT_EQ(split_of(w, called("llama3-70b"), core()).replicas, 1);
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
  EXPECT_THAT(
      mapping_text(split_of(w, called("llama3-70b"), core())), HasSubstr("\nsave norm1.y, norm2.y, norm3.y at use\n"));
  w.sp = false;
  EXPECT_THAT(split_of(w, called("llama3-70b"), core()).kept_gathers, IsEmpty());
  w.sp = true;
  w.recompute.kind = Recompute::Kind::full;
  EXPECT_THAT(split_of(w, called("llama3-70b"), core()).kept_gathers, IsEmpty());
}

// The tensors are named for each network, so each network must have them.
TEST(SplitPlan, GathersAreTensorsOfEveryNetworkOfTheCatalogue) {
  for (const auto& network : built_in().networks) {
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

// What the rules let pass can be placed: nothing is left for the notation to refuse.
TEST(SplitPlan, EverySplitThatHoldsTheRulesIsAProgram) {
  std::mt19937 random(9);
  const auto pick = [&](std::vector<std::int64_t> values) { return values[random() % values.size()]; };
  const std::vector<std::string> networks = {"llama3-70b", "mixtral-8x7b", "deepseek-v3", "gpt2-1.5b"};
  const std::vector<std::string> orders = {"tp-cp-dp-pp", "tp-cp-pp-dp", "pp-tp-cp-dp", "tp-pp-cp-dp", "cp-tp-dp-pp"};
  const std::vector<std::string> schedules = {"", "gpipe", "zb-h1", "zb-v", "interleaved-1f1b"};
  int good = 0;
  for (int i = 0; i < 6000; ++i) {
    const NetworkSpec& network = called(networks[random() % networks.size()]);
    SplitWishes w;
    w.gpus = pick({16, 48, 64});
    w.tp = pick({1, 2, 4, 5}), w.cp = pick({1, 1, 2, 3}), w.pp = pick({1, 2, 4}), w.chunks = pick({1, 1, 2});
    if (network.experts.count > 0) w.ep = pick({1, 2, 4, 8}), w.etp = pick({1, 1, 2});
    w.zero = pick({0, 1, 2, 3});
    w.global_batch = pick({64, 96});
    w.sequence = pick({512, 1000, 1026});
    if (random() % 2 == 0) w.sp = random() % 2 == 0;
    w.schedule = schedules[random() % schedules.size()];
    w.recompute.kind = static_cast<Recompute::Kind>(random() % 3);
    w.context = static_cast<ContextKind>(random() % 3);
    w.order = *parse_order(orders[random() % orders.size()], "");
    if (random() % 2 == 0) w.scatter_boundary = random() % 2 == 0;
    w.save_gathered = random() % 2 == 0;
    const Stack& row = built_in().stacks[random() % built_in().stacks.size()];
    const Stack stack = with_ways(row, {.dp_overlap = {}, .tp_overlap = {}, .scatter_boundary = w.scatter_boundary});
    const Split split = split_of(w, network, stack);
    if (broken_rule(split, w.size(), network) != nullptr) continue;
    ++good;
    const auto program = lower(network, plan_of(split, w.size(), {}), stack);
    ASSERT_TRUE(program) << network.id << ", " << stack.id << ", " << in_words(split) << ": "
                         << to_text(program.error());
    EXPECT_EQ(program->stage_stride, stage_stride(split)) << in_words(split);
  }
  EXPECT_GT(good, 500);
}

}  // namespace
}  // namespace stepcast::run
