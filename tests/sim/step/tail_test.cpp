// Gradient reduces and parameter gathers beside the pipeline, by hand on two stages of two chunks.
#include <gtest/gtest.h>

#include <set>

#include "sim/step.h"
#include "tests/sim/small_program.h"

namespace stepcast::sim {
namespace {

constexpr When reduced = When::once_last_use, gathered = When::tail;

// Four chunks of one layer (1 s forward, 2 s backward), two micro-batches, interleaved; c2 m1 is chunk 2, micro-batch
// 1:
// stage 0 F c0 m0 0-1 F c0 m1 1-2 F c2 m0 2-3 F c2 m1 3-4 B c2 m0 6-8 B c2 m1 9-11 B c0 m0 11-13 B c0 m1 13-15
// stage 1 F c1 m0 1-2 F c1 m1 2-3 F c3 m0 3-4 B c3 m0 4-6 F c3 m1 6-7 B c3 m1 7-9 B c1 m0 9-11 B c1 m1 11-13
struct TailCase {
  Machine machine = small::machine();
  Profile profile = small::profile();
  Stack stack = small::stack();

  /// The chunks `carriers` have a move of `seconds` per step.
  [[nodiscard]] Program program(const std::set<int>& carriers, When when, double seconds) const {
    Program program = small::pipeline(small::plain_layer(), 4, 1, 2);
    program.ranks = program.stages = 2;
    program.chunks_per_stage = 2;
    program.schedule = "interleaved-1f1b";
    for (int i = 0; i < 4; ++i) program.chunks[i].stage = i % 2, program.chunks[i].chunk = i / 2;
    program.blocks.push_back(program.blocks[0]);
    Move move =
        small::move(seconds, when == reduced ? MoveKind::reduce_scatter : MoveKind::all_gather, Pass::step, false);
    move.when = when;
    move.cargo = when == reduced ? Cargo::gradient : Cargo::weight;
    program.blocks[1].step_moves = {move};
    for (const int chunk : carriers) program.chunks[chunk].runs[0].block = 1;
    return program;
  }
  [[nodiscard]] StepReport step(const std::set<int>& carriers, When when, double seconds) const {
    auto report = forecast(program(carriers, when, seconds), CostModel{machine, profile, stack, Precision::bf16});
    EXPECT_TRUE(report.has_value());
    return *std::move(report);
  }
  [[nodiscard]] double sync(const std::set<int>& carriers, double seconds) const {
    return step(carriers, reduced, seconds).phases.gradient_sync.value();
  }
  [[nodiscard]] double gather(const std::set<int>& carriers, double seconds) const {
    return step(carriers, gathered, seconds).phases.parameter_gather.value();
  }
};

TEST(StepTail, TheTimelineIsAsDrawn) {
  const StepReport report = TailCase().step({}, reduced, 1);
  EXPECT_NEAR(report.timeline.makespan.value(), 15, 1e-9);
  EXPECT_NEAR(report.timeline.rank_end[1].value(), 13, 1e-9);
  EXPECT_NEAR(report.phases.gradient_sync.value(), 0, 1e-9);
}

TEST(StepTail, AChunksReducesHideInTheRoundBehindIt) {  // c2 ends at 11, its stage at 15
  for (const double seconds : {1.0, 4.0}) EXPECT_NEAR(TailCase().sync({2}, seconds), 0, 1e-9) << seconds;
  EXPECT_NEAR(TailCase().sync({2}, 5), 1, 1e-9);
}

TEST(StepTail, TheLastChunkHasNoRoomBehindIt) {
  EXPECT_NEAR(TailCase().sync({0}, 0.5), 0.5, 1e-9);
  EXPECT_NEAR(TailCase().sync({0}, 5), 5, 1e-9);
}

TEST(StepTail, StagesThatEndEarlyHaveTheRestOfThePipeline) {  // c3 ends at 9, c1 at 13, the pipeline at 15
  EXPECT_NEAR(TailCase().sync({3}, 6), 0, 1e-9);
  EXPECT_NEAR(TailCase().sync({3}, 7), 1, 1e-9);
  EXPECT_NEAR(TailCase().sync({1}, 2), 0, 1e-9);
  EXPECT_NEAR(TailCase().sync({1}, 3), 1, 1e-9);
}

TEST(StepTail, ReducesOfTwoChunksQueue) {  // 11 + 3 and 15 + 3; with 5 s each the first ends at 16 and the second at 21
  EXPECT_NEAR(TailCase().sync({0, 2}, 3), 3, 1e-9);
  EXPECT_NEAR(TailCase().sync({0, 2}, 5), 6, 1e-9);
}

TEST(StepTail, GathersHaveTheTimeUntilTheirChunkBegins) {  // c0 at 0, c1 at 1, c2 at 2, c3 at 3
  for (int chunk = 0; chunk < 4; ++chunk) {
    EXPECT_NEAR(TailCase().gather({chunk}, chunk), 0, 1e-9) << chunk;
    EXPECT_NEAR(TailCase().gather({chunk}, chunk + 0.5), 0.5, 1e-9) << chunk;
  }
}

TEST(StepTail, GathersOfTwoChunksQueue) {  // on stage 1, from 0: ready at g and 2 g, needed at 1 and 3
  EXPECT_NEAR(TailCase().gather({1, 3}, 1), 0, 1e-9);
  EXPECT_NEAR(TailCase().gather({1, 3}, 1.75), 0.75, 1e-9);
  EXPECT_NEAR(TailCase().gather({1, 3}, 3), 3, 1e-9);
}

// by 25 %: a fifth comes back, but not of what an idle stage gathers
TEST(StepTail, WhatHidesSlowsTheKernelsBesideIt) {
  TailCase slowed;
  slowed.profile.overlap.compute_slowdown = 0.25;
  EXPECT_NEAR(slowed.sync({2}, 3), 3 * 0.2, 1e-9);
  EXPECT_NEAR(slowed.sync({2}, 5), 1 + 4 * 0.2, 1e-9);
  EXPECT_NEAR(slowed.gather({1}, 1), 0, 1e-9);
  EXPECT_NEAR(slowed.gather({3}, 3), 2 * 0.2, 1e-9);
}

}  // namespace
}  // namespace stepcast::sim
