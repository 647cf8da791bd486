#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/schedule/schedule_table.h"
#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::deadlock_test {
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
    EXPECT_EQ(stuck(order, blocking), "cannot run: rank 0 waits at B(s=0, mb=0) for B(s=1, mb=0) on rank 1; "
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

// A pair starts when both inputs are there; rank 0 gives F1 only in the pair that waits for B0 of rank 1, which waits
// for F1.
TEST(Deadlock, APairWaitsAsOne) {
  const Order order = written(2, {{{forward, 0, 0}, {forward, 0, 1, true}, {backward, 0, 0}, {backward, 0, 1}},
                                     {{forward, 1, 0}, {forward, 1, 1}, {backward, 1, 0}, {backward, 1, 1}}});
  ASSERT_TRUE(check_order(order));
  EXPECT_EQ(stuck(order), "cannot run: rank 0 waits at F(s=0, mb=1)+B(s=0, mb=0) for B(s=1, mb=0) on rank 1; "
                          "rank 1 waits at F(s=1, mb=1) for F(s=0, mb=1) on rank 0");
}

/// A few actions of a rank swapped, made pairs, or given another stage or unit.
void spoil(Order& order, std::mt19937& random) {
  for (unsigned changes = random() % 6; changes > 0; --changes) {
    const int rank = static_cast<int>(random() % static_cast<unsigned>(order.ranks));
    const auto first = order.begin[rank], length = order.begin[rank + 1] - first;
    Action& action = order.actions[first + random() % length];
    switch (random() % 12) {
      case 0: action.stage = static_cast<int>(random() % order.stages()); break;
      case 1: action.micro_batch = static_cast<int>(random() % order.units()); break;
      case 2: action.kind = static_cast<ActionKind>(random() % 4); break;
      case 3:
      case 4: action.with_next = !action.with_next; break;
      default: std::swap(action, order.actions[first + random() % length]);
    }
  }
}

// Spoilt orders of every kind: each is refused by check_order with rank and action, runs to the end, or names a cycle
// that starts with a rank.
TEST(Deadlock, RandomOrdersRunOrAreRefused) {
  std::mt19937 random(3);
  int refused = 0, ran = 0, cycles = 0;
  for (const ScheduleKind& kind : schedule_kinds()) {
    for (int trial = 0; trial < 400; ++trial) {
      const auto legal = make_order(kind.id, {.ranks = 1 + int(random() % 4),
                                                 .chunks = kind.takes_chunks ? 2 : 1,
                                                 .micro_batches = 1 + int(random() % 8),
                                                 .slices = kind.takes_slices ? 2 : 1});
      if (!legal) continue;
      Order order = *legal;
      spoil(order, random);
      if (const auto ok = check_order(order); !ok) {
        EXPECT_THAT(ok.error().where, testing::AnyOf(testing::StartsWith("rank "), "order"));
        EXPECT_FALSE(ok.error().what.empty() || ok.error().hint.empty());
        ++refused;
        continue;
      }
      const auto timeline = run(order, equal_times(order.stages(), 1, 1, 1, 1, trial % 3 == 0));
      if (timeline) {
        EXPECT_GE(timeline->makespan, timeline->busy[0]);
        ++ran;
      } else {
        EXPECT_THAT(timeline.error().what, testing::StartsWith("cannot run: rank "));
        ++cycles;
      }
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(ran, 1000);
  EXPECT_GT(cycles, 50);
}

}  // namespace
}  // namespace stepcast::sim::deadlock_test
