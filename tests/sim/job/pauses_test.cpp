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

// MegaScale-like jobs of 128 ranks gained 12.6 % of collecting together (arXiv 2505.05713): 0.6 s (nanochat issue 477)
// in steps of 4 s every 100 steps is of that size.
TEST(Pauses, CollectingTogetherGainsWhatWasPublished) {
  const double apart = 4 + pause_per_step(Seconds(0.6), 100, 128, false).value();
  const double together = 4 + pause_per_step(Seconds(0.6), 100, 128, true).value();
  EXPECT_NEAR(apart / together - 1, 0.126, 0.03);
}

}  // namespace
}  // namespace stepcast::sim
