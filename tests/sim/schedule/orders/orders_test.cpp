// Orders of the new kinds, small enough to write down from their rules.
#include <gtest/gtest.h>

#include "sim/schedule/schedule_kind.h"
#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::orders_test {
namespace {

using pipelines::order_of;
using pipelines::strings_of;

// 2(p-r)-1 forwards ahead: 3 on rank 0, 1 on rank 1.
TEST(Orders, EagerRunsFurtherAhead) {
  const Order order = order_of("eager-1f1b", {.ranks = 2, .micro_batches = 4});
  EXPECT_EQ(strings_of(order, 0), "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
  EXPECT_EQ(strings_of(order, 1), "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3");
}

// 4 // 2 = 2 rounds of 2 are Megatron's groups of 2; 3 micro-batches are one round of 3.
TEST(Orders, FlexibleRoundsDivideTheMicroBatches) {
  const Order flex = order_of("interleaved-flex", {.ranks = 2, .chunks = 2, .micro_batches = 4});
  EXPECT_EQ(flex.actions, order_of("interleaved-1f1b", {.ranks = 2, .chunks = 2, .micro_batches = 4}).actions);
  const Order one_round = order_of("interleaved-flex", {.ranks = 2, .chunks = 2, .micro_batches = 3});
  EXPECT_EQ(strings_of(one_round, 1), "1F0 1F1 1F2 3F0 3B0 3F1 3B1 3F2 3B2 1B0 1B1 1B2");
}

TEST(Orders, LoopedBreadthFirstComesBackInReverse) {
  const Order order = order_of("looped-bfs", {.ranks = 2, .chunks = 2, .micro_batches = 2});
  EXPECT_EQ(strings_of(order, 0), "0F0 0F1 2F0 2F1 2B1 2B0 0B1 0B0");
}

// Rank 1 puts one W off.
TEST(Orders, ZbH1DelaysWeightGradientsByTheRank) {
  const Order order = order_of("zb-h1", {.ranks = 2, .micro_batches = 3});
  EXPECT_EQ(strings_of(order, 0), "0F0 0F1 0I0 0W0 0F2 0I1 0W1 0I2 0W2");
  EXPECT_EQ(strings_of(order, 1), "1F0 1I0 1F1 1I1 1W0 1F2 1I2 1W1 1W2");
}

TEST(Orders, InterleavedZeroBubbleWithOneChunkIsZbH1) {
  for (int p = 1; p <= 6; ++p) {
    const ScheduleSize size{.ranks = p, .micro_batches = 2 * p};
    EXPECT_EQ(order_of("interleaved-zb", size).actions, order_of("zb-h1", size).actions) << p;
  }
  const Order order = order_of("interleaved-zb", {.ranks = 2, .chunks = 2, .micro_batches = 2});
  EXPECT_EQ(strings_of(order, 0), "0F0 0F1 2F0 2F1 2I0 2W0 2I1 2W1 0I0 0W0 0I1 0W1");
  EXPECT_EQ(strings_of(order, 1), "1F0 1F1 3F0 3I0 3F1 3I1 3W0 1I0 3W1 1I1 1W0 1W1");
}

// Rank 1 keeps 2 weight gradients back: the third I is followed by the first W.
TEST(Orders, ZbH2KeepsTwiceTheRankBack) {
  const Order order = order_of("zb-h2", {.ranks = 2, .micro_batches = 4});
  EXPECT_EQ(strings_of(order, 0), "0F0 0F1 0F2 0I0 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3");
  EXPECT_EQ(strings_of(order, 1), "1F0 1I0 1F1 1I1 1F2 1I2 1W0 1F3 1I3 1W1 1W2 1W3");
}

// p=2, m=3: rank 0 runs A) 3 F0, C) 2 x F1 I1 W1, D) I0 W0 F1 I1 W1, F) 2 x I0 W0.
TEST(Orders, ZbVPhases) {
  const Order order = order_of("zb-v", {.ranks = 2, .micro_batches = 3});
  EXPECT_EQ(strings_of(order, 0), "0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0I0 0W0 3F2 3I2 3W2 0I1 0W1 0I2 0W2");
  EXPECT_EQ(strings_of(order, 1), "1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1I1 2I2 1I2 1W1 2W2 1W2");
}

TEST(Orders, ZbVLeavesOutMicroBatchesThatAreNotThere) {
  const Order order = order_of("zb-v", {.ranks = 2, .micro_batches = 1});
  EXPECT_EQ(strings_of(order, 0), "0F0 3F0 3I0 3W0 0I0 0W0");
}

// p=2, m=4, two a direction, stages 0 1 ahead and 2 3 against. Rank 0 (h=0, H=1): step 2) F F, 4) one main round, its
// first pair apart at the fold, 6) B then I, 8) W.
TEST(Orders, DualPipeSteps) {
  const Order order = order_of("dualpipe", {.ranks = 2, .micro_batches = 4});
  EXPECT_EQ(order.rank_of, (std::vector<std::int32_t>{0, 1, 1, 0}));
  EXPECT_EQ(strings_of(order, 0), "0F0 3F2 0F1 3B2 (3F3;0B0) 3B3 0I1 0W1");
  EXPECT_EQ(strings_of(order, 1), "2F2 1F0 2F3 1B0 (1F1;2B2) 1B1 2I3 2W3");
}

// p=2, m=4: rank 0 has h=0 of 2: 1) 2 F0, 2) F0 F1, 3) I1 W F1, 4) one round of pairs, 5) B1 and a pair, 6) B1 I0,
// 7) W I0, 8) W.
TEST(Orders, DualPipeVSteps) {
  const Order order = order_of("dualpipev", {.ranks = 2, .micro_batches = 4});
  EXPECT_EQ(strings_of(order, 0), "0F0 0F1 0F2 3F0 3I0 3W0 3F1 (0F3;3B1) (3F2;0B0) 3B2 (3F3;0B1) 3B3 0I2 0W2 0I3 0W3");
  EXPECT_EQ(strings_of(order, 1), "1F0 2F0 1F1 2F1 1F2 2B0 (2F2;1B0) (1F3;2B1) (2F3;1B1) 2B2 1B2 2I3 1I3 2W3 1W3");
}

// p=4, m=4: slots 2u + s ahead and 2u + 7 - s back; rank 1 is stage 1 of the way down and 2 of the way up.
TEST(Orders, ChimeraInterlocksItsTwoPipelines) {
  const Order order = order_of("chimera", {.ranks = 4, .micro_batches = 4});
  EXPECT_EQ(strings_of(order, 0), "0F0 0F1 7F2 7B2 7F3 7B3 0B0 0B1");
  EXPECT_EQ(strings_of(order, 1), "1F0 6F2 1F1 6F3 6B2 1B0 6B3 1B1");
  EXPECT_EQ(strings_of(order, 3), "4F2 4F3 3F0 3B0 3F1 3B1 4B2 4B3");
}

// n=2: units 0 1 of micro-batch 0 and 2 3 of 1; warm-up 2-r; backward slice 1 before slice 0.
TEST(Orders, SlicesRunBackFromTheLast) {
  const Order order = order_of("seq-1f1b", {.ranks = 2, .micro_batches = 2, .slices = 2});
  EXPECT_EQ(strings_of(order, 0), "0F0 0F1 0F2 0B1 0F3 0B0 0B3 0B2");
  EXPECT_EQ(strings_of(order, 1), "1F0 1F1 1B1 1F2 1B0 1F3 1B3 1B2");
  const Order terapipe = order_of("terapipe", {.ranks = 2, .micro_batches = 2, .slices = 2});
  EXPECT_EQ(strings_of(terapipe, 0), "0F0 0F1 0F2 0F3 0B1 0B0 0B3 0B2");
  const ScheduleSize whole{.ranks = 3, .micro_batches = 5};
  EXPECT_EQ(order_of("seq-1f1b", whole).actions, order_of("1f1b", whole).actions);
}

// p=2, v=2, g=1, blocks of 6 slots: rank 0 forwards at 0 3 6 9 ..., first I at F1 + 4; rank 1 forwards at 1 4, I at 5.
TEST(Orders, GroupedInterleavingFollowsItsBlock) {
  const Order order = order_of("gis", {.ranks = 2, .chunks = 2, .micro_batches = 2, .group = 1});
  EXPECT_EQ(strings_of(order, 0), "0F0 2F0 0F1 2I0 2W0 2F1 0I0 0W0 2I1 2W1 0I1 0W1");
  EXPECT_EQ(strings_of(order, 1), "1F0 3F0 3I0 3W0 1F1 1I0 1W0 3F1 3I1 3W1 1I1 1W1");
}

// One rank meets both stages of its V in a row; a second micro-batch fills what the first leaves free.
TEST(Orders, VPatternsOnOneRank) {
  EXPECT_EQ(strings_of(order_of("v-min", {.micro_batches = 1}), 0), "0F0 1F0 1I0 0I0 1W0 0W0");
  EXPECT_EQ(strings_of(order_of("v-1f1b", {.micro_batches = 2}), 0), "0F0 1F0 1B0 0B0 0F1 1F1 1B1 0B1");
}

}  // namespace
}  // namespace stepcast::sim::orders_test
