#include "sim/job/pauses.h"

#include <gtest/gtest.h>

namespace stepcast::sim {
namespace {

TEST(Pauses, TogetherOrEachByItself) {
  EXPECT_EQ(pause_per_step(Seconds(1), 4, 100, true), Seconds(0.25));
  // Two processes, each in one of two steps: three steps of four wait.
  EXPECT_NEAR(pause_per_step(Seconds(1), 2, 2, false).value(), 0.75, 1e-12);
  EXPECT_EQ(pause_per_step(Seconds(1), 1, 7, false), Seconds(1));
  EXPECT_NEAR(pause_per_step(Seconds(1), 100, 1, false).value(), 0.01, 1e-12);
  EXPECT_NEAR(pause_per_step(Seconds(1), 100, 100'000, false).value(), 1, 1e-12);
}

// 0.6 s in steps of 4 s every 100 steps on 128 ranks: 1 - 0.99^128 = 72.4 % of steps wait, 0.434 s each in the mean; at
// once they wait for 6 ms. A job of this size gained 12.6 % by planning (arXiv 2505.05713).
TEST(Pauses, CollectingTogetherGainsATenthOn128Ranks) {
  const double apart = 4 + pause_per_step(Seconds(0.6), 100, 128, false).value();
  const double together = 4 + pause_per_step(Seconds(0.6), 100, 128, true).value();
  EXPECT_NEAR(apart / together - 1, 0.1068, 5e-4);
}

}  // namespace
}  // namespace stepcast::sim
