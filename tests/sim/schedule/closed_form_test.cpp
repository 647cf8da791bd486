#include "sim/schedule/closed_form.h"

#include <gtest/gtest.h>

#include "pipelines.h"

namespace stepcast::closed_form_test {
namespace {

using pipelines::equal_times;
using pipelines::order_of;
using pipelines::timeline_of;

struct Times {
  double f, i, w;
};
constexpr Times all_times[] = {{1, 1, 1}, {10, 12, 7}, {2, 1, 3}, {1, 0.5, 0.25}};

/// Runs every legal size of a kind with p 1..8, m to 64 and returns how many agreed; a difference fails.
int compare(const std::string& id, const std::vector<int>& chunks, const std::vector<int>& groups,
            const std::vector<double>& hops, bool blocking) {
  int agreed = 0;
  EngineWorkspace workspace;
  Timeline timeline;
  for (int p = 1; p <= 8; ++p)
    for (const int v : chunks)
      for (const int group : groups)
        for (int m = 1; m <= 64; m += m < 20 ? 1 : 11) {
          const ScheduleSize size{p, v, m, group};
          const auto order = make_order(id, size);
          if (!order) continue;
          for (const double c : hops)
            for (const Times& t : all_times) {
              const StageTimes times = equal_times(p * v, t.f, t.i, t.w, c, blocking);
              const auto formula = closed_form_makespan(id, size, times);
              EXPECT_TRUE(formula);
              EXPECT_TRUE(run(*order, times, timeline, workspace));
              EXPECT_NEAR(timeline.makespan.value(), formula->value(), 1e-9 * formula->value())
                  << id << " p=" << p << " v=" << v << " m=" << m << " g=" << group << " c=" << c << " f=" << t.f
                  << " blocking=" << blocking;
              if (testing::Test::HasFailure()) return agreed;
              ++agreed;
            }
        }
  return agreed;
}

const std::vector<double> some_hops = {0, 0.1, 0.75, 3, 50};

// (4 + 4 - 1) x (1 + 2) = 21 and, four chunks' worth shared by two: (8 + 3) x (0.5 + 1) = 16.5.
TEST(ClosedForm, ByHand) {
  EXPECT_EQ(closed_form_makespan("1f1b", {.ranks = 4, .micro_batches = 4}, equal_times(4, 1, 1, 1)), Seconds(21));
  EXPECT_EQ(closed_form_makespan("interleaved-1f1b", {.ranks = 4, .chunks = 2, .micro_batches = 4},
                                 equal_times(8, 0.5, 0.5, 0.5)),
            Seconds(16.5));
}

TEST(ClosedForm, GpipeEqualsTheEngine) {
  EXPECT_GT(compare("gpipe", {1}, {0}, some_hops, false), 3000);
  EXPECT_GT(compare("gpipe", {1}, {0}, some_hops, true), 3000);
}

TEST(ClosedForm, OneFOneBEqualsTheEngineWithOverlappedHops) {
  EXPECT_GT(compare("1f1b", {1}, {0}, some_hops, false), 3000);
}

TEST(ClosedForm, OneFOneBEqualsTheEngineWithBlockingHops) {
  EXPECT_GT(compare("1f1b", {1}, {0}, some_hops, true), 3000);
}

TEST(ClosedForm, InterleavedEqualsTheEngineForEveryGroup) {
  EXPECT_GT(compare("interleaved-1f1b", {2, 3, 4}, {0, 4, 5, 8, 12, 16}, {0}, false), 3000);
}

// Blocking p=3, m=8, f=1, b=2, c=0.25 by the steady state: 10 x 3 + 0.25 x (2 x 11 - 5) = 34.25;
// a hop of 1.5 is longer than f by 0.5: 10 x 3 + 1.5 x 17 + 0.5 = 56.
TEST(ClosedForm, BlockingByHand) {
  EXPECT_EQ(closed_form_makespan("1f1b", {.ranks = 3, .micro_batches = 8}, equal_times(3, 1, 1, 1, 0.25, true)),
            Seconds(34.25));
  EXPECT_EQ(closed_form_makespan("1f1b", {.ranks = 3, .micro_batches = 8}, equal_times(3, 1, 1, 1, 1.5, true)),
            Seconds(56));
}

TEST(ClosedForm, NothingWhereNoFormulaIsExact) {
  StageTimes uneven = equal_times(4, 1, 1, 1);
  uneven.forward[3] = Seconds(2);
  EXPECT_FALSE(closed_form_makespan("1f1b", {.ranks = 4, .micro_batches = 8}, uneven));
  StageTimes one_way = equal_times(4, 1, 1, 1, 1);
  one_way.hop_backward.clear();
  EXPECT_FALSE(closed_form_makespan("1f1b", {.ranks = 4, .micro_batches = 8}, one_way));
  EXPECT_FALSE(closed_form_makespan("interleaved-1f1b", {.ranks = 2, .chunks = 2, .micro_batches = 2},
                                    equal_times(4, 1, 1, 1, 1)));
  EXPECT_FALSE(closed_form_makespan("unheard-of", {.ranks = 4, .micro_batches = 8}, equal_times(4, 1, 1, 1)));
}

}  // namespace
}  // namespace stepcast::closed_form_test
