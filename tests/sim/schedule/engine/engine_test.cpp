#include "sim/schedule/engine/engine.h"

#include <gtest/gtest.h>

#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::engine_test {
namespace {

using enum ActionKind;
using pipelines::equal_times;
using pipelines::order_of;
using pipelines::timeline_of;
using pipelines::written;

// Two ranks, one micro-batch, F 1, I 2, W 3, hop 10: F0 0-1, F1 11-12, B1 12-17, B0 27-32.
TEST(Engine, OneMicroBatchWalksThereAndBack) {
  const Timeline t = timeline_of(order_of("1f1b", {.ranks = 2}), equal_times(2, 1, 2, 3, 10));
  EXPECT_EQ(t.start, (std::vector{Seconds(0), Seconds(27), Seconds(11), Seconds(12)}));
  EXPECT_EQ(t.end, (std::vector{Seconds(1), Seconds(32), Seconds(12), Seconds(17)}));
  EXPECT_EQ(t.makespan, Seconds(32));
  EXPECT_EQ(t.span, Seconds(32));
  EXPECT_EQ(t.busy, (std::vector{Seconds(6), Seconds(6)}));
  EXPECT_DOUBLE_EQ(t.bubble_fraction(), 1 - 12.0 / 64);
}

TEST(Engine, OneRankHasNoBubble) {
  for (const char* id : {"gpipe", "1f1b"}) {
    const Timeline t = timeline_of(order_of(id, {.micro_batches = 5}), equal_times(1, 1, 1, 1));
    EXPECT_EQ(t.makespan, Seconds(15));
    EXPECT_DOUBLE_EQ(t.bubble_fraction(), 0);
  }
}

// The same step with I and W apart: rank 1 hands its gradient on after I (at 2), so rank 0 works 2-3, 3-4.
TEST(Engine, SplitBackwardHandsItsGradientOnBeforeTheWeights) {
  const Order split = written(1, {{{forward, 0, 0}, {input_grad, 0, 0}, {weight_grad, 0, 0}},
                                     {{forward, 1, 0}, {input_grad, 1, 0}, {weight_grad, 1, 0}}});
  const Order fused = written(1, {{{forward, 0, 0}, {backward, 0, 0}}, {{forward, 1, 0}, {backward, 1, 0}}});
  EXPECT_EQ(timeline_of(split, equal_times(2, 1, 1, 1)).makespan, Seconds(5));
  EXPECT_EQ(timeline_of(fused, equal_times(2, 1, 1, 1)).makespan, Seconds(6));
}

// Only rank 1 has a (long) W and it starts late: F 1-2, I 2-3, W 3-8.
TEST(Engine, SpanIsTheLongestRankOnItsOwnClock) {
  const Order late =
      written(1, {{{forward, 0, 0}, {input_grad, 0, 0}}, {{forward, 1, 0}, {input_grad, 1, 0}, {weight_grad, 1, 0}}});
  const Timeline t = timeline_of(late, equal_times(2, 1, 1, 5));
  EXPECT_EQ(t.makespan, Seconds(8));
  EXPECT_EQ(t.span, Seconds(7));  // rank 1 from 1 to 8
}

// Stages 0 and 2 on rank 0, 1 and 3 on rank 1: all three hops cross ranks. Micro-batch 0: F 0-1, 11-12, 22-23, 33-34,
// B 34-35, 45-46, 56-57, 67-68; micro-batch 1 follows one later on every stage but the last, where F1 waits for B0.
TEST(Engine, InterleavedStagesHopBetweenRanksEachTime) {
  const Order order = order_of("interleaved-1f1b", {.ranks = 2, .chunks = 2, .micro_batches = 2});
  const Timeline t = timeline_of(order, equal_times(4, 1, 1, 0, 10));
  EXPECT_EQ(t.end[order.begin[1]], Seconds(12));      // rank 1: F of stage 1
  EXPECT_EQ(t.end[order.begin[1] - 2], Seconds(68));  // rank 0: B of stage 0, micro-batch 0
  EXPECT_EQ(t.makespan, Seconds(70));  // micro-batch 1: F 35-36 on stage 3, B 36-37, two later from there
}

TEST(Engine, AStageOnTheSameRankHandsOverForNothing) {
  Order order = written(1, {{{forward, 0, 0}, {forward, 1, 0}, {backward, 1, 0}, {backward, 0, 0}}});
  order.chunks = 2;
  order.rank_of = {0, 0};
  for (const bool blocking : {false, true}) {
    const Timeline t = timeline_of(order, equal_times(2, 1, 1, 0, 10, blocking));
    EXPECT_EQ(t.makespan, Seconds(4));
    EXPECT_EQ(t.hop_wait[0], Seconds(0));
  }
}

// Two ranks, m=2, F 1, B 2, blocking hop 10. Rank 0: F0 0-1, sends 1-11 and posts F1 11-12, exchange with rank 1.
// Rank 1: receives F0 1-11, F0 11-12, B0 12-14, exchange from 14 on (send B0, receive F1): both through at 24.
// Rank 0: B0 24-26; rank 1: F1 24-25, B1 25-27, send to 37: rank 0 B1 37-39.
TEST(Engine, BlockingHopsHoldBothRanks) {
  const Order order = order_of("1f1b", {.ranks = 2, .micro_batches = 2});
  const Timeline t = timeline_of(order, equal_times(2, 1, 1, 1, 10, true));
  EXPECT_EQ(t.start, (std::vector{Seconds(0), Seconds(11), Seconds(24), Seconds(37),  // rank 0: F0 F1 B0 B1
                         Seconds(11), Seconds(12), Seconds(24), Seconds(25)}));       // rank 1: F0 B0 F1 B1
  EXPECT_EQ(t.makespan, Seconds(39));
  // Rank 0: send F0 10; send F1 12-22 with receive B0 14-24 is 12 together; receive B1 10.
  EXPECT_EQ(t.hop_wait[0], Seconds(32));
  // Rank 1: receive F0 10; exchange 14-24.
  EXPECT_EQ(t.hop_wait[1], Seconds(20));
}

// Middle rank of three, warm-up: it sends F0 up (peer 2) and then receives F1 from below (peer 0), one after the other.
TEST(Engine, BlockingSendAndReceiveWithDifferentPeersQueue) {
  const Order order = order_of("gpipe", {.ranks = 3, .micro_batches = 2});
  const Timeline t = timeline_of(order, equal_times(3, 1, 1, 0, 10, true));
  const std::int32_t middle = order.begin[1];
  EXPECT_EQ(t.start[middle], Seconds(11));      // F0: 0-1 on rank 0, hop 1-11
  EXPECT_EQ(t.start[middle + 1], Seconds(32));  // F0 ends 12, send 12-22, receive F1 (sent at 12) 22-32
}

TEST(Engine, WorkspaceOverloadGivesTheSameTimelineAndKeepsItsRoom) {
  EngineWorkspace workspace;
  Timeline reused;
  const Order large = order_of("1f1b", {.ranks = 4, .micro_batches = 16});
  const Order small = order_of("gpipe", {.ranks = 2, .micro_batches = 3});
  ASSERT_TRUE(run(large, equal_times(4, 1, 1, 1), reused, workspace));
  const Seconds* start = reused.start.data();
  const double* done = workspace.done.data();
  ASSERT_TRUE(run(small, equal_times(2, 2, 1, 1), reused, workspace));
  const Timeline fresh = timeline_of(small, equal_times(2, 2, 1, 1));
  EXPECT_EQ(reused.start, fresh.start);
  EXPECT_EQ(reused.busy, fresh.busy);
  EXPECT_EQ(reused.makespan, fresh.makespan);
  EXPECT_EQ(reused.peak_in_flight_stage, fresh.peak_in_flight_stage);
  ASSERT_TRUE(run(large, equal_times(4, 1, 1, 1), reused, workspace));
  EXPECT_EQ(reused.start.data(), start);
  EXPECT_EQ(workspace.done.data(), done);
}

}  // namespace
}  // namespace stepcast::sim::engine_test
