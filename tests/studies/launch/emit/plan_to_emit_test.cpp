#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/emit/emit_fixtures.h"

namespace stepcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using emit_tests::random_wishes;
using emit_tests::emit_scenario;
using emit_tests::take_wishes;

/// Splits that no text tells apart are the same.
void expect_read_back(const Split& split, const Split& read) {
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

TEST(PlanToEmit, RandomSplitsAreReadOutOfTheirText) {
  std::mt19937 random(12);
  int legal = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool experts = i % 2 == 1;
    Scenario scenario = emit_scenario(experts ? "mixtral-8x7b" : "llama3-70b", i % 5 == 0 ? "megatron-2022" : "megatron-core");
    const SplitWishes wishes = random_wishes(random, experts);
    StackWays ways;
    if (!wishes.scatter_boundary.value_or(true)) ways.scatter_boundary = false;
    scenario.stack.row = with_ways(scenario.stack.row, ways);
    const auto split = take_wishes(scenario, wishes, i % 3 == 0 && wishes.chunks == 1);
    if (!split) continue;
    const auto plan = plan_to_emit(scenario);
    ASSERT_TRUE(plan) << to_text(plan.error()) << "\n" << scenario.plan.mapping;
    EXPECT_THAT(plan->apart, IsEmpty()) << scenario.plan.mapping;
    expect_read_back(*split, plan->split);
    ++legal;
  }
  EXPECT_GT(legal, 500);
}

Expected<EmitPlan> read_mapping(Scenario& scenario, const std::string& mapping) {
  scenario.plan.mapping = mapping;
  scenario.plan.mapping_where = "own.flow";
  scenario.micro_batches = 8;
  return plan_to_emit(scenario);
}

TEST(PlanToEmit, AMappingByHandMaySpellAliasesOutAndLeaveAxesOfOneOut) {
  Scenario scenario = emit_scenario("llama3-8b");
  const auto plan = read_mapping(scenario, "mesh tp:2 cp:1 dp:4\npar g*r on tp\npar f on tp\npar fs on tp\nuse dp\nhome optimizer: * on dp*cp\n");
  ASSERT_TRUE(plan) << to_text(plan.error());
  EXPECT_EQ(plan->split.tp, 2);
  EXPECT_EQ(plan->split.zero, 1);
  EXPECT_FALSE(plan->split.vocabulary);
  EXPECT_EQ(plan->split.micro_batches, 8);
  EXPECT_EQ(mapping_text(plan->split), "mesh tp:2 cp:1 dp:4 pp:1\nuse tp, dp, zero1\npar layer on pp sched 1f1b for mb:8\n");
}

TEST(PlanToEmit, StatementsThatNoFlagSaysStandApart) {
  Scenario scenario = emit_scenario("llama3-8b");
  const auto plan = read_mapping(scenario,
                                 "mesh tp:1 cp:1 dp:8 pp:1\nuse tp, dp, fsdp\npar layer on pp sched 1f1b for mb:8\n"
                                 "move weights gather life microbatch\nsave norm1.y at use\nrecompute mlp.act\n");
  ASSERT_TRUE(plan) << to_text(plan.error());
  EXPECT_EQ(plan->split.zero, 3);
  EXPECT_EQ(plan->split.recompute.kind, Recompute::Kind::none);
  EXPECT_THAT(plan->apart, ElementsAre(HasSubstr("move weights gather"), "save norm1.y at use", "recompute mlp.act"));
}

struct OtherProgram { const char *mapping, *where, *what; };

TEST(PlanToEmit, AnotherKindOfProgramIsRefusedWithItsLine) {
  const OtherProgram rows[] = {
      {"mesh x:4 yz:2\nuse ws2d\n", "own.flow:1:1", "no flag splits over an axis 'x'"},
      {"mesh tp:2 dp:4\nuse tp, dp\npar h on tp\n", "own.flow:3:1", "no flag says 'par h on tp'"},
      {"mesh tp:2 dp:4\nuse dp\n", "own.flow", "lacks 'par g*r on tp'"},
      {"mesh tp:2 dp:4\nmesh ep:8\nuse tp, dp\n", "own.flow:2:1", "no flag makes a mesh line more"},
      {"mesh tp:2 dp:4\npar f on tp\npar fs on tp\npar g*r on tp\nuse dp\n", "own.flow:2:1", "'par f on tp' stands where"},
      {"mesh tp:1 pp:2 dp:4\nuse tp, dp\npar layer on pp zigzag sched 1f1b for mb:8\n", "own.flow:3:1", "no flag says 'par layer"},
      {"use tp\n", "own.flow", "no mesh line"}};
  for (const OtherProgram& row : rows) {
    Scenario scenario = emit_scenario("llama3-8b");
    const auto plan = read_mapping(scenario, row.mapping);
    ASSERT_FALSE(plan) << row.mapping;
    EXPECT_EQ(plan.error().where, row.where) << to_text(plan.error());
    EXPECT_THAT(plan.error().what, HasSubstr(row.what));
    EXPECT_FALSE(plan.error().hint.empty());
  }
  Scenario experts = emit_scenario("mixtral-8x7b");
  const auto plan = read_mapping(experts, "mesh tp:2 dp:4\nuse tp, dp\n");
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().what, HasSubstr("experts have no mesh line"));
}

}  // namespace
}  // namespace stepcast
