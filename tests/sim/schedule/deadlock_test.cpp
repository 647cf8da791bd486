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

}  // namespace
}  // namespace stepcast::deadlock_test
