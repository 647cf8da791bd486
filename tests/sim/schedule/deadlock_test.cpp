#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipelines.h"

namespace stepcast::deadlock_test {
namespace {

using enum ActionKind;
using pipelines::equal_times;
using pipelines::written;
using testing::HasSubstr;

std::string stuck(const Order& order, bool blocking = false) {
  const auto timeline = run(order, equal_times(order.stages(), 1, 1, 1, 1, blocking));
  EXPECT_FALSE(timeline);
  return timeline ? "" : timeline.error().what;
}

// Rank 0 wants the gradient of micro-batch 0 before it gives micro-batch 1; rank 1 wants micro-batch 1 first.
TEST(Deadlock, NamesEveryActionOfTheCycle) {
  const Order order = written(2, {{{forward, 0, 0}, {backward, 0, 0}, {forward, 0, 1}, {backward, 0, 1}},
                                  {{forward, 1, 0}, {forward, 1, 1}, {backward, 1, 0}, {backward, 1, 1}}});
  ASSERT_TRUE(check_order(order));
  for (const bool blocking : {false, true}) {
    EXPECT_EQ(stuck(order, blocking),
              "cannot run: rank 0 waits at B(s=0, mb=0) for B(s=1, mb=0) on rank 1; "
              "rank 1 waits at F(s=1, mb=1) for F(s=0, mb=1) on rank 0");
  }
}

// Rank 0 waits for the pair behind it but is not part of the cycle.
TEST(Deadlock, LeavesOutRanksThatOnlyWaitForTheCycle) {
  const Order order = written(1, {{{forward, 0, 0}, {backward, 0, 0}}, {{backward, 1, 0}, {forward, 1, 0}}});
  EXPECT_EQ(stuck(order), "cannot run: rank 1 waits at B(s=1, mb=0) for F(s=1, mb=0) on rank 1");
}

TEST(Deadlock, AnActionThatNobodyRuns) {
  const Order order = written(1, {{{backward, 0, 0}}, {{forward, 1, 0}, {backward, 1, 0}}});
  EXPECT_THAT(stuck(order), HasSubstr("F(s=0, mb=0), which no rank runs"));
}

TEST(Deadlock, WeightGradientWaitsForItsInputGradient) {
  const Order order = written(1, {{{forward, 0, 0}, {weight_grad, 0, 0}, {input_grad, 0, 0}}});
  EXPECT_THAT(stuck(order), HasSubstr("rank 0 waits at W(s=0, mb=0) for I(s=0, mb=0) on rank 0"));
}

// Orders with a few actions of a rank swapped: each is refused by check_order with a reason, runs to
// the end, or names a cycle that starts with a rank.
TEST(Deadlock, RandomOrdersRunOrAreRefused) {
  std::mt19937 random(3);
  int refused = 0, ran = 0, cycles = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const int p = 1 + static_cast<int>(random() % 4);
    Order order =
        pipelines::order_of(trial % 2 ? "1f1b" : "gpipe", {.ranks = p, .micro_batches = 1 + int(random() % 4)});
    for (unsigned swaps = random() % 6; swaps > 0; --swaps) {
      const int rank = static_cast<int>(random()) & 0x7fffffff;
      const auto first = order.begin[rank % p], length = order.begin[rank % p + 1] - first;
      std::swap(order.actions[first + random() % length], order.actions[first + random() % length]);
    }
    if (const auto ok = check_order(order); !ok) {
      EXPECT_THAT(to_text(ok.error()), HasSubstr("too early"));
      ++refused;
      continue;
    }
    const auto timeline = run(order, equal_times(p, 1, 1, 1, 1, trial % 3 == 0));
    if (timeline) {
      EXPECT_GE(timeline->makespan, timeline->busy[0]);
      ++ran;
    } else {
      EXPECT_THAT(timeline.error().what, testing::StartsWith("cannot run: rank "));
      ++cycles;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(ran, 100);
  EXPECT_GT(cycles, 10);
}

}  // namespace
}  // namespace stepcast::deadlock_test
