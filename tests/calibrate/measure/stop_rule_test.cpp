// The median's interval by ranks that can be counted by hand, and that it holds as often as it says.
#include "calibrate/measure/stop_rule.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

/// 1, 2, ... n seconds, from the last to the first: order does not matter.
std::vector<Seconds> counted_times(int n) {
  std::vector<Seconds> times;
  for (int i = n; i >= 1; --i) times.emplace_back(i);
  return times;
}

TEST(StopRule, ten_samples_by_hand) {
  // P(X <= 1) of 10 coins = (1 + 10) / 1024 = 1.1 %, P(X <= 2) = 56 / 1024 = 5.5 %: the second and the ninth.
  const MedianOf found = median_of_times(counted_times(10));
  EXPECT_EQ(found.median, Seconds(5.5));
  EXPECT_EQ(found.low, Seconds(2));
  EXPECT_EQ(found.high, Seconds(9));
  EXPECT_EQ(found.quartile1, Seconds(3.25));
  EXPECT_EQ(found.quartile3, Seconds(7.75));
}

TEST(StopRule, twenty_samples_by_hand) {
  // P(X <= 5) of 20 coins = 21700 / 1048576 = 2.07 %, P(X <= 6) = 5.8 %: the sixth and the fifteenth.
  const MedianOf found = median_of_times(counted_times(20));
  EXPECT_EQ(found.low, Seconds(6));
  EXPECT_EQ(found.high, Seconds(15));
}

TEST(StopRule, few_samples_give_their_extremes) {
  for (int n = 1; n <= 8; ++n) {  // with 8 the extremes miss 2 / 256, the next pair 18 / 256
    const MedianOf found = median_of_times(counted_times(n));
    EXPECT_EQ(found.low, Seconds(1)) << n;
    EXPECT_EQ(found.high, Seconds(n)) << n;
  }
  EXPECT_EQ(median_of_times(counted_times(9)).low, Seconds(2));  // 20 / 512 = 3.9 %
}

TEST(StopRule, thousands_of_samples) {
  // Normal approximation: n/2 - 0.98 sqrt(n) = 4902 of 10000.
  const MedianOf found = median_of_times(counted_times(10000));
  EXPECT_NEAR(found.low.value(), 4902, 2);
  EXPECT_NEAR(found.high.value(), 5099, 2);
}

TEST(StopRule, the_interval_holds_the_median_of_skewed_times) {
  // Times have a floor and a long tail: floor + exponential, whose median is floor + ln 2.
  std::mt19937_64 random(7);
  std::exponential_distribution<double> tail(1);
  const Seconds truth(1 + std::log(2.0));
  int held = 0;
  constexpr int rounds = 4000;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Seconds> times;
    for (int i = 0; i < 25; ++i) times.emplace_back(1 + tail(random));
    const MedianOf found = median_of_times(times);
    if (found.low <= truth && truth <= found.high) ++held;
  }
  // 25 coins: ranks 8 and 18 miss 2 * 2.16 %.
  EXPECT_NEAR(held / double{rounds}, 0.957, 0.012);
}

TEST(StopRule, stops_when_the_interval_is_narrow) {
  const MethodRules rules;
  std::vector<Seconds> times(9, Seconds(1e-3));
  EXPECT_EQ(stop_after(times, Seconds(0.01), rules), Stop::go_on) << "ten are the least";
  times.emplace_back(1e-3);
  EXPECT_EQ(stop_after(times, Seconds(0.01), rules), Stop::settled);
}

TEST(StopRule, a_single_outlier_does_not_matter_and_scatter_does) {
  const MethodRules rules;
  std::vector<Seconds> times(10, Seconds(1e-3));
  times[3] = Seconds(50e-3);
  EXPECT_EQ(stop_after(times, Seconds(0.06), rules), Stop::settled);
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = Seconds(i % 2 == 0 ? 1.0e-3 : 1.02e-3);
  EXPECT_EQ(stop_after(times, Seconds(0.06), rules), Stop::go_on) << "2 % wide where 1 % is asked for";
  EXPECT_EQ(stop_after(times, Seconds(0.15), rules), Stop::time_spent);
}

TEST(StopRule, what_takes_long_is_timed_three_times) {
  const MethodRules rules;
  std::vector<Seconds> times(2, Seconds(0.2));
  EXPECT_EQ(stop_after(times, Seconds(0.4), rules), Stop::go_on);
  times.emplace_back(0.2);
  EXPECT_EQ(stop_after(times, Seconds(0.6), rules), Stop::time_spent);
}

}  // namespace
}  // namespace stepcast::calibrate
