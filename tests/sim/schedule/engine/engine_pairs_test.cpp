// Fused pairs, two directions, slices, single durations and slow ranks, by hand.
#include <gtest/gtest.h>

#include "tests/sim/schedule/pipelines.h"
#include "sim/schedule/engine/engine.h"

namespace stepcast::sim::engine_pairs_test {
namespace {

using enum ActionKind;
using pipelines::equal_times;
using pipelines::order_of;
using pipelines::timeline_of;
using pipelines::written;

std::vector<double> starts(const Timeline& timeline) {
  std::vector<double> all;
  for (const Seconds start : timeline.start) all.push_back(start.value());
  return all;
}

// One rank: F0 0-1, then F1 with B0 at once: 0.5 x (1 + 2) = 1.5 long, 1-2.5, both; B1 2.5-4.5.
TEST(EnginePairs, LastTheFactorTimesTheSum) {
  const Order order = written(2, {{{forward, 0, 0}, {forward, 0, 1, true}, {backward, 0, 0}, {backward, 0, 1}}});
  StageTimes times = equal_times(1, 1, 1, 1);
  times.pair_factor = 0.5;
  const Timeline t = timeline_of(order, times);
  EXPECT_EQ(starts(t), (std::vector<double>{0, 1, 1, 2.5}));
  EXPECT_EQ(t.end[1], Seconds(2.5));
  EXPECT_EQ(t.end[2], Seconds(2.5));
  EXPECT_EQ(t.busy[0], Seconds(4.5));
  EXPECT_DOUBLE_EQ(t.bubble_fraction(), 0);
}

// Rank 1 (stage 1): F0 1-2, then F1 with B0, F1's input comes at 2 + hop 3 = 5: both 5-8. Rank 0's B0 can start at
// 8 + 3 = 11.
TEST(EnginePairs, StartWhenBothInputsAreThere) {
  const Order order = written(2, {{{forward, 0, 0}, {forward, 0, 1}, {backward, 0, 0}, {backward, 0, 1}},
                                     {{forward, 1, 0}, {forward, 1, 1, true}, {backward, 1, 0}, {backward, 1, 1}}});
  const Timeline t = timeline_of(order, equal_times(2, 1, 1, 1, 3));
  EXPECT_EQ(starts(t), (std::vector<double>{0, 1, 11, 13, 4, 5, 5, 8}));
  EXPECT_EQ(t.makespan, Seconds(15));
}

// The same with blocking hops. Rank 0 sends F0 1-4 and then computes F1 4-5; rank 1 receives F0 1-4, F0 4-5, then
// receives F1 (sent at 5) until 8: the pair runs 8-11, sends B0 11-14 in one batch; rank 0 was idle and receives it.
TEST(EnginePairs, BlockingPairsReceiveInOneBatch) {
  const Order order = written(2, {{{forward, 0, 0}, {forward, 0, 1}, {backward, 0, 0}, {backward, 0, 1}},
                                     {{forward, 1, 0}, {forward, 1, 1, true}, {backward, 1, 0}, {backward, 1, 1}}});
  const Timeline t = timeline_of(order, equal_times(2, 1, 1, 1, 3, true));
  EXPECT_EQ(t.start[order.begin[1] + 1], Seconds(8));
  EXPECT_EQ(t.start[order.begin[1] + 2], Seconds(8));
  EXPECT_EQ(t.start[2], Seconds(14));
  EXPECT_EQ(t.hop_wait[1], Seconds(3 + 3 + 3));  // F0 in, F1 in, B0 out
}

// p=2, one micro-batch each way, F 1, B 2, hop 0: both ranks F 0-1 (own end), F 1-2 (the other's), B, B.
TEST(EnginePairs, DirectionsDoNotJoinAtTheirEnds) {
  Order order = written(2, {{{forward, 0, 0}, {forward, 3, 1}, {backward, 3, 1}, {backward, 0, 0}},
                               {{forward, 2, 1}, {forward, 1, 0}, {backward, 1, 0}, {backward, 2, 1}}});
  order.chunks = order.directions = 2;
  order.rank_of = {0, 1, 1, 0};
  const Timeline t = timeline_of(order, equal_times(4, 1, 1, 1));
  EXPECT_EQ(starts(t), (std::vector<double>{0, 1, 2, 4, 0, 1, 2, 4}));
  EXPECT_EQ(t.messages, 4);  // one micro-batch ahead and back in each direction
  EXPECT_EQ(order.after(1), -1);
  EXPECT_EQ(order.before(2), -1);
  EXPECT_EQ(order.direction_of(2), 1);
}

// Two ranks, one micro-batch of two slices, F 1, B 2: (2 + 2 - 1) x 3 = 9 as with two micro-batches; 4 hops.
TEST(EnginePairs, SlicesAreUnitsOfWork) {
  const Order order = order_of("seq-1f1b", {.ranks = 2, .micro_batches = 1, .slices = 2});
  const Timeline t = timeline_of(order, equal_times(2, 1, 1, 1));
  EXPECT_EQ(t.makespan, Seconds(9));
  EXPECT_EQ(t.messages, 4);
  EXPECT_EQ(t.peak_in_flight, (std::vector<std::int32_t>{2, 2}));
}

// F of micro-batch 1 takes 5 instead of 1, its I 4 instead of 2; W keeps the stage's 1: F 0-1, B 1-4, F 4-9, B 9-14.
TEST(EnginePairs, SingleDurationsReplaceTheStages) {
  const Order order = order_of("1f1b", {.micro_batches = 2});
  StageTimes times = equal_times(1, 1, 2, 1);
  times.forward_each = {1, 5};
  times.input_grad_each = {2, 4};
  const Timeline t = timeline_of(order, times);
  EXPECT_EQ(starts(t), (std::vector<double>{0, 1, 4, 9}));
  EXPECT_EQ(t.makespan, Seconds(14));
}

TEST(EnginePairs, EqualSingleDurationsChangeNothing) {
  for (const char* id : {"1f1b", "zb-h1", "dualpipe", "seq-1f1b"}) {
    const Order order = order_of(id, {.ranks = 4, .micro_batches = 8});
    StageTimes times = equal_times(order.stages(), 3, 2, 1, 0.5);
    const Timeline by_stage = timeline_of(order, times);
    const auto count = static_cast<std::size_t>(order.stages()) * static_cast<std::size_t>(order.units());
    times.forward_each.assign(count, 3);
    times.weight_grad_each.assign(count, 1);
    EXPECT_EQ(timeline_of(order, times).start, by_stage.start) << id;
  }
}

// Rank 1 takes 1.5 times as long: 1F1B of one micro-batch F 0-1, 1-2.5, B 2.5-5.5, 5.5-7.5.
TEST(EnginePairs, ASlowRankSlowsItsOwnActions) {
  StageTimes times = equal_times(2, 1, 1, 1);
  times.rank_slowdown = {1, 1.5};
  const Timeline t = timeline_of(order_of("1f1b", {.ranks = 2}), times);
  EXPECT_EQ(t.makespan, Seconds(7.5));
  EXPECT_EQ(t.busy, (std::vector{Seconds(3), Seconds(4.5)}));
  times.forward_each = {2, 2};
  EXPECT_EQ(timeline_of(order_of("1f1b", {.ranks = 2}), times).makespan, Seconds(2 + 3 + 3 + 2));
}

// 1F1B, two ranks, one micro-batch, F 1, B 2: rank 0 from 0 to 6, rank 1 from 1 to 4; both work 3.
TEST(EnginePairs, EachRankHasItsOwnClock) {
  const Timeline t = timeline_of(order_of("1f1b", {.ranks = 2}), equal_times(2, 1, 1, 1));
  EXPECT_EQ(t.rank_start, (std::vector{Seconds(0), Seconds(1)}));
  EXPECT_EQ(t.rank_end, (std::vector{Seconds(6), Seconds(4)}));
  EXPECT_EQ(t.messages, 2);
  EXPECT_DOUBLE_EQ(t.bubble_fraction_span(), 0.5);
}

// ZB-V p=2, m=4, unit times: no rank is idle in its own 24; rank 1 starts one later.
TEST(EnginePairs, SpanLeavesOutTheLateStart) {
  const Timeline t = timeline_of(order_of("zb-v", {.ranks = 2, .micro_batches = 4}), equal_times(4, 1, 1, 1));
  EXPECT_EQ(t.makespan, Seconds(25));
  EXPECT_EQ(t.span, Seconds(24));
  EXPECT_DOUBLE_EQ(t.bubble_fraction(), 1 - 24.0 / 25);
  EXPECT_DOUBLE_EQ(t.bubble_fraction_span(), 0);
}

}  // namespace
}  // namespace stepcast::sim::engine_pairs_test
