#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::check_order_test {
namespace {

using enum ActionKind;
using pipelines::order_of;
using pipelines::written;
using testing::HasSubstr;

std::string complaint(const Order& order) {
  const auto ok = check_order(order);
  return ok ? "" : to_text(ok.error());
}

TEST(CheckOrder, SplitBackwardIsAWholeStep) {
  EXPECT_EQ(complaint(written(1, {{{forward, 0, 0}, {input_grad, 0, 0}, {weight_grad, 0, 0}}})), "");
}

TEST(CheckOrder, BackwardBeforeForward) {
  EXPECT_THAT(complaint(written(1, {{{backward, 0, 0}, {forward, 0, 0}}})), HasSubstr("B(s=0, mb=0) comes too early"));
}

TEST(CheckOrder, WeightGradientBeforeInputGradient) {
  EXPECT_THAT(complaint(written(1, {{{forward, 0, 0}, {weight_grad, 0, 0}, {input_grad, 0, 0}}})),
      HasSubstr("W(s=0, mb=0) comes too early"));
}

TEST(CheckOrder, TheSameMicroBatchTwice) {
  EXPECT_THAT(complaint(written(1, {{{forward, 0, 0}, {forward, 0, 0}, {backward, 0, 0}}})), HasSubstr("repeats"));
  EXPECT_THAT(complaint(written(1, {{{forward, 0, 0}, {backward, 0, 0}, {input_grad, 0, 0}}})), HasSubstr("repeats"));
}

TEST(CheckOrder, AMissingWeightGradientNamesStageAndMicroBatch) {
  EXPECT_THAT(complaint(written(2, {{{forward, 0, 0}, {backward, 0, 0}, {forward, 0, 1}, {input_grad, 0, 1}}})),
      HasSubstr("micro-batch 1 does not finish stage 0"));
}

TEST(CheckOrder, TooFewActionsForItsSize) {
  Order order = order_of("1f1b", {.ranks = 2, .micro_batches = 2});
  order.micro_batches = 2'000'000'000;
  EXPECT_THAT(complaint(order), HasSubstr("8 actions for 2 stages and 2000000000 micro-batches"));
}

TEST(CheckOrder, AnActionOfAnotherRank) {
  EXPECT_THAT(complaint(written(1, {{{forward, 1, 0}, {backward, 0, 0}}, {{forward, 0, 0}, {backward, 1, 0}}})),
      HasSubstr("stage 1 sits on rank 1"));
}

TEST(CheckOrder, NumbersOutsideOfTheOrder) {
  EXPECT_THAT(complaint(written(1, {{{forward, 7, 0}, {backward, 0, 0}}})), HasSubstr("outside"));
  EXPECT_THAT(complaint(written(1, {{{forward, 0, -1}, {backward, 0, 0}}})), HasSubstr("outside"));
}

TEST(CheckOrder, BrokenOffsetsAndPlacement) {
  Order order = order_of("1f1b", {.ranks = 2, .micro_batches = 2});
  order.begin[1] = 100;
  EXPECT_THAT(complaint(order), HasSubstr("offsets"));
  order = order_of("1f1b", {.ranks = 2, .micro_batches = 2});
  order.rank_of[1] = 5;
  EXPECT_THAT(complaint(order), HasSubstr("rank 5"));
  order.rank_of.pop_back();
  EXPECT_THAT(complaint(order), HasSubstr("1 stages are placed"));
}

/// Two ranks, one micro-batch a direction, stages 0 1 ahead and 2 3 against.
Order both_ways() {
  Order order = written(2, {{{forward, 0, 0}, {forward, 3, 1}, {backward, 3, 1}, {backward, 0, 0}},
                               {{forward, 2, 1}, {forward, 1, 0}, {backward, 1, 0}, {backward, 2, 1}}});
  order.chunks = order.directions = 2;
  order.rank_of = {0, 1, 1, 0};
  return order;
}

TEST(CheckOrder, AMicroBatchPassesTheStagesOfItsDirectionOnly) {
  Order order = both_ways();
  EXPECT_EQ(complaint(order), "");
  order.actions[0].micro_batch = 1;
  EXPECT_THAT(complaint(order), HasSubstr("F(s=0, mb=1) goes the other way"));
  order.micro_batches = 3;
  EXPECT_THAT(complaint(order), HasSubstr("an even number"));
  order.directions = 3;
  EXPECT_THAT(complaint(order), HasSubstr("1 or 2"));
}

TEST(CheckOrder, AMissingPassNamesTheDirectionsOwnMicroBatch) {
  Order order = both_ways();
  order.actions[7] = {input_grad, 2, 1};
  EXPECT_THAT(complaint(order), HasSubstr("micro-batch 1 does not finish stage 2"));
}

TEST(CheckOrder, SlicesRunAheadInOrderAndBackInReverse) {
  Order order = written(1, {{{forward, 0, 0}, {forward, 0, 1}, {backward, 0, 1}, {backward, 0, 0}}});
  order.slices = 2;
  EXPECT_EQ(complaint(order), "");
  std::swap(order.actions[2], order.actions[3]);
  EXPECT_THAT(complaint(order), HasSubstr("B(s=0, mb=0) comes before a slice that it needs"));
  std::swap(order.actions[0], order.actions[1]);
  EXPECT_THAT(complaint(order), HasSubstr("F(s=0, mb=1) comes before a slice that it needs"));
  order.slices = 0;
  EXPECT_THAT(complaint(order), HasSubstr("0 slices"));
}

/// One rank, micro-batch 1 forward at once with micro-batch 0 backward.
Order one_pair() { return written(2, {{{forward, 0, 0}, {forward, 0, 1, true}, {backward, 0, 0}, {backward, 0, 1}}}); }

TEST(CheckOrder, APairIsAForwardAndABackwardOfDifferentWork) {
  EXPECT_EQ(complaint(one_pair()), "");
  Order order = one_pair();
  order.actions[0].with_next = true;
  EXPECT_THAT(complaint(order), HasSubstr("has its own pair"));
  order = one_pair();
  order.actions[3].with_next = true;
  EXPECT_THAT(complaint(order), HasSubstr("is not there"));
  order = one_pair();
  std::swap(order.actions[2], order.actions[3]);
  EXPECT_THAT(complaint(order), HasSubstr("F(s=0, mb=1) cannot run at once with B(s=0, mb=1)"));
  order = written(2, {{{forward, 0, 0, true}, {forward, 0, 1}, {backward, 0, 0}, {backward, 0, 1}}});
  EXPECT_THAT(complaint(order), HasSubstr("cannot run at once with F(s=0, mb=1)"));
}

TEST(CheckOrder, AWeightGradientHasNoPair) {
  const Order order =
      written(2, {{{forward, 0, 0}, {input_grad, 0, 0}, {forward, 0, 1, true}, {weight_grad, 0, 0}, {backward, 0, 1}}});
  EXPECT_THAT(complaint(order), HasSubstr("cannot run at once with W(s=0, mb=0)"));
}

}  // namespace
}  // namespace stepcast::sim::check_order_test
