// Published figures of the schedules: bubble rates, excess times, activations held.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/schedule/schedule_kind.h"
#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::orders_published_test {
namespace {

using pipelines::equal_times;
using pipelines::order_of;
using pipelines::timeline_of;

Timeline timeline_with(const std::string& id, const ScheduleSize& size, double f, double i, double w, double c = 0) {
  const Order order = order_of(id, size);
  return timeline_of(order, equal_times(order.stages(), f, i, w, c));
}

/// Qi et al., arXiv 2401.10241: profiled times in ms (Table 6) and bubble rates (Table 5).
struct ZeroBubbleRow {
  int p, m;
  double f, i, w, c;
  double rate_1f1b, rate_h1, rate_h2;
};
constexpr ZeroBubbleRow zero_bubble_table[] = {
    {8, 24, 18.522, 18.086, 9.337, 0.601, 0.2431, 0.1585, 0.1083},
    {8, 32, 18.513, 18.086, 9.331, 0.626, 0.1985, 0.1242, 0.0837},
    {8, 64, 18.546, 18.097, 9.321, 0.762, 0.1240, 0.0674, 0.0444},
    {8, 24, 29.718, 29.444, 19.927, 0.527, 0.2347, 0.1323, 0.0698},
    {8, 32, 29.802, 29.428, 19.530, 0.577, 0.1898, 0.1045, 0.0559},
    {8, 64, 29.935, 29.621, 19.388, 0.535, 0.1091, 0.0554, 0.0294},
    {16, 48, 11.347, 11.248, 8.132, 0.377, 0.2552, 0.1397, 0.0672},
    {16, 64, 11.307, 11.254, 8.101, 0.379, 0.2082, 0.1088, 0.0516},
    {16, 128, 11.325, 11.308, 8.109, 0.378, 0.1251, 0.0576, 0.0266},
    {32, 96, 10.419, 10.207, 7.715, 0.408, 0.2646, 0.1421, 0.0641},
    {32, 128, 10.408, 10.204, 7.703, 0.408, 0.2168, 0.1106, 0.0490},
    {32, 256, 10.402, 10.248, 7.698, 0.460, 0.1352, 0.0594, 0.0257},
};

/// The paper's rate: the share of the longest rank's own time in which it does not work.
TEST(Published, ZeroBubbleTable5ToFourDigits) {
  for (const ZeroBubbleRow& row : zero_bubble_table) {
    const ScheduleSize size{.ranks = row.p, .micro_batches = row.m};
    const auto rate = [&](const char* id) {
      return fmt::format("{:.4f}", timeline_with(id, size, row.f, row.i, row.w, row.c).bubble_fraction_span());
    };
    EXPECT_EQ(rate("1f1b"), fmt::format("{:.4f}", row.rate_1f1b)) << row.p << " " << row.m;
    EXPECT_EQ(rate("zb-h1"), fmt::format("{:.4f}", row.rate_h1)) << row.p << " " << row.m;
    EXPECT_EQ(rate("zb-h2"), fmt::format("{:.4f}", row.rate_h2)) << row.p << " " << row.m;
  }
}

std::int32_t largest(const std::vector<std::int32_t>& values) {
  return *std::max_element(values.begin(), values.end());
}

/// sail-sg/zero-bubble, zbv_greedy.py at unit times: chunk times beyond the work of a rank, the same for all m.
TEST(Published, VHalfAndVMinAtUnitTimes) {
  struct Row {
    int p;
    double half, min;
  };
  for (const Row& row : {Row{4, 5, 11}, Row{6, 11, 17}, Row{8, 17, 27}}) {
    for (const int m : {2 * row.p, 3 * row.p, 4 * row.p + 1}) {
      const ScheduleSize size{.ranks = row.p, .micro_batches = m};
      const Timeline half = timeline_with("v-half", size, 1, 1, 1), min = timeline_with("v-min", size, 1, 1, 1);
      EXPECT_EQ(half.span - Seconds(6.0 * m), Seconds(row.half)) << row.p << " " << m;
      EXPECT_EQ(min.span - Seconds(6.0 * m), Seconds(row.min)) << row.p << " " << m;
      EXPECT_EQ(largest(half.peak_in_flight), (row.p + 2) / 2 * 2);
      EXPECT_EQ(largest(min.peak_in_flight), (row.p + 4) / 3 * 2);
    }
  }
}

/// ZB-V: no idle time once a rank has begun, at the memory of 1F1B: p stages, that is 2p chunks.
TEST(Published, ZbVHasNoBubbleAtUnitTimes) {
  for (int p = 2; p <= 8; ++p) {
    const Timeline t = timeline_with("zb-v", {.ranks = p, .micro_batches = 2 * p}, 1, 1, 1);
    EXPECT_DOUBLE_EQ(t.bubble_fraction_span(), 0);
    EXPECT_EQ(t.peak_in_flight, std::vector<std::int32_t>(static_cast<std::size_t>(p), 2 * p));
  }
}

/// Idle time of the timetable of github.com/Shigangli/Chimera where backward takes two forwards: it grows with m.
TEST(Published, ChimeraGrowsBubblesWhereBackwardIsLonger) {
  struct Row {
    int p, m;
    double idle;
  };
  for (const Row& row : {Row{4, 4, 4}, Row{4, 8, 6}, Row{4, 16, 10}, Row{8, 8, 12}, Row{8, 16, 18}}) {
    const Timeline t = timeline_with("chimera", {.ranks = row.p, .micro_batches = row.m}, 1, 1, 1);
    EXPECT_EQ(t.makespan, Seconds(3.0 * row.m + row.idle)) << row.p << " " << row.m;
  }
  const Timeline t = timeline_with("chimera", {.ranks = 8, .micro_batches = 16}, 1, 1, 1);
  EXPECT_EQ(t.peak_in_flight, (std::vector<std::int32_t>{5, 6, 7, 8, 8, 7, 6, 5}));
}

/// DeepSeek-V3's formula is not exact for unequal times: p=4, m=8, (10, 12, 7) is 259 by it.
TEST(Published, DualPipeAtUnequalTimes) {
  const Timeline t = timeline_with("dualpipe", {.ranks = 4, .micro_batches = 8}, 10, 12, 7);
  EXPECT_EQ(t.makespan, Seconds(257));
  EXPECT_EQ(t.peak_in_flight, (std::vector<std::int32_t>{5, 5, 5, 5}));
}

/// 1F1B's hops add 2(p-1)c for every p micro-batches, eager 1F1B's only once.
TEST(Published, EagerHidesHops) {
  const ScheduleSize size{.ranks = 4, .micro_batches = 16};
  EXPECT_EQ(timeline_with("1f1b", size, 1, 1, 1, 0.5).makespan, Seconds(57 + 0.5 * (6 * 4 + 4)));
  EXPECT_EQ(timeline_with("eager-1f1b", size, 1, 1, 1, 0.5).makespan, Seconds(57 + 0.5 * 6));
}

/// Groups of half the ranks hold about half the activations of interleaved 1F1B.
TEST(Published, GroupedInterleavingHoldsLess) {
  const ScheduleSize size{.ranks = 8, .chunks = 2, .micro_batches = 32};
  const Timeline grouped = timeline_with("gis", size, 1, 1, 1),
                 whole = timeline_with("interleaved-1f1b", size, 1, 1, 1);
  EXPECT_LE(2 * largest(grouped.peak_in_flight), largest(whole.peak_in_flight) + 2);
}

}  // namespace
}  // namespace stepcast::sim::orders_published_test
