#include "tests/sim/schedule/bound/closed_form.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::closed_form_test {
namespace {

using pipelines::equal_times;

struct Times {
  double f, i, w;
};
constexpr Times all_times[] = {{1, 1, 1}, {10, 12, 7}, {2, 1, 3}, {1, 0.5, 0.25}};

/// What is varied besides p 1..8 and m to 64.
struct Grid {
  std::vector<int> chunks = {1}, groups = {0}, slices = {1};
  std::vector<double> hops = {0};
  std::vector<Times> times = {std::begin(all_times), std::end(all_times)};
  bool blocking = false;
};

std::string name_of(const std::string& id, const ScheduleSize& size) {
  return fmt::format(
      "{} p={} v={} m={} g={} n={}", id, size.ranks, size.chunks, size.micro_batches, size.group, size.slices);
}

/// Counts settings in which formula and run agree; a difference fails. `formulas_everywhere`: each must have one.
class Comparison {
 public:
  Comparison(std::string id, Grid grid, bool formulas_everywhere = true)
      : id_(std::move(id)), grid_(std::move(grid)), formulas_everywhere_(formulas_everywhere) {
    for (int p = 1; p <= 8; ++p)
      for (const int v : grid_.chunks)
        for (const int group : grid_.groups)
          for (const int slices : grid_.slices)
            for (int m = 1; m <= 64; m += m < 20 ? 1 : 11) compare_size({p, v, m, group, slices});
  }
  int makespans = 0, spans = 0, peaks = 0;

 private:
  void compare_size(const ScheduleSize& size) {
    const auto order = make_order(id_, size);
    if (!order || testing::Test::HasFailure()) return;
    for (const double c : grid_.hops)
      for (const Times& t : grid_.times) compare_times(*order, size, c, t);
    EXPECT_EQ(timeline_.messages, closed_form_messages(id_, size).value()) << name_of(id_, size);
    if (const auto formula = closed_form_peaks(id_, size)) {
      EXPECT_EQ(timeline_.peak_in_flight, *formula) << name_of(id_, size);
      ++peaks;
    }
  }

  void compare_times(const Order& order, const ScheduleSize& size, double c, const Times& t) {
    const StageTimes times = equal_times(order.stages(), t.f, t.i, t.w, c, grid_.blocking);
    EXPECT_TRUE(run(order, times, timeline_, workspace_));
    const auto makespan = closed_form_makespan(id_, size, times), span = closed_form_span(id_, size, times);
    if (formulas_everywhere_) {
      EXPECT_TRUE(makespan) << name_of(id_, size);
    }
    makespans += agrees(timeline_.makespan, makespan, size);
    spans += agrees(timeline_.span, span, size);
  }

  int agrees(Seconds found, const std::optional<Seconds>& formula, const ScheduleSize& size) const {
    if (!formula) return 0;
    EXPECT_NEAR(found.value(), formula->value(), 1e-9 * formula->value()) << name_of(id_, size);
    return 1;
  }

