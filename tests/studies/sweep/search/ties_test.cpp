// Which forecasts cannot be told apart, and what to measure to decide.
#include "studies/sweep/search/ties.h"

#include <cmath>

#include <gtest/gtest.h>

namespace stepcast::sweep {
namespace {

using Choices = std::vector<std::vector<std::string>>;

TEST(Ties, WhatIsWithinTheErrorOfAComparisonIsTied) {
  const std::vector<double> steps = {10, 10.2, 10.49, 10.51, 12};
  EXPECT_EQ(tied_count(steps, std::log(1.05)), 3u);
  EXPECT_EQ(tied_count(steps, 0), 1u);
  EXPECT_EQ(tied_count(steps, 1), 5u);
  const std::vector<double> equal = {10, 10, 11};
  EXPECT_EQ(tied_count(equal, 0), 2u);
}

TEST(Ties, TheFirstAndTheOneThatDiffersMostAreMeasured) {
  const Choices choices = {{"8", "1", "4"}, {"8", "1", "2"}, {"4", "2", "4"}, {"2", "4", "4"}, {"8", "2", "2"}};
  EXPECT_EQ(measure_first(choices), (std::vector<std::size_t>{0, 2}))
      << "the better forecast of three that differ in two choices";
  EXPECT_EQ(measure_first(std::span(choices).first(2)), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(measure_first(std::span(choices).first(1)), (std::vector<std::size_t>{0}));
}

TEST(Ties, OnlyTiedOnesAreWorthMeasuring) {
  const std::vector<double> steps = {10, 10.1, 20};
  const Choices choices = {{"8", "1"}, {"8", "2"}, {"1", "8"}};
  const Ties ties = ties_of(steps, choices, 0.05, true);
  EXPECT_EQ(ties.count, 2u);
  EXPECT_EQ(ties.measure, (std::vector<std::size_t>{0, 1}));
  EXPECT_FALSE(ties.cut_short);
}

TEST(Ties, AListThatEndsBeforeTheTiesSaysSo) {
  const std::vector<double> steps = {10, 10.1};
  const Choices choices = {{"8"}, {"4"}};
  EXPECT_TRUE(ties_of(steps, choices, 0.05, false).cut_short);
  EXPECT_FALSE(ties_of(steps, choices, 0.05, true).cut_short);
  EXPECT_FALSE(ties_of(steps, choices, 0.001, false).cut_short) << "the second is known to be out";
}

TEST(Ties, TextSaysHowManyAndWhatToMeasure) {
  const std::vector<double> steps = {10, 10.1, 10.2, 13};
  const Choices choices = {{"8", "1"}, {"8", "2"}, {"4", "4"}, {"1", "8"}};
  const std::vector<std::string> names = {"tp 8", "tp 8 pp 2", "tp 4 pp 4", "pp 8"};
  EXPECT_EQ(ties_text(ties_of(steps, choices, std::log(1.05), true), names, steps),
      "these 3 are within the error of a comparison (5.0 %); measure these 2 to decide: tp 8; tp 4 pp 4");
  const auto three = std::span(steps).first(3);
  const Ties cut = ties_of(three, std::span(choices).first(3), std::log(1.05), false);
  EXPECT_NE(
      ties_text(cut, names, three).find("these 3, and perhaps more beyond the list, are within"), std::string::npos);
}

TEST(Ties, ALeaderAndALoneRowAreNamedAsSuch) {
  const std::vector<double> steps = {10, 11};
  const Choices choices = {{"8"}, {"4"}};
  const std::vector<std::string> names = {"tp 8", "tp 4"};
  EXPECT_EQ(ties_text(ties_of(steps, choices, std::log(1.05), true), names, steps),
      "tp 8 leads by 10.0 %, more than the error of a comparison (5.0 %)");
  const auto one = std::span(steps).first(1);
  EXPECT_EQ(ties_text(ties_of(one, std::span(choices).first(1), 0.05, true), names, one), "tp 8 stands alone");
  EXPECT_NE(
      ties_text(ties_of(one, std::span(choices).first(1), 0.05, false), names, one).find("--top"), std::string::npos);
}

}  // namespace
}  // namespace stepcast::sweep
