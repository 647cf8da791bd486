#include "sim/schedule/schedule_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::order_test {
namespace {

using pipelines::order_of;
using pipelines::text_of;
using testing::HasSubstr;

Error refused(const std::string& id, const ScheduleSize& size) {
  const auto order = make_order(id, size);
  EXPECT_FALSE(order) << id << " accepted p=" << size.ranks << " v=" << size.chunks << " m=" << size.micro_batches;
  return order ? Error{} : order.error();
}

TEST(Order, GpipeRunsAllForwardsThenAllBackwards) {
  const Order order = order_of("gpipe", {.ranks = 2, .micro_batches = 3});
  EXPECT_EQ(text_of(order, 0), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(text_of(order, 1), "F0 F1 F2 B0 B1 B2");
}

TEST(Order, OneFOneBWarmsUpByTheRanksAhead) {
  const Order order = order_of("1f1b", {.ranks = 3, .micro_batches = 4});
  EXPECT_EQ(text_of(order, 0), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(text_of(order, 1), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(text_of(order, 2), "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST(Order, OneFOneBOnOneRankAlternates) {
  EXPECT_EQ(text_of(order_of("1f1b", {.micro_batches = 2}), 0), "F0 B0 F1 B1");
}

TEST(Order, OneFOneBRunsFewerMicroBatchesThanRanks) {
  const Order order = order_of("1f1b", {.ranks = 4, .micro_batches = 2});
  EXPECT_EQ(text_of(order, 0), "F0 F1 B0 B1");
  EXPECT_EQ(text_of(order, 2), "F0 F1 B0 B1");
  EXPECT_EQ(text_of(order, 3), "F0 B0 F1 B1");
}

// p=2, v=2, m=4, g=2: the table is 0.0 1.0 0.1 1.1 2.0 3.0 2.1 3.1 and warm-up 2(1-r) + 2.
TEST(Order, InterleavedTakesBlocksOfMicroBatchesChunkByChunk) {
  const Order order = order_of("interleaved-1f1b", {.ranks = 2, .chunks = 2, .micro_batches = 4});
  EXPECT_EQ(text_of(order, 0), "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0");
  EXPECT_EQ(text_of(order, 1), "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0");
}

TEST(Order, InterleavedGroupOfAllMicroBatchesPassesWholeChunks) {
  const Order order = order_of("interleaved-1f1b", {.ranks = 2, .chunks = 2, .micro_batches = 3, .group = 3});
  EXPECT_EQ(text_of(order, 1), "F0.0 F1.0 F2.0 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 B0.0 B1.0 B2.0");
}

TEST(Order, UnknownScheduleSuggestsTheNearest) {
  const auto kind = find_schedule("1f1");
  ASSERT_FALSE(kind);
  EXPECT_THAT(kind.error().what, HasSubstr("'1f1'"));
  EXPECT_THAT(kind.error().hint, HasSubstr("1f1b"));
}

TEST(Order, CountsMustBePositive) {
  EXPECT_EQ(refused("1f1b", {.ranks = 0}).where, "ranks");
  EXPECT_EQ(refused("1f1b", {.chunks = 0}).where, "chunks");
  EXPECT_EQ(refused("gpipe", {.micro_batches = -3}).where, "micro-batches");
  EXPECT_EQ(refused("interleaved-1f1b", {2, 2, 4, -1}).where, "group");
}

TEST(Order, AbsurdSizesAreRefusedBeforeMemoryIsTaken) {
  EXPECT_THAT(refused("1f1b", {.ranks = 1'000'000, .micro_batches = 2'000'000'000}).what, HasSubstr("4e+15 actions"));
}

TEST(Order, ChunksAndGroupsOnlyWhereTheScheduleTakesThem) {
  EXPECT_THAT(refused("1f1b", {.ranks = 4, .chunks = 2, .micro_batches = 8}).hint, HasSubstr("interleaved-1f1b"));
  EXPECT_EQ(refused("gpipe", {.ranks = 4, .micro_batches = 8, .group = 4}).where, "group");
}

TEST(Order, InterleavedNeedsChunks) {
  EXPECT_THAT(refused("interleaved-1f1b", {.ranks = 4, .chunks = 1, .micro_batches = 4}).hint, HasSubstr("chunks 2"));
}

TEST(Order, InterleavedNamesTheNearestMicroBatches) {
  EXPECT_EQ(refused("interleaved-1f1b", {.ranks = 4, .chunks = 2, .micro_batches = 10}).hint,
      "micro-batches 8 or 12, or group 5");
  EXPECT_EQ(refused("interleaved-1f1b", {.ranks = 4, .chunks = 2, .micro_batches = 3}).hint, "micro-batches 4");
}

TEST(Order, InterleavedGroupIsAtLeastTheRanks) {
  EXPECT_EQ(refused("interleaved-1f1b", {4, 2, 8, 3}).hint, "group 4");
  // 10 micro-batches leave 2 after groups of 4, too few for 4 ranks, and none after groups of 5.
  EXPECT_EQ(refused("interleaved-1f1b", {4, 2, 10, 3}).hint, "group 5");
  EXPECT_EQ(refused("interleaved-1f1b", {2, 2, 1, 1}).hint,
      "leave it out, and micro-batches 2: no group of 1 fills the ranks");
}

// Hints about groups hold: what they name is legal.
TEST(Order, EveryGroupThatAHintNamesIsLegal) {
  int named = 0;
  for (int ranks = 2; ranks <= 8; ++ranks) {
    for (int m = 1; m <= 20; ++m) {
      for (int group = 1; group <= m + 2; ++group) {
        const auto order = make_order("interleaved-1f1b", {ranks, 2, m, group});
        if (order) continue;
        const std::string& hint = order.error().hint;
        const auto at = hint.rfind("group ");
        if (at == std::string::npos || hint.find("no group") != std::string::npos) {
          EXPECT_LT(m, ranks) << hint;
          continue;
        }
        ++named;
        EXPECT_TRUE(make_order("interleaved-1f1b", {ranks, 2, m, std::stoi(hint.substr(at + 6))})) << hint;
      }
    }
  }
  EXPECT_GT(named, 100);
}

TEST(Order, InterleavedOnOneRankIsAWholeStep) {
  const auto order = make_order("interleaved-1f1b", {.ranks = 1, .chunks = 2, .micro_batches = 3});
  ASSERT_TRUE(order) << to_text(order.error());
  EXPECT_TRUE(check_order(*order));
}

TEST(Order, NoHintNamesAGroupThatIsRefused) {
  EXPECT_THAT(refused("1f1b", {.ranks = 4, .micro_batches = 8, .group = 4}).hint, HasSubstr("leave it out, or"));
}

TEST(Order, InterleavedAcceptsALastGroupThatFillsTheRanks) {
  EXPECT_TRUE(make_order("interleaved-1f1b", {4, 2, 10, 6}));
  EXPECT_EQ(refused("interleaved-1f1b", {4, 2, 9, 6}).hint, "micro-batches 6 or 10, or group 5");
}

TEST(Order, ActionsReadLikeTheLiterature) {
  EXPECT_EQ(to_text({ActionKind::forward, 2, 5}), "F(s=2, mb=5)");
  EXPECT_EQ(to_text({ActionKind::weight_grad, 0, 1}), "W(s=0, mb=1)");
}

}  // namespace
}  // namespace stepcast::sim::order_test
