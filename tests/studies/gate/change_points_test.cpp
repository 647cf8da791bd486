// Where levels change: plain histories by hand. How often they are found in noise is in gate_rates_test.cpp.
#include <cmath>

#include <gtest/gtest.h>

#include "studies/gate/change_points.h"
#include "tests/studies/gate/simulated_runs.h"

namespace stepcast::gate {
namespace {

/// Levels with a ripple of +-0.01.
std::vector<double> levels(const std::vector<std::pair<int, double>>& parts) {
  std::vector<double> values;
  for (const auto& [count, level] : parts)
    for (int i = 0; i < count; ++i)
      values.push_back(level + 0.01 * std::sin(1.0 + 2.3 * static_cast<double>(values.size())));
  return values;
}

TEST(GateChangePoints, APlainStepIsFoundAtItsCheck) {
  const auto points = change_points(levels({{20, 0}, {20, 0.1}}));
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].at, 20U);
  EXPECT_NEAR(points[0].change, 0.1, 0.01);
}

TEST(GateChangePoints, ThereAndBackAreTwo) {
  const auto points = change_points(levels({{15, 0}, {10, 0.1}, {15, 0.02}}));
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].at, 15U);
  EXPECT_EQ(points[1].at, 25U);
  EXPECT_GT(points[0].change, 0);
  EXPECT_LT(points[1].change, 0);
}

/// One check far off is an outlier wherever it lies; two at the end are a change.
TEST(GateChangePoints, OneCheckIsNoLevel) {
  EXPECT_TRUE(change_points(levels({{20, 0}, {1, 0.5}, {20, 0}})).empty());
  EXPECT_TRUE(change_points(levels({{30, 0}, {1, 0.5}})).empty());
  EXPECT_TRUE(change_points(levels({{1, 0.5}, {30, 0}})).empty());
  const auto points = change_points(levels({{30, 0}, {2, 0.1}}));
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].at, 30U);
}

/// The new level and an outlier beside it: neither alone is a level.
TEST(GateChangePoints, TheLastTwoChecksCountTogether) {
  const auto points = change_points(levels({{30, 0}, {1, 0.3}, {1, 0.05}}));
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].at, 30U);
  EXPECT_GT(points[0].change, 0.05);
  EXPECT_TRUE(change_points(levels({{30, 0}, {1, 0.3}, {1, 0}})).empty());
  EXPECT_TRUE(change_points(levels({{30, 0}, {1, 0.3}, {1, -0.3}})).empty()) << "on both sides";
}

TEST(GateChangePoints, ShortAndFlatHistoriesHaveNone) {
  EXPECT_TRUE(change_points({}).empty());
  EXPECT_TRUE(change_points(levels({{7, 0}, {8, 1}})).empty()) << "below " << least_checks;
  EXPECT_TRUE(change_points(std::vector<double>(50, 3.0)).empty());
  EXPECT_EQ(neighbour_scale(std::vector<double>(50, 3.0)), 0);
}

/// A step moves one difference of neighbours, so that the scale stays that of the noise.
TEST(GateChangePoints, TheScaleDoesNotSeeTheStep) {
  SimulatedRuns noise(5, 0.01, 0);
  std::vector<double> values = noise.runs(50);
  const double flat = neighbour_scale(values);
  for (std::size_t i = 25; i < values.size(); ++i) values[i] += 0.3;
  EXPECT_NEAR(neighbour_scale(values), flat, 0.1 * flat);
}

}  // namespace
}  // namespace stepcast::gate
