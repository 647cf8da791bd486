#include "sim/schedule/engine/balance.h"
#include "sim/schedule/schedule_table.h"

#include <gtest/gtest.h>

namespace stepcast::sim {
namespace {

StageTimes times_of(const std::vector<double>& forward, const std::vector<double>& backward) {
  StageTimes times;
  for (const double f : forward) times.forward.emplace_back(f);
  for (const double b : backward) {
    times.input_grad.emplace_back(b / 2);
    times.weight_grad.emplace_back(b / 2);
  }
  return times;
}

Balance balance_with(const char* kind, const ScheduleSize& size, const StageTimes& times) {
  const auto order = make_order(kind, size);
  if (!order) {
    ADD_FAILURE() << to_text(order.error());
    return {};
  }
  return balance_of(*order, times, run(*order, times)->makespan);
}

// Forward 1 and 3, backward 2 and 6, two micro-batches: rank 1 works from 1 to 19 without a break, then rank 0 needs 2
// for the last backward: 21. At the mean of 2 and 4 a step takes (2 + 1) x 6 = 18. The slower rank has 9 of a mean of
// 6.
TEST(Balance, TwoUnequalStages) {
  const Balance balance = balance_with("1f1b", {.ranks = 2, .micro_batches = 2}, times_of({1, 3}, {2, 6}));
  EXPECT_DOUBLE_EQ(balance.imbalance, 1.5);
  EXPECT_DOUBLE_EQ(balance.cost.value(), 3);
}

TEST(Balance, EqualStagesCostNothing) {
  const Balance balance = balance_with("1f1b", {.ranks = 4, .micro_batches = 7}, times_of({1, 1, 1, 1}, {2, 2, 2, 2}));
  EXPECT_DOUBLE_EQ(balance.imbalance, 1);
  EXPECT_DOUBLE_EQ(balance.cost.value(), 0);
}

// A V of 2 ranks: rank 0 holds stages 0 and 3, rank 1 stages 1 and 2. 3 + 9 and 3 + 3 of a mean of 9.
TEST(Balance, ARankIsAllOfItsStages) {
  const Balance balance =
      balance_with("zb-v", {.ranks = 2, .chunks = 2, .micro_batches = 4}, times_of({1, 1, 1, 3}, {2, 2, 2, 6}));
  EXPECT_DOUBLE_EQ(balance.imbalance, 12.0 / 9);
  EXPECT_GT(balance.cost.value(), 0);
}

TEST(Balance, DurationsOfSingleUnitsCountByTheirStage) {
  StageTimes times = times_of({1, 1}, {2, 2});
  times.forward_each = {1, 1, 1, 2};  // stage 1's second micro-batch takes 1 longer
  const Balance balance = balance_with("1f1b", {.ranks = 2, .micro_batches = 2}, times);
  EXPECT_DOUBLE_EQ(balance.imbalance, 1);
  EXPECT_DOUBLE_EQ(balance.cost.value(), 1);
}

}  // namespace
}  // namespace stepcast::sim
