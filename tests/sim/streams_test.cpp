#include "sim/streams.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/chunk_times.h"
#include "tests/sim/small_program.h"

namespace stepcast::sim {
namespace {

using small::add;
using small::gemm;

class Streams {
 public:
  Machine machine = small::machine();
  Profile profile = small::profile();
  Stack stack = small::stack();

  [[nodiscard]] ChunkTimes times(const ProgramBlock& block, std::int64_t count) const {
    const Program program = small::pipeline(block, 1, count, 1);
    return chunk_times(program, program.chunks[0], {machine, profile, stack, Precision::bf16});
  }
};

/// Forward: a kernel of 1 s, its move of `seconds`, a kernel of 1 s that waits for it.
ProgramBlock with_move(double seconds, bool blocking) {
  ProgramBlock block;
  block.name = "layer";
  add(block, block.forward, gemm(1, Pass::forward));
  add(block, block.forward, small::move(seconds, MoveKind::all_gather, Pass::forward, blocking), {0});
  add(block, block.forward, gemm(1, Pass::forward), {1});
  return block;
}

/// Backward: input gradient 1 s, its reduction of `seconds` beside a weight gradient of 2 s.
ProgramBlock with_hidden_move(double seconds, bool blocking) {
  ProgramBlock block;
  block.name = "layer";
  add(block, block.backward, gemm(1, Pass::input_grad));
  add(block, block.backward, small::move(seconds, MoveKind::reduce_scatter, Pass::input_grad, blocking), {0});
  add(block, block.backward, gemm(2, Pass::weight_grad), {0});
  return block;
}

/// Forward: weights gathered in `seconds`, one block ahead, then 1 s of work.
ProgramBlock with_gather(double seconds, int ahead) {
  ProgramBlock block;
  block.name = "layer";
  Move gather = small::move(seconds, MoveKind::all_gather, Pass::forward, false);
  gather.cargo = Cargo::weight;
  gather.ahead = ahead;
  add(block, block.forward, gather);
  add(block, block.forward, gemm(1, Pass::forward), {0});
  return block;
}

TEST(StreamTimes, KernelsRunOneAfterTheOther) {
  const ChunkTimes times = Streams().times(small::plain_layer(), 5);
  EXPECT_NEAR(times.forward.value(), 5, 1e-9);
  EXPECT_NEAR(times.input_grad.value(), 5, 1e-9);
  EXPECT_NEAR(times.weight_grad.value(), 5, 1e-9);
  EXPECT_EQ(times.exposed_forward.value(), 0);
}

TEST(StreamTimes, AConsumerWaitsForItsMove) {
  for (const bool blocking : {false, true}) {
    const ChunkTimes times = Streams().times(with_move(0.5, blocking), 4);
    EXPECT_NEAR(times.forward.value(), 4 * 2.5, 1e-9);
    EXPECT_NEAR(times.exposed_forward.value(), 4 * 0.5, 1e-9);
    EXPECT_NEAR(times.forward_compute.value(), 4 * 2, 1e-9);
    EXPECT_NEAR(times.exposed[0].value(), 4 * 0.5, 1e-9);
  }
}

TEST(StreamTimes, AReductionHidesBehindTheWeightGradient) {
  const ChunkTimes hidden = Streams().times(with_hidden_move(1.5, false), 3);
  EXPECT_NEAR(hidden.backward().value(), 3 * 3, 1e-9);
  EXPECT_NEAR(hidden.weight_grad.value(), 3 * 2, 1e-9);
  EXPECT_NEAR(hidden.exposed_backward.value(), 0, 1e-9);
  const ChunkTimes blocking = Streams().times(with_hidden_move(1.5, true), 3);
  EXPECT_NEAR(blocking.backward().value(), 3 * 4.5, 1e-9);
  EXPECT_NEAR(blocking.exposed_backward.value(), 3 * 1.5, 1e-9);
}

TEST(StreamTimes, WhatDoesNotHideIsExposed) {  // 3 s beside 2 s: the next block waits for its input for 1 s
  const ChunkTimes times = Streams().times(with_hidden_move(3, false), 6);
  EXPECT_NEAR(times.backward().value(), 6 * 4, 1e-9);
  EXPECT_NEAR(times.exposed_backward.value(), 6 * 1, 1e-9);
  EXPECT_NEAR(times.exposed[0].value(), 6 * 1, 1e-9);
}

TEST(StreamTimes, KernelsBesideAMoveRunSlower) {  // 1 s of move beside 2 s of kernel, 25 % slower while it lasts
  Streams streams;
  streams.profile.overlap.compute_slowdown = 0.25;
  // In the second of the move 0.8 s of work get done, 1.2 s remain.
  const ChunkTimes times = streams.times(with_hidden_move(1, false), 1);
  EXPECT_NEAR(times.backward().value(), 1 + 1 + 1.2, 1e-9);
  EXPECT_NEAR(times.weight_grad.value(), 2.2, 1e-9);
}

TEST(StreamTimes, IssueOrderDoesNotMatterToTheSlowDown) {  // the move listed after the kernel that it meets
  Streams streams;
  streams.profile.overlap.compute_slowdown = 0.25;
  ProgramBlock block;
  add(block, block.backward, gemm(1, Pass::input_grad));
  add(block, block.backward, gemm(2, Pass::weight_grad), {0});
  add(block, block.backward, small::move(1, MoveKind::reduce_scatter, Pass::input_grad, false), {0});
  const ChunkTimes times = streams.times(block, 1);
  EXPECT_NEAR(times.backward().value(), 3.2, 1e-9);
  EXPECT_NEAR(times.weight_grad.value(), 2.2, 1e-9);
}

TEST(StreamTimes, OverlapIsNeverSlowerThanSerialWithoutIt) {
  Streams streams;
  streams.profile.overlap.compute_slowdown = 0.4;
  for (const double seconds : {0.1, 0.5, 1.0, 2.0, 5.0}) {
    const double beside = streams.times(with_hidden_move(seconds, false), 7).backward().value();
    const double serial = streams.times(with_hidden_move(seconds, true), 7).backward().value();
    EXPECT_LE(beside, serial + 1e-9) << seconds;
    EXPECT_GE(beside, 7 * std::max(3.0, seconds)) << seconds;
  }
}

TEST(StreamTimes, GathersAheadHideBehindTheBlockBefore) {  // only the first is exposed
  const ChunkTimes ahead = Streams().times(with_gather(0.75, 1), 10);
  EXPECT_NEAR(ahead.forward.value(), 0.75 + 10 * 1, 1e-9);
  EXPECT_NEAR(ahead.exposed_forward.value(), 0.75, 1e-9);
  const ChunkTimes late = Streams().times(with_gather(0.75, 0), 10);
  EXPECT_NEAR(late.forward.value(), 10 * 1.75, 1e-9);
}

TEST(StreamTimes, LongGathersSetThePace) {  // 2 s per gather against 1 s of work: the last block works alone
  const ChunkTimes times = Streams().times(with_gather(2, 1), 10);
  EXPECT_NEAR(times.forward.value(), 10 * 2 + 1, 1e-9);
  EXPECT_NEAR(times.forward_compute.value(), 10, 1e-9);
}

TEST(StreamTimes, RepeatsEqualTheSumOfTheirCopies) {  // one run of n blocks against n runs of one
  Streams streams;
  streams.profile.overlap.compute_slowdown = 0.2;
  for (const double seconds : {0.3, 0.9, 1.7}) {
    Program program = small::pipeline(with_gather(seconds, 1), 1, 9, 1);
    program.blocks[0].backward = with_hidden_move(seconds, false).backward;
    program.blocks[0].works = with_gather(seconds, 1).works;
    for (KernelWork& work : with_hidden_move(seconds, false).works) program.blocks[0].works.push_back(work);
    program.blocks[0].moves.push_back(with_hidden_move(seconds, false).moves[0]);
    for (Item& item : program.blocks[0].backward) item.index += 1;
    Chunk split = program.chunks[0];
    split.runs.assign(9, {0, 1});
    const CostModel cost(streams.machine, streams.profile, streams.stack, Precision::bf16);
    const ChunkTimes whole = chunk_times(program, program.chunks[0], cost), parts = chunk_times(program, split, cost);
    EXPECT_NEAR(whole.forward.value(), parts.forward.value(), 1e-9) << seconds;
    EXPECT_NEAR(whole.backward().value(), parts.backward().value(), 1e-9) << seconds;
    EXPECT_NEAR(whole.exposed_forward.value(), parts.exposed_forward.value(), 1e-9) << seconds;
    EXPECT_NEAR(whole.exposed[0].value(), parts.exposed[0].value(), 1e-9) << seconds;
    EXPECT_NEAR(whole.exposed[1].value(), parts.exposed[1].value(), 1e-9) << seconds;
  }
}

TEST(StreamTimes, RecomputeStartsBeforeTheGradientArrives) {
  // First block: recompute 0..1, gradient 1..2, its reduction 2..4. Next: recompute 2..3 beside it,
  // gradient 4..5, 5..7.
  ProgramBlock block;
  add(block, block.backward, gemm(1, Pass::recompute));
  add(block, block.backward, gemm(1, Pass::input_grad), {0});
  add(block, block.backward, small::move(2, MoveKind::all_reduce, Pass::input_grad, false), {1});
  const ChunkTimes times = Streams().times(block, 2);
  EXPECT_NEAR(times.backward().value(), 7, 1e-9);
  EXPECT_NEAR(times.recompute.value(), 2, 1e-9);
}

TEST(StreamTimes, TheHostSetsTheFloor) {  // three launches of 0.5 s each against kernels of 1 s in all
  Streams streams;
  streams.stack.host_per_launch = Seconds(0.5);
  ProgramBlock block;
  KernelWork work = gemm(1, Pass::forward);
  work.launches = 3;
  add(block, block.forward, work);
  EXPECT_NEAR(streams.times(block, 4).forward.value(), 4 * 1.5, 1e-9);
  streams.stack.host_per_launch = Seconds(0.1);
  EXPECT_NEAR(streams.times(block, 4).forward.value(), 4, 1e-9);
}

TEST(StreamTimes, TiersRunBesideEachOther) {  // two moves of 1 s: one stream each when they use different fabrics
  ProgramBlock block;
  add(block, block.forward, gemm(1, Pass::forward));
  add(block, block.forward, small::move(1, MoveKind::all_gather, Pass::forward, false), {0});
  Move far = small::move(0.1, MoveKind::all_gather, Pass::forward, false);  // 10 GB: 1 s through a port
  far.group = 1;
  add(block, block.forward, far, {0});
  add(block, block.forward, gemm(1, Pass::forward), {1, 2});
  Program program = small::pipeline(block, 1, 1, 1);
  program.groups.push_back(small::group(4, 4));
  const Streams streams;
  const CostModel cost(streams.machine, streams.profile, streams.stack, Precision::bf16);
  EXPECT_NEAR(chunk_times(program, program.chunks[0], cost).forward.value(), 3, 1e-9);
  program.blocks[0].moves[1] = program.blocks[0].moves[0];  // both inside the node
  EXPECT_NEAR(chunk_times(program, program.chunks[0], cost).forward.value(), 4, 1e-9);
}

TEST(StreamTimes, RunsSumToTheChunk) {
  Program program = small::pipeline(with_hidden_move(3, false), 1, 5, 1);
  program.chunks[0].runs = {{0, 2}, {0, 7}};
  const Streams streams;
  const ChunkTimes times =
      chunk_times(program, program.chunks[0], {streams.machine, streams.profile, streams.stack, Precision::bf16});
  EXPECT_NEAR((times.run_backward[0] + times.run_backward[1]).value(), times.backward().value(), 1e-9);
}

/// Kernel 0, move 1 beside, kernel 2 behind both, move 3 that holds compute up, kernel 4 behind 2 and 3, move 5 beside
/// behind 4. Only move 1 can be late for what compute does in order; move 5 waits for the very end of 4.
TEST(WalkListsTest, ComputeWaitsForMovesBesideItAlone) {
  ProgramBlock block;
  add(block, block.forward, gemm(1, Pass::forward));
  add(block, block.forward, small::move(1, MoveKind::all_gather, Pass::forward, false), {0});
  add(block, block.forward, gemm(1, Pass::forward), {0, 1});
  add(block, block.forward, small::move(1, MoveKind::all_gather, Pass::forward, true), {2});
  add(block, block.forward, gemm(1, Pass::forward), {2, 3});
  add(block, block.forward, small::move(1, MoveKind::all_gather, Pass::forward, false), {4});
  const Streams streams;
  const Program program = small::pipeline(block, 1, 1, 1);
  const CostModel cost(streams.machine, streams.profile, streams.stack, Precision::bf16);
  const WalkList list = walk_lists(program, price_blocks(program, cost)).blocks.front().forward;
  const std::vector<std::vector<int>> waited_for = {{}, {0}, {1}, {}, {}, {4}};
  ASSERT_EQ(list.items.size(), waited_for.size());
  for (std::size_t i = 0; i < waited_for.size(); ++i) {
    const WalkItem& item = list.items[i];
    EXPECT_EQ(std::vector<int>(list.after.begin() + item.after, list.after.begin() + item.after_end), waited_for[i]);
    EXPECT_EQ(item.waits, i == 0) << "all others follow the first";
  }
  EXPECT_EQ(list.beside, (std::vector<int>{1, 5}));
  EXPECT_EQ(list.items[3].move, 1);
}

/// Kernels of a third of a second, moves beside them or in their way, and a gather that may start a block early.
ProgramBlock uneven_layer(double seconds, bool blocking, int ahead) {
  ProgramBlock block = small::plain_layer();
  Move gather = small::move(seconds / 7, MoveKind::all_gather, Pass::forward, blocking);
  gather.cargo = Cargo::weight, gather.ahead = ahead;
  add(block, block.forward, std::move(gather));
  add(block, block.forward, gemm(seconds / 3, Pass::forward), {1});
  add(block, block.forward, small::move(2 * seconds / 3, MoveKind::all_reduce, Pass::forward, blocking), {2});
  add(block, block.backward, small::move(seconds / 9, MoveKind::all_reduce, Pass::input_grad, blocking), {0});
  add(block, block.backward, gemm(seconds / 11, Pass::weight_grad), {1});
  add(block, block.backward, gemm(seconds / 13, Pass::input_grad), {2});
  return block;
}

/// A walk that goes on in several ways ends each of them as a walk of its own does, to the last bit.
TEST(ChunkWalkTest, RunsAndWhatFollowsThemEndAsWalksOfTheirOwn) {
  const Streams streams;
  const CostModel cost(streams.machine, streams.profile, streams.stack, Precision::bf16);
  for (const bool blocking : {true, false})
    for (const int ahead : {0, 2}) {
      Program program = small::pipeline(uneven_layer(1.1, blocking, ahead), 1, 1, 1);
      program.blocks.push_back(uneven_layer(0.7, blocking, 0));
      const WalkLists lists = walk_lists(program, price_blocks(program, cost));
      ChunkWalk walk = walk_for(lists, cost);
      EXPECT_EQ(walk.starts_early(), ahead > 0);
      const auto ends = [&](std::vector<BlockRun> runs, bool forward) {
        const ChunkTimes times = walk.times({0, 0, std::move(runs)});
        return (forward ? times.forward : times.backward()).value();
      };
      constexpr std::int64_t copies = 6;
      for (const bool forward : {true, false}) {
        const std::vector<BlockRun> both =
            forward ? std::vector<BlockRun>{{0, copies}, {1, 2}} : std::vector<BlockRun>{{1, 2}, {0, copies}};
        EXPECT_EQ(walk.span({0, 0, both}, forward), ends(both, forward));
        const auto alone = walk.run_spans({0, 0, {{0, copies}}}, forward);
        EXPECT_EQ(alone.few, ends({{0, copies}}, forward));
        EXPECT_EQ(alone.whole, alone.few);
        EXPECT_EQ(alone.more, ends({{0, copies + 1}}, forward));
        EXPECT_GT(alone.more, alone.few);
        if (walk.starts_early()) continue;
        const auto spans = walk.run_spans({0, 0, both}, forward);
        EXPECT_EQ(spans.few, alone.few);
        EXPECT_EQ(spans.more, alone.more);
        EXPECT_EQ(spans.whole, ends(both, forward));
      }
    }
}

TEST(MoveTimesTest, SteadyRepeatPerBlock) {
  const Program program = small::pipeline(with_hidden_move(3, false), 1, 5, 1);
  const Streams streams;
  const MoveTimes times = move_times(program, 0, {streams.machine, streams.profile, streams.stack, Precision::bf16});
  ASSERT_EQ(times.time.size(), 1U);
  EXPECT_NEAR(times.time[0].value(), 3, 1e-9);
  EXPECT_NEAR(times.exposed[0].value(), 1, 1e-9);
}

}  // namespace
}  // namespace stepcast::sim
