// How far apart checkpoints should lie: each law by hand, and which of them finds the maximum.
#include "sim/job/interval.h"

#include <cmath>

#include <gtest/gtest.h>

namespace stepcast::sim {
namespace {

double law_named(std::string_view id, double between, double save, double restart) {
  for (const IntervalLaw& one : interval_laws())
    if (one.id == id) return one.interval(Seconds(between), Seconds(save), Seconds(restart)).value();
  ADD_FAILURE() << id;
  return 0;
}

TEST(Interval, LawsByHand) {
  EXPECT_EQ(law_named("young", 800, 4, 50), 80);  // sqrt(2 x 4 x 800)
  // x = sqrt(4 / 1600) = 1/20: 80 (1 + 1/60 + 1/3600) - 4
  EXPECT_NEAR(law_named("daly", 800, 4, 50), 80 * (1 + 1.0 / 60 + 1.0 / 3600) - 4, 1e-12);
  EXPECT_EQ(law_named("daly", 10, 20, 5), 10);  // beyond d = 2 M
  // d + sqrt(2 (M + R) d + d^2): 2 + sqrt(2 x 24 x 2 + 4)
  EXPECT_EQ(law_named("availability", 20, 2, 4), 12);
}

TEST(Interval, ExactIsWhereLambertsEquationHolds) {
  for (double save = 1e-9; save < 1e4; save *= 3) {
    const double x = law_named("exact", 1000, save, 0) / 1000;
    ASSERT_GT(x, 0);
    ASSERT_LT(x, 1);
    const double left = x < 1e-4 ? x * x / 2 + x * x * x / 3 : -std::log1p(-x) - x;
    EXPECT_NEAR(left / (save / 1000), 1, 1e-8) << save;
  }
}

TEST(Interval, ExactIsTheTimeBetweenFailuresWhereSavesAreMuchLonger) {
  for (const double save : {1e4, 1e5, 1e8, 1e15}) EXPECT_NEAR(law_named("exact", 1000, save, 0), 1000, 0.1) << save;
}

TEST(Interval, NoOtherIntervalHasAHigherGoodput) {
  for (const double between : {100.0, 3600.0, 1e5})
    for (const double save : {0.01, 1.0, 50.0})
      for (const double restart : {0.0, 60.0}) {
        FailureCosts failures;
        failures.per_second = 1 / between, failures.restart = Seconds(restart);
        const double best = law_named("exact", between, save, restart);
        const double most = goodput(failures, {Seconds(best), Seconds(save), {}, 1, {}});
        for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0})
          EXPECT_LT(goodput(failures, {Seconds(best * factor), Seconds(save), {}, 1, {}}), most);
        for (const IntervalLaw& one : interval_laws())
          EXPECT_LE(goodput(failures,
                        {one.interval(Seconds(between), Seconds(save), Seconds(restart)), Seconds(save), {}, 1, {}}),
              most * (1 + 1e-12));
      }
}

TEST(Interval, BestPerStoredIsTheBestOfAll) {
  FailureCosts failures;
  failures.per_second = 1e-4, failures.restart = Seconds(300);
  failures.soft = 0.8, failures.soft_restart = Seconds(60);
  Saves saves{Seconds(60), Seconds(40), {}, 1, Seconds(0.5)};
  const std::int64_t best = best_per_stored(failures, saves, 1000);
  saves.per_stored = best;
  const double most = goodput(failures, saves);
  for (std::int64_t count = 1; count <= 1000; ++count) {
    saves.per_stored = count;
    EXPECT_LE(goodput(failures, saves), most) << count;
  }
  EXPECT_GT(best, 5);
}

}  // namespace
}  // namespace stepcast::sim
