// A real step played again with the durations of its single micro-batches, and with stage means.
#include "sim/schedule/engine/replay.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::replay_test {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

TEST(Replay, MeansHideTheSlowMicroBatch) {
  // Two ranks, two micro-batches; forward 1 and backward 1, but the first forward of rank 0 and the last backward of
  // rank 1 take 3. Single: F 0-3, 3-4; rank 1 F 3-4, B 4-5, F 5-6, B 6-9; rank 0 B 9-10. Means of 2 and 2: F 0-2, 2-4;
  // rank 1 F 2-3, B 3-5, F 5-6, B 6-8; rank 0 B 8-9.
  TimedOrder timed{pipelines::order_of("1f1b", {.ranks = 2, .chunks = 1, .micro_batches = 2}), {}};
  timed.times.forward_each = {3, 1, 1, 1};
  timed.times.input_grad_each = {1, 1, 1, 3};
  timed.times.weight_grad_each = {0, 0, 0, 0};
  set_stage_means(timed.order, timed.times);
  EXPECT_EQ(timed.times.forward, (std::vector<Seconds>{Seconds(2), Seconds(1)}));
  const auto result = replay(timed);
  ASSERT_TRUE(result) << to_text(result.error());
  EXPECT_EQ(result->single.makespan, Seconds(10));
  EXPECT_EQ(result->means.makespan, Seconds(9));
  EXPECT_THAT(result->means_gap(), DoubleNear(-0.1, 1e-12));
  EXPECT_THAT(means_warning(*result).value(), HasSubstr("stage means make the step 10.0 % shorter"));
  EXPECT_FALSE(means_warning(*result, 0.2));
}

TEST(Replay, ASlowCopyIsWhatTheMeanOverCopiesHides) {
  // 1F1B with m + p - 1 = 5 turns of 1 + 2: 15 for the one copy, 30 for the slow one, 22.5 for their mean.
  const Order order = pipelines::order_of("1f1b", {.ranks = 2, .chunks = 1, .micro_batches = 4});
  const std::vector<TimedOrder> copies = {
      {order, pipelines::equal_times(2, 1, 2, 0)}, {order, pipelines::equal_times(2, 2, 4, 0)}};
  const auto result = replay(copies);
  ASSERT_TRUE(result) << to_text(result.error());
  EXPECT_EQ(result->single.makespan, Seconds(30));
  EXPECT_EQ(result->means.makespan, Seconds(22.5));
  EXPECT_THAT(means_warning(*result).value(), HasSubstr("25.0 % shorter"));
}

TEST(Replay, EqualDurationsNeedNoWarning) {
  TimedOrder timed{
      pipelines::order_of("zb-h1", {.ranks = 4, .chunks = 1, .micro_batches = 8}), pipelines::equal_times(4, 1, 1, 1)};
  timed.times.forward_each.assign(32, 1.0);
  const auto result = replay(timed);
  ASSERT_TRUE(result) << to_text(result.error());
  EXPECT_EQ(result->single.makespan, result->means.makespan);
  EXPECT_FALSE(means_warning(*result, 0));
}

TEST(Replay, MeansAreOverTheMicroBatchesThatPassTheStage) {
  // Two directions: micro-batches 0 and 1 pass stages 0 and 1, 2 and 3 pass the other copy.
  const Order order = pipelines::order_of("chimera", {.ranks = 2, .chunks = 1, .micro_batches = 4});
  StageTimes times;
  times.forward_each = {1, 3, 0, 0, 1, 3, 0, 0, 0, 0, 5, 7, 0, 0, 5, 7};
  set_stage_means(order, times);
  EXPECT_EQ(times.forward, (std::vector<Seconds>{Seconds(2), Seconds(2), Seconds(6), Seconds(6)}));
}

TEST(Replay, AnOrderThatCannotRunIsRefused) {
  const auto f = ActionKind::forward;
  const auto b = ActionKind::backward;
  const Order order = pipelines::written(
      2, {{{f, 0, 0}, {b, 0, 0}, {f, 0, 1}, {b, 0, 1}}, {{f, 1, 0}, {f, 1, 1}, {b, 1, 0}, {b, 1, 1}}});
  ASSERT_TRUE(check_order(order));
  EXPECT_FALSE(replay({order, pipelines::equal_times(2, 1, 1, 1)}));
}

// One step of one of three public Megatron jobs: 8 GPUs, two replicas of four stages, four micro-batches, the last
// stage slow (job ST, step 535; ByteDance-Seed/StragglerAnalysis 8efcd7f, Apache-2.0). Seconds by stage, micro-batch.
constexpr double st_forward[2][16] = {{0.067599, 0.069085, 0.068014, 0.0684, 0.067284, 0.068631, 0.067211, 0.069635,
                                          0.06803, 0.068541, 0.0691, 0.069665, 0.138354, 0.142353, 0.140149, 0.14063},
    {0.067065, 0.068685, 0.067556, 0.067802, 0.067746, 0.067203, 0.069147, 0.069123, 0.067518, 0.068729, 0.069507,
        0.068679, 0.139039, 0.142527, 0.142293, 0.142692}};
constexpr double st_backward[2][16] = {
    {0.148009, 0.147651, 0.145659, 0.147515, 0.146647, 0.147276, 0.144789, 0.147541, 0.147483, 0.147544, 0.145377,
        0.146839, 0.207177, 0.206071, 0.204187, 0.206827},
    {0.144872, 0.146481, 0.145977, 0.145892, 0.145006, 0.146653, 0.145904, 0.147131, 0.144599, 0.14584, 0.146837,
        0.147929, 0.204857, 0.207095, 0.207469, 0.208118}};
constexpr double st_observed = 2.222772;  // the measured step
constexpr double st_tail = 0.161071;      // after the pipeline: gradients, clip, optimizer; the job's mean
constexpr double st_hop = 0.0012;         // median point-to-point time

TEST(Replay, AMeasuredStepIsMetWithinTwoPercent) {
  double slowest = 0;
  for (int replica = 0; replica < 2; ++replica) {
    TimedOrder timed{pipelines::order_of("1f1b", {.ranks = 4, .chunks = 1, .micro_batches = 4}), {}};
    timed.times.forward_each.assign(st_forward[replica], st_forward[replica] + 16);
    timed.times.input_grad_each.assign(st_backward[replica], st_backward[replica] + 16);
    timed.times.weight_grad_each.assign(16, 0.0);
    timed.times.hop_forward.assign(3, Seconds(st_hop));
    timed.times.hop_backward = timed.times.hop_forward;
    set_stage_means(timed.order, timed.times);
    const auto result = replay(timed);
    ASSERT_TRUE(result) << to_text(result.error());
    slowest = std::max(slowest, result->single.makespan.value());
    EXPECT_LT(std::abs(result->means_gap()), 0.01) << "this job is slow by its last stage, not by its spread";
  }
  EXPECT_NEAR((slowest + st_tail) / st_observed, 1, 0.02);
}

}  // namespace
}  // namespace stepcast::sim::replay_test
