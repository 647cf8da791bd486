#include "sim/schedule/search/greedy.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim {
namespace {

OrderTimes same_times(int stages, double f, double i, double w, double hop = 0, double cap = 0) {
  const auto count = static_cast<std::size_t>(stages);
  // clang-format off
  return {.forward = std::vector<double>(count, f), .input_grad = std::vector<double>(count, i),
          .weight_grad = std::vector<double>(count, w), .hop = hop, .memory_cap = cap};
  // clang-format on
}

Timeline greedy_run(const std::string& id, const ScheduleSize& size, const OrderTimes& times) {
  const auto order = make_order(id, size, times);
  if (!order) ADD_FAILURE() << to_text(order.error());
  EXPECT_TRUE(check_order(*order));
  StageTimes stages = pipelines::equal_times(order->stages(), 1, 1, 1, times.hop);
  for (std::size_t s = 0; s < times.forward.size(); ++s) {
    stages.forward[s] = Seconds(times.forward[s]);
    stages.input_grad[s] = Seconds(times.input_grad[s]);
    stages.weight_grad[s] = Seconds(times.weight_grad[s]);
  }
  return pipelines::timeline_of(*order, stages);
}

int peak_of(const Timeline& timeline) {
  return *std::max_element(timeline.peak_in_flight.begin(), timeline.peak_in_flight.end());
}

// 4 ranks, 8 units of 3: no idle between a rank's first start and last end, which rank 3 begins after 3 forwards.
TEST(Greedy, Zb2pHasNoBubbleAtUnitTimes) {
  const Timeline timeline = greedy_run("zb-2p", {.ranks = 4, .micro_batches = 8}, same_times(4, 1, 1, 1));
  EXPECT_DOUBLE_EQ(timeline.span.value(), 24);
  EXPECT_DOUBLE_EQ(timeline.makespan.value(), 27);
  EXPECT_DOUBLE_EQ(timeline.bubble_fraction_span(), 0);
}

// Chunks of half the work: rank 3 starts after 3 halves.
TEST(Greedy, ZbVAutoHasNoBubbleWithTheMemoryOf1f1b) {
  const Timeline timeline = greedy_run("zb-v-auto", {.ranks = 4, .micro_batches = 8}, same_times(8, 0.5, 0.5, 0.5));
  EXPECT_DOUBLE_EQ(timeline.span.value(), 24);
  EXPECT_DOUBLE_EQ(timeline.makespan.value(), 25.5);
  EXPECT_EQ(peak_of(timeline), 8);
}

/// Zero Bubble Pipeline Parallelism (Qi et al., arXiv 2401.10241): times of Table 6 in ms, bubble rates of Table 5.
struct PublishedRates {
  int ranks, micro_batches;
  double f, i, w, hop, zb_1p, zb_2p;
};
// clang-format off
constexpr PublishedRates published[] = {
    {8, 24, 18.522, 18.086, 9.337, 0.601, 0.1585, 0.0433},  {8, 32, 18.513, 18.086, 9.331, 0.626, 0.1242, 0.0039},
    {8, 64, 18.546, 18.097, 9.321, 0.762, 0.0674, 0.0026},  {8, 24, 29.718, 29.444, 19.927, 0.527, 0.1323, 0.0029},
    {8, 32, 29.802, 29.428, 19.53, 0.577, 0.1045, 0.0022},  {8, 64, 29.935, 29.621, 19.388, 0.535, 0.0554, 0.0010},
    {16, 48, 11.347, 11.248, 8.132, 0.377, 0.1397, 0.0066}, {16, 64, 11.307, 11.254, 8.101, 0.379, 0.1088, 0.0054},
    {16, 128, 11.325, 11.308, 8.109, 0.378, 0.0576, 0.0028}, {32, 96, 10.419, 10.207, 7.715, 0.408, 0.1421, 0.0038},
    {32, 128, 10.408, 10.204, 7.703, 0.408, 0.1106, 0.0029}, {32, 256, 10.402, 10.248, 7.698, 0.46, 0.0594, 0.0018},
};
// clang-format on

TEST(Greedy, BubbleRatesNoWorseThanPublished) {
  constexpr double printed = 0.5e-4;  // four digits
  for (const PublishedRates& row : published) {
    const ScheduleSize size{.ranks = row.ranks, .micro_batches = row.micro_batches};
    const OrderTimes times = same_times(row.ranks, row.f, row.i, row.w, row.hop);
    const Timeline one = greedy_run("zb-1p", size, times), two = greedy_run("zb-2p", size, times);
    EXPECT_LE(one.bubble_fraction_span(), row.zb_1p + printed) << row.ranks << ' ' << row.micro_batches;
    EXPECT_LE(two.bubble_fraction_span(), row.zb_2p + printed) << row.ranks << ' ' << row.micro_batches;
  }
}

/// Makespans of the authors' own schedulers (github.com/sail-sg/zero-bubble, zb.py with max_mem p and 2p, zbv.py with
/// 2p chunks), run on equal stages without hops.
struct PublicMakespans {
  int ranks, micro_batches;
  double f, i, w, zb_1p, zb_2p, zb_v;
};
// clang-format off
constexpr PublicMakespans public_makespans[] = {
    {4, 8, 10, 12, 7, 277, 262, 250},        {4, 16, 2, 1, 3, 102, 102, 99},
    {8, 16, 1, 1, 1, 55, 55, 51.5},          {8, 16, 10, 12, 7, 569, 534, 506},
    {8, 64, 2, 1, 3, 398, 398, 391},         {16, 32, 10, 12, 7, 1153, 1078, 1020.5},
    {16, 64, 10, 12, 7, 2081, 2006, 1948.5}, {16, 128, 10, 12, 7, 3937, 3862, 3804.5},
};
// clang-format on

TEST(Greedy, MakespansNoLongerThanThePublicSchedulers) {
  for (const PublicMakespans& row : public_makespans) {
    const ScheduleSize size{.ranks = row.ranks, .micro_batches = row.micro_batches};
    const OrderTimes plain = same_times(row.ranks, row.f, row.i, row.w);
    const OrderTimes halves = same_times(2 * row.ranks, row.f / 2, row.i / 2, row.w / 2);
    EXPECT_LE(greedy_run("zb-1p", size, plain).makespan.value(), row.zb_1p + 1e-9);
    EXPECT_LE(greedy_run("zb-2p", size, plain).makespan.value(), row.zb_2p + 1e-9);
    EXPECT_LE(greedy_run("zb-v-auto", size, halves).makespan.value(), row.zb_v + 1e-9);
  }
}

TEST(Greedy, KeepsTheCap) {
  for (const int cap : {1, 2, 3, 5, 8}) {
    const OrderTimes times = same_times(4, 10, 12, 7, 1, cap);
    EXPECT_LE(peak_of(greedy_run("zb-auto", {.ranks = 4, .micro_batches = 9}, times)), cap);
  }
  for (const int cap : {2, 3, 4, 6, 8, 40}) {
    const OrderTimes times = same_times(8, 5, 6, 3.5, 1, cap);
    EXPECT_LE(peak_of(greedy_run("zb-v-auto", {.ranks = 4, .micro_batches = 9}, times)), cap);
  }
  // Counted as its authors do: an input gradient frees half, so that up to twice as many wait for W alone.
  EXPECT_LE(peak_of(greedy_run("zb-1p", {.ranks = 4, .micro_batches = 12}, same_times(4, 10, 12, 7))), 4);
  EXPECT_LE(peak_of(greedy_run("zb-2p", {.ranks = 4, .micro_batches = 16}, same_times(4, 10, 12, 7))), 16);
}

TEST(Greedy, MoreMemoryIsNoLonger) {
  double before = 1e300;
  for (const int cap : {1, 2, 4, 8, 16}) {
    const OrderTimes times = same_times(4, 10, 12, 7, 0, cap);
    const Timeline timeline = greedy_run("zb-auto", {.ranks = 4, .micro_batches = 16}, times);
    EXPECT_LE(timeline.makespan.value(), before);
    before = timeline.makespan.value();
  }
}

TEST(Greedy, SmallAndUnequalPipelinesAreWholeSteps) {
  for (const char* id : {"zb-1p", "zb-2p", "zb-auto", "zb-v-auto"}) {
    const int chunks = std::string(id) == "zb-v-auto" ? 2 : 1;
    for (int ranks = 1; ranks <= 5; ++ranks) {
      for (int units = 1; units <= 7; ++units) {
        OrderTimes times = same_times(ranks * chunks, 1, 1, 1, units % 2);
        for (int s = 0; s < ranks * chunks; ++s) {
          times.forward[s] = 1 + (s * 5 + units) % 4;
          times.input_grad[s] = 1 + (s * 3 + units) % 5;
          times.weight_grad[s] = (s + 2 * units) % 3;
        }
        EXPECT_GT(greedy_run(id, {.ranks = ranks, .micro_batches = units}, times).makespan.value(), 0);
      }
    }
  }
}

TEST(Greedy, RefusesTimesAndCapsThatDoNotFit) {
  const ScheduleSize size{.ranks = 4, .micro_batches = 8};
  EXPECT_EQ(make_order("zb-2p", size, same_times(3, 1, 1, 1)).error().where, "times");
  EXPECT_EQ(make_order("zb-v-auto", size, same_times(4, 1, 1, 1)).error().where, "times");
  EXPECT_EQ(make_order("zb-v-auto", size, same_times(8, 1, 1, 1, 0, 1)).error().hint, "2 or more");
  EXPECT_EQ(make_order("zb-auto", size, same_times(4, 1, 1, 1, 0, 0.5)).error().where, "memory-cap");
}

}  // namespace
}  // namespace stepcast::sim
