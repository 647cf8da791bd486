#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipelines.h"

namespace stepcast::check_order_test {
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

}  // namespace
}  // namespace stepcast::check_order_test
