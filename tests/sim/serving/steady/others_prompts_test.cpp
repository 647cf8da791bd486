// Prompts of others in iterations: Poisson's law, the largest of several, and queues in closed form.
#include "sim/serving/steady/others_prompts.h"

#include <cmath>

#include <gtest/gtest.h>

namespace stepcast::sim {
namespace {

TEST(OthersPrompts, OneGroupIsPoissons) {
  for (const double mean : {0.01, 0.5, 3.0, 80.0}) {
    const Bunches bunches = poisson_bunches(mean, 1);
    EXPECT_NEAR(bunches.share, 1 - std::exp(-mean), 1e-12);
    EXPECT_NEAR(bunches.share * bunches.each, mean, 1e-9) << "every prompt is in one of them";
    const Bunches at_rate = arriving_bunches(mean, 1, 0);
    EXPECT_NEAR(at_rate.share, bunches.share, 1e-12);
    EXPECT_NEAR(at_rate.each, bunches.each, 1e-9);
  }
}

/// Of two the larger: the mean of max(a, b) is 2 m - the mean of min; for a small mean m nearly all have one or none.
TEST(OthersPrompts, OfSeveralGroupsTheFullestCounts) {
  const Bunches few = poisson_bunches(0.001, 8);
  EXPECT_NEAR(few.share, 1 - std::exp(-0.008), 1e-12);
  EXPECT_NEAR(few.each, 1, 0.01);
  EXPECT_GT(poisson_bunches(4, 8).each, poisson_bunches(4, 2).each);
  EXPECT_GT(poisson_bunches(4, 2).each, 4);
  double last = 0;
  for (const double mean : {49.0, 51.0}) {  // two ways of one figure meet
    EXPECT_GT(poisson_bunches(mean, 8).each, last);
    EXPECT_NEAR(poisson_bunches(mean, 8).each / mean, 1.25, 0.06);
    last = poisson_bunches(mean, 8).each;
  }
}

/// Where the number of one iteration depends on the last's they come in larger bunches, as many in all.
TEST(OthersPrompts, LongerIterationsMakeLargerBunches) {
  double last = 1;
  for (const double more : {0.0, 0.3, 0.6, 0.9}) {
    const Bunches bunches = arriving_bunches(2, 1, more);
    EXPECT_NEAR(bunches.share * bunches.each, 2, 1e-9);
    EXPECT_GT(bunches.each, last);
    last = bunches.each;
  }
}

/// One server and services all as long: load / (2 (1 - load)) of waiting (Pollaczek and Khinchine).
TEST(OthersPrompts, WaitsOfOneServerAreThoseOfMD1) {
  for (const double load : {0.1, 0.5, 0.8}) {
    EXPECT_NEAR(waits_for_room(load, 1), load / (2 * (1 - load)), 1e-12);
    EXPECT_NEAR(waits_for_room(load, 0.25), 4 * load / (2 * (1 - load)), 1e-12) << "a prompt takes four iterations";
    EXPECT_LT(waits_for_room(load, 8), waits_for_room(load, 1));
  }
}

TEST(OthersPrompts, ACycleIsAsLongAsItsWork) {
  EXPECT_DOUBLE_EQ(iterations_of_cycle(100, 2, 4), 100) << "next to none to wait for";
  EXPECT_NEAR(iterations_of_cycle(100, 1000, 2), 500, 25) << "500 iterations read the others";
  EXPECT_GE(iterations_of_cycle(100, 1000, 2), 500);
  EXPECT_GT(iterations_of_cycle(100, 90, 1), 100);
}

}  // namespace
}  // namespace stepcast::sim
