// The largest of several draws, by which experts on many ranks wait for the busiest.
#include <gtest/gtest.h>

#include "sim/job/uneven.h"
#include "sim/serving/engine_cost.h"

namespace stepcast::sim {
namespace {

TEST(LargestDraw, IsItsExpectationForPowersOfTwo) {
  for (std::int64_t count = 1; count <= 4096; count *= 2)
    EXPECT_NEAR(largest_draw(static_cast<double>(count)), normal_maximum(count), 6e-5) << count;
}

/// Half a doubling from 2048, 3.4418, to 4096, 3.6261, is 3.53395; one doubling beyond is 3.8104, with no bound.
TEST(LargestDraw, IsStraightBetweenPowersOfTwoAndBeyondThem) {
  EXPECT_NEAR(largest_draw(2048 * 1.41421356), 3.53395, 1e-6);
  EXPECT_NEAR(largest_draw(8192), 3.8104, 1e-9);
}

}  // namespace
}  // namespace stepcast::sim
