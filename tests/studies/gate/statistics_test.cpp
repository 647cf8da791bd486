// Bounds by ranks against counts by hand and against all orders of small samples.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "studies/gate/statistics.h"
#include "tests/studies/gate/simulated_runs.h"

namespace stepcast::gate {
namespace {

/// n = 7: all above the median with 1/128 = 0.8 %; n = 6: 1/64. n = 11: at most one below with 12/2048 = 0.6 %.
TEST(GateStatistics, RanksOfTheMedianAreBinomial) {
  EXPECT_EQ(median_rank(6, 0.01), 0U);
  EXPECT_EQ(median_rank(7, 0.01), 1U);
  EXPECT_EQ(median_rank(10, 0.01), 1U);
  EXPECT_EQ(median_rank(11, 0.01), 2U);
  EXPECT_EQ(median_rank(5, 0.05), 1U);  // 1/32
  EXPECT_EQ(median_rank(4, 0.05), 0U);
}

TEST(GateStatistics, BoundsOfOneSampleAreItsValues) {
  const std::vector<double> values{0.07, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06};
  const ShiftBounds bounds = shift_from_zero(values, 0.01, 0.05);
  EXPECT_EQ(bounds.shift, 0.04);
  EXPECT_EQ(bounds.lower, 0.01);
  EXPECT_EQ(bounds.surely_below, 0.07);
  EXPECT_EQ(bounds.upper, 0.07);  // n = 7: one value with 1/128, two with 8/128 = 6.3 %
  EXPECT_EQ(shift_from_zero(std::vector{0.5}, 0.01, 0.05).lower, -INFINITY);
}

/// 4 and 4: of 70 orders one has all of one side first, 1.4 %; 4 and 5: 126 orders, 0.8 %.
TEST(GateStatistics, TooFewRunsShowNothing) {
  EXPECT_FALSE(can_show_shift(4, 4, 0.01));
  EXPECT_TRUE(can_show_shift(4, 4, 0.02));
  EXPECT_TRUE(can_show_shift(5, 5, 0.01));
  EXPECT_FALSE(can_show_shift(1, 20, 0.01));
  EXPECT_FALSE(can_show_shift(1, 200, 0.001)) << "no sum is as small as the normal law's";
  EXPECT_EQ(shift_between(std::vector{0.0}, std::vector{1.0}, 0.01, 0.05).lower, -INFINITY);
}

/// Values 1..9: whichever of them are `before`, the bound is wrong in at most the stated share of all choices.
double share_of_wrong_bounds(std::size_t before, std::size_t now, double error) {
  std::vector<int> side(before + now, 0);
  std::fill(side.begin() + static_cast<std::ptrdiff_t>(before), side.end(), 1);
  double wrong = 0, all = 0;
  do {
    std::vector<double> a, b;
    for (std::size_t i = 0; i < side.size(); ++i) (side[i] == 0 ? a : b).push_back(static_cast<double>(i + 1));
    wrong += shift_between(a, b, error, error).lower > 0 ? 1 : 0;
    ++all;
  } while (std::next_permutation(side.begin(), side.end()));
  return wrong / all;
}

TEST(GateStatistics, ErrorsHoldOverAllOrders) {
  for (const double error : {0.01, 0.05, 0.2}) {
    EXPECT_LE(share_of_wrong_bounds(6, 6, error), error);
    EXPECT_LE(share_of_wrong_bounds(5, 8, error), error);
    EXPECT_GT(share_of_wrong_bounds(6, 6, error), error / 3) << "far too careful";
  }
}

/// What moves all of `now` moves the bounds by as much; sides changed over change signs.
TEST(GateStatistics, BoundsMoveWithTheShift) {
  SimulatedRuns noise(3, 0.01, 0.05);
  const std::vector<double> a = noise.runs(10), b = noise.runs(12);
  std::vector<double> moved = b;
  for (double& value : moved) value += 0.25;
  const ShiftBounds at_0 = shift_between(a, b, 0.01, 0.01), at_25 = shift_between(a, moved, 0.01, 0.01);
  EXPECT_NEAR(at_25.shift, at_0.shift + 0.25, 1e-12);
  EXPECT_NEAR(at_25.lower, at_0.lower + 0.25, 1e-12);
  EXPECT_NEAR(at_25.upper, at_0.upper + 0.25, 1e-12);
  const ShiftBounds back = shift_between(b, a, 0.01, 0.01);
  EXPECT_NEAR(back.lower, -at_0.upper, 1e-12);
  EXPECT_NEAR(back.upper, -at_0.lower, 1e-12);
  EXPECT_LT(at_0.lower, at_0.shift);
  EXPECT_GT(at_0.upper, at_0.shift);
}

/// Two runs of ten far off on either side leave a bound above zero where the others are 5 % apart.
TEST(GateStatistics, OutliersDoNotHideAShift) {
  std::vector<double> a{0, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.1, 0.11}, b;
  for (const double value : {0.0, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.009})
    b.push_back(0.05 + value);
  EXPECT_GT(shift_between(a, b, 0.01, 0.05).lower, 0);
  EXPECT_LT(shift_between(b, a, 0.01, 0.01).upper, 0);
}

/// Equal times, as clocks with few digits give them, show no shift.
TEST(GateStatistics, TiesAreNoShift) {
  const std::vector<double> same(10, 0.5);
  const ShiftBounds bounds = shift_between(same, same, 0.01, 0.05);
  EXPECT_EQ(bounds.lower, 0);
  EXPECT_EQ(bounds.upper, 0);
  EXPECT_EQ(robust_scale(same), 0);
}

/// Above 100 runs the law is normal: the bounds of 60 and 60 runs are close to those of 50 and 50, which are exact.
TEST(GateStatistics, ManyRunsGoOnWhereTheExactLawEnds) {
  std::vector<double> a(50), b(60);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = (static_cast<double>(i) + 0.5) / 50;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = (static_cast<double>(i) + 0.5) / 60;
  const double exact = shift_between(a, a, 0.01, 0.01).lower, normal = shift_between(b, b, 0.01, 0.01).lower;
  EXPECT_NEAR(normal, exact * std::sqrt(50.0 / 60), 0.15 * std::abs(exact));
}

/// On the mean of many samples the scale is that of the noise; a third of wild values does not make it wild.
TEST(GateStatistics, ScaleIsThatOfTheNoise) {
  for (const std::size_t n : {4U, 5U, 10U, 25U}) {
    SimulatedRuns noise(n, 0.01, 0);
    double sum = 0;
    for (int i = 0; i < 2000; ++i) sum += robust_scale(noise.runs(n));
    EXPECT_NEAR(sum / 2000, 0.01, 0.0006) << n;
  }
  std::vector<double> values{1, 2, 3, 4, 5, 6, 1000, 2000, 3000};
  EXPECT_LT(robust_scale(values), 10);
  EXPECT_EQ(robust_scale(std::vector{1.0}), 0);
}

TEST(GateStatistics, QuantilesOfTheNormalDistribution) {
  EXPECT_NEAR(normal_quantile(0.99), 2.326348, 1e-6);
  EXPECT_NEAR(normal_quantile(0.05), -1.644854, 1e-6);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-9);
  EXPECT_NEAR(normal_quantile(0.001), -3.090232, 1e-6);
}

}  // namespace
}  // namespace stepcast::gate
