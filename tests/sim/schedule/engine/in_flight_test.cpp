#include <algorithm>

#include <gtest/gtest.h>

#include "sim/schedule/schedule_table.h"
#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::in_flight_test {
namespace {

using enum ActionKind;
using pipelines::equal_times;
using pipelines::order_of;
using pipelines::timeline_of;
using pipelines::written;

TEST(InFlight, GpipeKeepsEveryMicroBatch) {
  for (int p = 1; p <= 8; ++p) {
    const Timeline t = timeline_of(order_of("gpipe", {.ranks = p, .micro_batches = 7}), equal_times(p, 1, 1, 1));
    EXPECT_EQ(t.peak_in_flight, std::vector<std::int32_t>(static_cast<std::size_t>(p), 7));
  }
}

TEST(InFlight, OneFOneBKeepsTheRanksAhead) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 12; ++m) {
      const Timeline t = timeline_of(order_of("1f1b", {.ranks = p, .micro_batches = m}), equal_times(p, 1, 1, 1));
      for (int r = 0; r < p; ++r)
        EXPECT_EQ(t.peak_in_flight[r], std::min(p - r, m)) << "p=" << p << " m=" << m << " r=" << r;
    }
  }
}

TEST(InFlight, InterleavedKeepsItsWarmUpAndOne) {
  int checked = 0;
  for (int p = 2; p <= 8; ++p)
    for (int v = 2; v <= 4; ++v)
      for (int g = p; g <= 12; ++g)
        for (int m = g; m <= 32; ++m) {
          const auto order = make_order("interleaved-1f1b", {p, v, m, g});
          if (!order) continue;
          ++checked;
          const Timeline t = timeline_of(*order, equal_times(p * v, 1, 1, 1));
          for (int r = 0; r < p; ++r) {
            ASSERT_EQ(t.peak_in_flight[r], std::min(m * v, 2 * (p - 1 - r) + (v - 1) * g + 1))
                << "p=" << p << " v=" << v << " m=" << m << " g=" << g;
          }
        }
  EXPECT_GT(checked, 500);
}

TEST(InFlight, StagesOfARankSumToItsPeak) {
  const Order order = order_of("interleaved-1f1b", {.ranks = 4, .chunks = 3, .micro_batches = 16});
  const Timeline t = timeline_of(order, equal_times(12, 1, 1, 1));
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(
        t.peak_in_flight_stage[r] + t.peak_in_flight_stage[4 + r] + t.peak_in_flight_stage[8 + r], t.peak_in_flight[r]);
  }
  // Rank 0 has done 6 + 8 + 1 forwards: two blocks of 4 on chunk 0, one on each other chunk, then 3 more on chunk 0.
  EXPECT_EQ(t.peak_in_flight[0], 15);
  EXPECT_EQ(t.peak_in_flight_stage[0], 7);
  EXPECT_EQ(t.peak_in_flight_stage[4], 4);
  EXPECT_EQ(t.peak_in_flight_stage[8], 4);
}

TEST(InFlight, SplitBackwardKeepsActivationsUntilTheWeightGradient) {
  const Order order = written(2, {{{forward, 0, 0}, {input_grad, 0, 0}, {forward, 0, 1}, {input_grad, 0, 1},
                                     {weight_grad, 0, 0}, {weight_grad, 0, 1}}});
  EXPECT_EQ(timeline_of(order, equal_times(1, 1, 1, 1)).peak_in_flight[0], 2);
}

// F0 I0 F1 I1 W0 W1: two held until W, one until I, two weight gradients wait.
TEST(InFlight, FreedAtInputGradientAndPendingWeightGradients) {
  const Order order = written(2, {{{forward, 0, 0}, {input_grad, 0, 0}, {forward, 0, 1}, {input_grad, 0, 1},
                                     {weight_grad, 0, 0}, {weight_grad, 0, 1}}});
  const Timeline t = timeline_of(order, equal_times(1, 1, 1, 1));
  EXPECT_EQ(t.peak_freed_at_input_grad[0], 1);
  EXPECT_EQ(t.peak_pending_weight_grads[0], 2);
  const Timeline fused = timeline_of(order_of("1f1b", {.ranks = 3, .micro_batches = 5}), equal_times(3, 1, 1, 1));
  EXPECT_EQ(fused.peak_freed_at_input_grad, fused.peak_in_flight);
  EXPECT_EQ(fused.peak_pending_weight_grads, (std::vector<std::int32_t>{0, 0, 0}));
}

// A pair frees nothing before it ends: F0, then B0 with F1 holds two, whichever is written first.
TEST(InFlight, APairHoldsBothOfItsMicroBatches) {
  for (const bool backward_first : {false, true}) {
    std::vector<Action> actions = {{forward, 0, 0}, {forward, 0, 1, true}, {backward, 0, 0}, {backward, 0, 1}};
    if (backward_first) actions = {{forward, 0, 0}, {backward, 0, 0, true}, {forward, 0, 1}, {backward, 0, 1}};
    const Order order = written(2, {actions});
    const Timeline t = timeline_of(order, equal_times(1, 1, 1, 1));
    EXPECT_EQ(t.peak_in_flight[0], 2);
    EXPECT_EQ(t.peak_in_flight_stage[0], 2);
    EXPECT_EQ(peak_weighted(order, std::vector<double>{8})[0], 16);
  }
}

TEST(InFlight, DualPipeHoldsOneMoreThanItsRanks) {
  for (const int p : {2, 4, 6, 8}) {
    const Timeline t =
        timeline_of(order_of("dualpipe", {.ranks = p, .micro_batches = 2 * p + 2}), equal_times(2 * p, 1, 1, 1));
    EXPECT_EQ(t.peak_in_flight, std::vector<std::int32_t>(static_cast<std::size_t>(p), p + 1)) << p;
  }
}

// One rank, two stages: three micro-batches on the small stage (3 x 1) against one on the large one (1 x 10).
TEST(InFlight, WeightedPeakNeedNotBeThePeakCount) {
  Order order = written(3,
      {{{forward, 0, 0}, {forward, 1, 0}, {backward, 1, 0}, {forward, 0, 1}, {forward, 0, 2}, {backward, 0, 0},
          {forward, 1, 1}, {backward, 1, 1}, {forward, 1, 2}, {backward, 1, 2}, {backward, 0, 1}, {backward, 0, 2}}});
  order.chunks = 2;
  order.rank_of = {0, 0};
  ASSERT_TRUE(check_order(order));
  const Timeline t = timeline_of(order, equal_times(2, 1, 1, 1));
  EXPECT_EQ(t.peak_in_flight[0], 3);
  EXPECT_EQ(t.peak_in_flight_stage, (std::vector<std::int32_t>{3, 0}));
  EXPECT_EQ(peak_weighted(order, t, std::vector<double>{1, 10}), std::vector<double>{12});
  EXPECT_EQ(peak_weighted(order, t, std::vector<double>{1, 0}), std::vector<double>{3});
}

TEST(InFlight, EqualWeightsGiveThePeakCount) {
  const Order order = order_of("interleaved-1f1b", {.ranks = 4, .chunks = 2, .micro_batches = 8});
  const Timeline t = timeline_of(order, equal_times(8, 1, 1, 1));
  const auto peaks = peak_weighted(order, std::vector<double>(8, 1e9));
  for (int r = 0; r < 4; ++r) EXPECT_DOUBLE_EQ(peaks[r], 1e9 * t.peak_in_flight[r]);
}

}  // namespace
}  // namespace stepcast::sim::in_flight_test
