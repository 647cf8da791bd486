#include "sim/schedule/bound/bound.h"

#include <random>

#include <gtest/gtest.h>

#include "sim/schedule/schedule_table.h"
#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim {
namespace {

using pipelines::equal_times;
using pipelines::order_of;
using pipelines::timeline_of;

BoundProblem plain_problem(int ranks, int units, double cap) {
  // clang-format off
  BoundProblem problem{.ranks = ranks, .stages = ranks, .units = units, .directions = 1, .rank_of = {},
                       .memory_cap = std::vector<double>(static_cast<std::size_t>(ranks), cap)};
  // clang-format on
  for (int r = 0; r < ranks; ++r) problem.rank_of.push_back(r);
  return problem;
}

// One unit passes 4 stages ahead and back, and leaves the first stage's weight gradient for the end: 4*1 + 4*2 + 3.
TEST(LowerBound, OneUnitTakesItsWay) {
  const auto bound = lower_bound(plain_problem(4, 1, 0), equal_times(4, 1, 2, 3));
  EXPECT_DOUBLE_EQ(bound.makespan.value(), 15);
}

// The last of 4 ranks starts after 3 forwards, then has 8 units of 3 to do.
TEST(LowerBound, TheLastRankStartsLate) {
  const auto bound = lower_bound(plain_problem(4, 8, 0), equal_times(4, 1, 1, 1));
  EXPECT_DOUBLE_EQ(bound.makespan.value(), 3 + 24);
  EXPECT_DOUBLE_EQ(bound.span.value(), 24);
}

// With room for one unit, rank 0 of 4 waits for each to come back: 4*1 + 4*1 + 1 = 9 for each of 5.
TEST(LowerBound, RoomForOneUnitRunsThemOneByOne) {
  const auto bound = lower_bound(plain_problem(4, 5, 1), equal_times(4, 1, 1, 1));
  EXPECT_DOUBLE_EQ(bound.makespan.value(), 5 * 9);
}

// ZB-H1 holds p units, and with W <= F, I its m(f+b+w) + (p-1)(f+b-w) is the least there is under that cap.
TEST(LowerBound, ZbH1IsTheBestWithTheMemoryOf1f1b) {
  for (const int ranks : {2, 4, 8}) {
    const ScheduleSize size{.ranks = ranks, .micro_batches = 3 * ranks};
    const StageTimes times = equal_times(ranks, 10, 12, 7);
    const Timeline timeline = timeline_of(order_of("zb-h1", size), times);
    EXPECT_DOUBLE_EQ(
        lower_bound(plain_problem(ranks, 3 * ranks, ranks), times).makespan.value(), timeline.makespan.value());
  }
}

struct Drawn {
  Order order;
  StageTimes times;
};

/// Any kind, size and times; slow ranks, single durations, pairs that gain or lose, and blocking hops now and then.
class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int up_to(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most + 1)); }

  std::optional<Drawn> any() {
    const auto kinds = schedule_kinds();
    const ScheduleKind& kind = kinds[random_() % kinds.size()];
    const ScheduleSize size{.ranks = 1 + up_to(6),
        .chunks = kind.takes_chunks ? 1 + up_to(2) : 1,
        .micro_batches = 1 + up_to(18),
        .slices = kind.takes_slices ? 1 + up_to(2) : 1};
    if (!check_size(kind, size)) return {};
    auto order = make_order(kind.id, size);
    if (!order) return {};
    return Drawn{*order, times_for(*order)};
  }

 private:
  std::vector<Seconds> some(std::size_t count, int least) {
    std::vector<Seconds> values;
    const bool equal = up_to(1) == 0;
    while (values.size() < count) values.push_back(equal && !values.empty() ? values[0] : Seconds(least + up_to(8)));
    return values;
  }

  StageTimes times_for(const Order& order) {
    const auto stages = static_cast<std::size_t>(order.stages());
    // clang-format off
    StageTimes times{.forward = some(stages, 1), .input_grad = some(stages, 1), .weight_grad = some(stages, 0),
                     .hop_forward = some(stages - 1, 0), .hop_backward = some(stages - 1, 0),
                     .blocking_hops = up_to(3) == 0, .forward_each = {}, .input_grad_each = {},
                     .weight_grad_each = {}, .rank_slowdown = {}};
    // clang-format on
    if (up_to(3) == 0) times.pair_factor = 0.5 + 0.1 * up_to(10);
    for (int r = 0; times.rank_slowdown.size() < static_cast<std::size_t>(order.ranks) && r % 2 == 0; r += 2) {
      times.rank_slowdown.push_back(1 + 0.1 * up_to(5));
    }
    if (up_to(3) == 0) {
      for (int i = 0; i < order.stages() * order.units(); ++i) times.input_grad_each.push_back(1 + up_to(8));
    }
    return times;
  }

  std::mt19937 random_;
};

TEST(LowerBound, NoOrderOfAnyKindIsBelow) {
  Draw draw(3);
  int checked = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto drawn = draw.any();
    if (!drawn) continue;
    const Timeline timeline = timeline_of(drawn->order, drawn->times);
    for (const auto& problem : {bound_problem(drawn->order), bound_problem(drawn->order, timeline)}) {
      const LowerBound bound = lower_bound(problem, drawn->times);
      EXPECT_LE(bound.makespan.value(), timeline.makespan.value() * (1 + 1e-9));
      EXPECT_LE(bound.span.value(), timeline.span.value() * (1 + 1e-9));
      EXPECT_GT(bound.makespan.value(), 0);
      ++checked;
    }
  }
  EXPECT_GT(checked, 2000);
}

// Orders of no kind: on every rank of a V any order in which F comes before I before W and units keep their turn.
TEST(LowerBound, NoRandomOrderIsBelow) {
  std::mt19937 random(11);
  int ran = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const int ranks = 1 + static_cast<int>(random() % 3), units = 1 + static_cast<int>(random() % 4);
    Order order = order_of("zb-v", {.ranks = ranks, .micro_batches = units});
    for (int r = 0; r < ranks; ++r) {
      const auto begin = order.actions.begin() + order.begin[r], end = order.actions.begin() + order.begin[r + 1];
      for (int swap = 0; swap < 12; ++swap) {
        auto at = begin + static_cast<std::ptrdiff_t>(random() % static_cast<unsigned>(end - begin - 1));
        if (at->stage != (at + 1)->stage || at->micro_batch != (at + 1)->micro_batch) std::swap(*at, *(at + 1));
      }
    }
    if (!check_order(order)) continue;
    StageTimes times = equal_times(2 * ranks, 1, 1, 1, static_cast<double>(random() % 3));
    for (auto* list : {&times.forward, &times.input_grad, &times.weight_grad}) {
      for (Seconds& time : *list) time = Seconds(1 + static_cast<double>(random() % 5));
    }
    const auto timeline = run(order, times);
    if (!timeline) continue;
    ++ran;
    const LowerBound bound = lower_bound(bound_problem(order, *timeline), times);
    EXPECT_LE(bound.makespan.value(), timeline->makespan.value() + 1e-9);
    EXPECT_LE(bound.span.value(), timeline->span.value() + 1e-9);
  }
  EXPECT_GT(ran, 500);
}

}  // namespace
}  // namespace stepcast::sim