  std::string id_;
  Grid grid_;
  bool formulas_everywhere_;
  EngineWorkspace workspace_;
  Timeline timeline_;
};

const std::vector<double> some_hops = {0, 0.1, 0.75, 3, 50};

// (4 + 4 - 1) x (1 + 2) = 21 and, four chunks' worth shared by two: (8 + 3) x (0.5 + 1) = 16.5.
TEST(ClosedForm, ByHand) {
  EXPECT_EQ(closed_form_makespan("1f1b", {.ranks = 4, .micro_batches = 4}, equal_times(4, 1, 1, 1)), Seconds(21));
  EXPECT_EQ(closed_form_makespan(
                "interleaved-1f1b", {.ranks = 4, .chunks = 2, .micro_batches = 4}, equal_times(8, 0.5, 0.5, 0.5)),
      Seconds(16.5));
}

TEST(ClosedForm, GpipeEqualsTheEngine) {
  EXPECT_GT(Comparison("gpipe", {.hops = some_hops}).makespans, 3000);
  EXPECT_GT(Comparison("gpipe", {.hops = some_hops, .blocking = true}).makespans, 3000);
}

TEST(ClosedForm, OneFOneBEqualsTheEngineWithOverlappedHops) {
  EXPECT_GT(Comparison("1f1b", {.hops = some_hops}).spans, 3000);
}

TEST(ClosedForm, OneFOneBEqualsTheEngineWithBlockingHops) {
  EXPECT_GT(Comparison("1f1b", {.hops = some_hops, .blocking = true}).makespans, 3000);
}

TEST(ClosedForm, EagerPaysItsHopsOnceWhileTheyAreShort) {
  EXPECT_GT(Comparison("eager-1f1b", {.hops = {0, 0.1, 0.5, 0.875}}).makespans, 2000);
  EXPECT_FALSE(closed_form_makespan("eager-1f1b", {.ranks = 4, .micro_batches = 8}, equal_times(4, 1, 1, 1, 1.75)));
}

TEST(ClosedForm, InterleavedEqualsTheEngineForEveryGroup) {
  EXPECT_GT(Comparison("interleaved-1f1b", {.chunks = {2, 3, 4}, .groups = {0, 4, 5, 8, 12, 16}}).makespans, 3000);
  EXPECT_GT(Comparison("interleaved-flex", {.chunks = {1, 2, 3}}, false).makespans, 1000);
  EXPECT_GT(Comparison("looped-bfs", {.chunks = {1, 2, 3}}, false).makespans, 1500);
}

TEST(ClosedForm, ZeroBubbleWithShortWeightGradients) {
  EXPECT_GT(Comparison("zb-h1", {}, false).makespans, 400);
  EXPECT_GT(Comparison("interleaved-zb", {.chunks = {1, 2, 3}}, false).spans, 700);
  EXPECT_GT(Comparison("zb-h2", {}, false).makespans, 300);
  EXPECT_GT(Comparison("zb-h2", {}, false).spans, 300);
  EXPECT_FALSE(closed_form_span("zb-h2", {.ranks = 4, .micro_batches = 12}, equal_times(4, 2, 1, 3)));
  EXPECT_FALSE(closed_form_makespan("zb-h1", {.ranks = 4, .micro_batches = 3}, equal_times(4, 1, 1, 1)));
}

TEST(ClosedForm, PassesOfOneTime) {
  EXPECT_GT(Comparison("zb-v", {.times = {{1, 1, 1}, {3, 3, 3}}}, false).spans, 150);
  EXPECT_GT(Comparison("dualpipe", {.times = {{1, 1, 1}, {3, 3, 3}}}).makespans, 40);
  EXPECT_GT(Comparison("dualpipev", {.times = {{1, 1, 1}, {3, 3, 3}}}).makespans, 150);
  EXPECT_GT(Comparison("chimera", {.times = {{1, 1, 0}, {3, 2, 1}}}, false).makespans, 20);
  EXPECT_FALSE(closed_form_makespan("dualpipe", {.ranks = 4, .micro_batches = 8}, equal_times(8, 10, 12, 7)));
}

TEST(ClosedForm, SlicesOfASequenceCountAsUnits) {
  EXPECT_GT(Comparison("seq-1f1b", {.slices = {1, 2, 4}}).makespans, 1500);
  EXPECT_GT(Comparison("terapipe", {.slices = {1, 2, 4}}).makespans, 1500);
}

TEST(ClosedForm, MessagesOfKindsWithoutAFormulaForTime) {
  for (const char* id : {"v-half", "v-min", "v-1f1b"}) EXPECT_EQ(Comparison(id, {}, false).makespans, 0) << id;
  EXPECT_EQ(Comparison("gis", {.chunks = {2, 3}}, false).makespans, 0);
  EXPECT_EQ(closed_form_messages("v-half", {.ranks = 4, .micro_batches = 8}).value(), 96);
  EXPECT_FALSE(closed_form_messages("dualpipe", {.ranks = 3, .micro_batches = 8}));
}

// Blocking p=3, m=8, f=1, b=2, c=0.25 by the steady state: 10 x 3 + 0.25 x (2 x 11 - 5) = 34.25;
// a hop of 1.5 is longer than f by 0.5: 10 x 3 + 1.5 x 17 + 0.5 = 56.
TEST(ClosedForm, BlockingByHand) {
  EXPECT_EQ(closed_form_makespan("1f1b", {.ranks = 3, .micro_batches = 8}, equal_times(3, 1, 1, 1, 0.25, true)),
      Seconds(34.25));
  EXPECT_EQ(
      closed_form_makespan("1f1b", {.ranks = 3, .micro_batches = 8}, equal_times(3, 1, 1, 1, 1.5, true)), Seconds(56));
}

TEST(ClosedForm, NothingWhereNoFormulaIsExact) {
  StageTimes uneven = equal_times(4, 1, 1, 1);
  uneven.forward[3] = Seconds(2);
  EXPECT_FALSE(closed_form_makespan("1f1b", {.ranks = 4, .micro_batches = 8}, uneven));
  StageTimes one_way = equal_times(4, 1, 1, 1, 1);
  one_way.hop_backward.clear();
  EXPECT_FALSE(closed_form_makespan("1f1b", {.ranks = 4, .micro_batches = 8}, one_way));
  EXPECT_FALSE(closed_form_makespan(
      "interleaved-1f1b", {.ranks = 2, .chunks = 2, .micro_batches = 2}, equal_times(4, 1, 1, 1, 1)));
  StageTimes slow = equal_times(4, 1, 1, 1);
  slow.rank_slowdown = {1, 1, 1.25, 1};
  EXPECT_FALSE(closed_form_makespan("1f1b", {.ranks = 4, .micro_batches = 8}, slow));
  StageTimes single = equal_times(4, 1, 1, 1);
  single.forward_each.assign(32, 1.0);
  EXPECT_FALSE(closed_form_makespan("1f1b", {.ranks = 4, .micro_batches = 8}, single));
  EXPECT_FALSE(closed_form_makespan("unheard-of", {.ranks = 4, .micro_batches = 8}, equal_times(4, 1, 1, 1)));
}

}  // namespace
}  // namespace stepcast::sim::closed_form_test
