#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/emit/emit_fixtures.h"

namespace stepcast::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using emit_tests::random_wishes;
using emit_tests::emit_scenario;
using emit_tests::take_wishes;

/// Splits that no text tells apart are the same.
void expect_kept(const Split& split, const Split& read) {
  EXPECT_EQ(mapping_text(read), mapping_text(split));
  EXPECT_EQ(read.tp, split.tp);
  EXPECT_EQ(read.dp, split.dp);
  EXPECT_EQ(read.chunks, split.chunks);
  EXPECT_EQ(read.experts, split.experts);
  EXPECT_EQ(read.edp(), split.edp());
  EXPECT_EQ(read.vocabulary, split.vocabulary);
  EXPECT_EQ(read.sequence, split.sequence);
  EXPECT_EQ(read.recompute.kind, split.recompute.kind);
  EXPECT_EQ(read.recompute.layers, split.recompute.layers);
  EXPECT_EQ(read.schedule, split.schedule);
  EXPECT_EQ(read.micro_batches, split.micro_batches);
  EXPECT_EQ(read.scatter, split.scatter);
  EXPECT_EQ(read.kept_gathers, split.kept_gathers);
  EXPECT_EQ(read.layers, split.layers);
}

TEST(PlanToEmit, RandomSplitsKeepTheirText) {
  std::mt19937 random(12);
  int legal = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool experts = i % 2 == 1;
    Scenario scenario =
        emit_scenario(experts ? "mixtral-8x7b" : "llama3-70b", i % 5 == 0 ? "megatron-2022" : "megatron-core");
    const SplitWishes wishes = random_wishes(random, experts);
    StackWays ways;
    if (!wishes.scatter_boundary.value_or(true)) ways.scatter_boundary = false;
    scenario.stack.row = with_ways(scenario.stack.row, ways);
    const auto split = take_wishes(scenario, wishes, i % 3 == 0 && wishes.chunks == 1);
    if (!split) continue;
    const auto plan = plan_to_emit(scenario);
    ASSERT_TRUE(plan) << to_text(plan.error()) << "\n" << scenario.plan.mapping;
    EXPECT_THAT(plan->apart, IsEmpty()) << scenario.plan.mapping;
    expect_kept(*split, plan->split);
    ++legal;
  }
  EXPECT_GT(legal, 500);
}

TEST(PlanToEmit, StatementsThatNoFlagSaysStandApartAsTheNotationPrintsThem) {
  Scenario scenario = emit_scenario("llama3-8b");
  scenario.statements = {"recompute   mlp.act", "save norm1.y at use"};
  SplitWishes wishes;
  wishes.gpus = wishes.global_batch = 8, wishes.sequence = 8192, wishes.zero = 3;
  ASSERT_TRUE(take_wishes(scenario, wishes));
  const auto plan = plan_to_emit(scenario);
  ASSERT_TRUE(plan) << to_text(plan.error());
  EXPECT_EQ(plan->split.zero, 3);
  EXPECT_THAT(plan->apart, ElementsAre("recompute mlp.act", "save norm1.y at use"));
}

TEST(PlanToEmit, WhatNoTextTellsApartIsTheSame) {
  Scenario scenario = emit_scenario("llama3-8b");
  SplitWishes wishes;
  wishes.gpus = wishes.global_batch = 8, wishes.sequence = 8192;
  wishes.context = ContextKind::ulysses, wishes.order = *parse_order("pp-tp-cp-dp", "");
  ASSERT_TRUE(take_wishes(scenario, wishes));
  const auto plan = plan_to_emit(scenario);
  ASSERT_TRUE(plan) << to_text(plan.error());
  EXPECT_EQ(plan->split.context, ContextKind::ring);
  EXPECT_EQ(plan->split.order, usual_order);
  EXPECT_EQ(mapping_text(plan->split), mapping_text(*scenario.split));
}

TEST(PlanToEmit, AMappingOfTheUsersOwnIsRefusedWhereItStands) {
  Scenario scenario = emit_scenario("llama3-8b");
  scenario.plan.mapping = "mesh tp:2 cp:1 dp:4 pp:1\nuse tp, dp\n";
  scenario.plan.mapping_where = "own.flow";
  const auto plan = plan_to_emit(scenario);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().where, "own.flow");
  EXPECT_THAT(plan.error().what, HasSubstr("a mapping of your own"));
  EXPECT_FALSE(plan.error().hint.empty());
}

}  // namespace
}  // namespace stepcast::launch
