#include "sim/schedule/search/auto.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/sim/schedule/every_order.h"
#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim {
namespace {

OrderTimes alike(int stages, double f, double i, double w, double cap = 0, double hop = 0) {
  const auto count = static_cast<std::size_t>(stages);
  return {.forward = std::vector<double>(count, f),
      .input_grad = std::vector<double>(count, i),
      .weight_grad = std::vector<double>(count, w),
      .hop = hop,
      .memory_cap = cap};
}

AutoOrder found(const ScheduleSize& size, const OrderTimes& times, const AutoOptions& options = {}) {
  auto order = find_order(size, times, options);
  if (!order) ADD_FAILURE() << to_text(order.error());
  return order.value();
}

// Two ranks and three units have few enough orders to try all.
TEST(AutoOrder, TinyPipelinesGetTheOptimumAndTheBoundIsIt) {
  for (const auto& [f, i, w] : {std::array{1.0, 1.0, 1.0}, std::array{10.0, 12.0, 7.0}, std::array{2.0, 1.0, 3.0}}) {
    for (const int cap : {1, 2, 3}) {
      const auto best = every_order::of_two_ranks(3, cap, pipelines::equal_times(2, f, i, w));
      const AutoOrder order = found({.ranks = 2, .micro_batches = 3}, alike(2, f, i, w, cap));
      EXPECT_DOUBLE_EQ(order.makespan.value(), best.makespan) << f << ' ' << cap;
      EXPECT_LE(order.bound.makespan.value(), best.makespan + 1e-9) << f << ' ' << cap;
      EXPECT_LE(order.bound.span.value(), best.span + 1e-9) << f << ' ' << cap;
      EXPECT_TRUE(f != 1 || order.bound.makespan.value() > best.makespan - 1e-9) << cap;
    }
  }
}

TEST(AutoOrder, KeepsTheCapAndReportsItsRun) {
  for (const int cap : {2, 4, 6, 16}) {
    const OrderTimes times = alike(8, 5, 6, 3.5, cap);
    const AutoOrder order = found({.ranks = 4, .micro_batches = 8}, times, {.effort = 200'000});
    ASSERT_TRUE(check_order(order.order));
    const Timeline timeline = pipelines::timeline_of(order.order, pipelines::equal_times(8, 5, 6, 3.5));
    EXPECT_LE(*std::max_element(timeline.peak_in_flight.begin(), timeline.peak_in_flight.end()), cap);
    EXPECT_NEAR(timeline.makespan.value(), order.makespan.value(), 1e-9);
    EXPECT_NEAR(timeline.span.value(), order.span.value(), 1e-9);
    EXPECT_GE(order.gap(), -1e-12);
  }
}

TEST(AutoOrder, TheSameTwice) {
  const OrderTimes times = alike(8, 5, 6, 3.5, 4);
  const ScheduleSize size{.ranks = 4, .micro_batches = 12};
  const AutoOrder a = found(size, times), b = found(size, times);
  EXPECT_EQ(a.order.actions, b.order.actions);
}

TEST(AutoOrder, RefusesWhatCannotPass) {
  const ScheduleSize size{.ranks = 4, .micro_batches = 8};
  EXPECT_EQ(find_order(size, alike(8, 1, 1, 1, 1)).error().where, "memory-cap");
  EXPECT_EQ(find_order(size, alike(5, 1, 1, 1)).error().where, "times");
  OrderTimes uneven = alike(4, 1, 1, 1);
  uneven.weight_grad.pop_back();
  EXPECT_FALSE(find_order(size, uneven));
}

/// Mean gap of makespans to the bound at an order's own memory.
struct Gaps {
  double sum = 0, worst = 0;
  int count = 0;
  void add(const Order& order, const StageTimes& times) {
    const Timeline timeline = pipelines::timeline_of(order, times);
    const double bound = lower_bound(bound_problem(order, timeline), times).makespan.value();
    const double gap = timeline.makespan.value() / bound - 1;
    EXPECT_GE(gap, -1e-9);
    sum += gap;
    worst = std::max(worst, gap);
    ++count;
  }
  [[nodiscard]] double mean() const { return sum / count; }
};

/// p 4, 8, 16; m 2p, 4p, 8p; three triples of times.
template <typename Visit> void over_the_grid(Visit visit) {
  for (const int p : {4, 8, 16}) {
    for (const int m : {2 * p, 4 * p, 8 * p}) {
      for (const auto& t : {std::array{1.0, 1.0, 1.0}, std::array{10.0, 12.0, 7.0}, std::array{2.0, 1.0, 3.0}}) {
        visit(p, m, t);
      }
    }
  }
}

Gaps gaps_of(const std::string& id, int chunks) {
  Gaps gaps;
  over_the_grid([&](int p, int m, const std::array<double, 3>& t) {
    const int stages = chunks * p;
    const OrderTimes times = alike(stages, t[0] / chunks, t[1] / chunks, t[2] / chunks);
    const auto order = make_order(id, {.ranks = p, .micro_batches = m}, times);
    ASSERT_TRUE(order) << to_text(order.error());
    ASSERT_TRUE(check_order(*order));
    gaps.add(*order, pipelines::equal_times(stages, t[0] / chunks, t[1] / chunks, t[2] / chunks));
  });
  fmt::print("{:<14} mean gap {:.3f} %, worst {:.2f} %\n", id, 100 * gaps.mean(), 100 * gaps.worst);
  return gaps;
}

TEST(AutoOrder, GreedyKindsAreNearTheBound) {
  EXPECT_LE(gaps_of("zb-1p", 1).mean(), 0.015);
  EXPECT_LE(gaps_of("zb-2p", 1).mean(), 0.003);
  EXPECT_LE(gaps_of("zb-v-auto", 2).mean(), 0.003);
}

// V-Min's memory: floor((p+4)/3) micro-batches, that is twice as many chunks.
TEST(AutoOrder, TightMemoryIsTenPercentFromTheBound) {
  Gaps gaps;
  over_the_grid([&](int p, int m, const std::array<double, 3>& t) {
    const OrderTimes times = alike(2 * p, t[0] / 2, t[1] / 2, t[2] / 2, 2 * ((p + 4) / 3));
    const AutoOrder order = found({.ranks = p, .micro_batches = m}, times, {.effort = 2'000'000});
    gaps.add(order.order, pipelines::equal_times(2 * p, t[0] / 2, t[1] / 2, t[2] / 2));
  });
  fmt::print("{:<14} mean gap {:.3f} %, worst {:.2f} %\n", "V-Min's memory", 100 * gaps.mean(), 100 * gaps.worst);
  EXPECT_LE(gaps.mean(), 0.10);
}

}  // namespace
}  // namespace stepcast::sim
