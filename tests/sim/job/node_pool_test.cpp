// Spares and repair: Erlang's formula by hand, and the number of spares that is enough.
#include "sim/job/node_pool.h"

#include <gtest/gtest.h>

namespace stepcast::sim {
namespace {

TEST(NodePool, WaitingIsErlangsB) {
  // A load of 1 node: one spare, 1/2 / (1 + 1 + 1/2) = 0.2; none, 1 / (1 + 1).
  NodePool pool{10, 1, 0.1, Seconds(10), 0};
  EXPECT_NEAR(waiting_share(pool), 0.2, 1e-12);
  pool.spares = 0;
  EXPECT_NEAR(waiting_share(pool), 0.5, 1e-12);
}

TEST(NodePool, ChancesEndInTheShareOfWaiting) {
  const NodePool pool{100, 7, 0.5, Seconds(12), 0};
  const auto chances = repair_chances(pool);
  ASSERT_EQ(chances.size(), 9U);  // 0 to 8 nodes
  EXPECT_NEAR(chances.back(), waiting_share(pool), 1e-12);
  double sum = 0;
  for (const double chance : chances) sum += chance;
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(NodePool, ReplicasRunAsLongAsTheyAreWhole) {
  const NodePool pool{8, 1, 0, Seconds(1), 2};
  EXPECT_EQ(running_replicas(pool, 0), 4);
  EXPECT_EQ(running_replicas(pool, 1), 4);
  EXPECT_EQ(running_replicas(pool, 2), 3);
  EXPECT_EQ(running_replicas(pool, 3), 3);
  EXPECT_EQ(running_replicas(pool, 4), 2);
  EXPECT_EQ(running_replicas(pool, 9), 0);
}

TEST(NodePool, WithManySparesTheLawIsPoissons) {
  // Load 2: e^-2, 2 e^-2, 2 e^-2, ...
  const auto chances = repair_chances({1000, 500, 0.2, Seconds(10), 0});
  EXPECT_NEAR(chances[0], 0.1353352832, 1e-9);
  EXPECT_NEAR(chances[2], 2 * 0.1353352832, 1e-9);
}

TEST(NodePool, LongChainsDoNotOverflow) {
  // A load of 5,000 nodes with as many spares and a few.
  const NodePool pool{100'000, 5'200, 5, Seconds(1000), 0};
  const auto chances = repair_chances(pool);
  EXPECT_NEAR(chances.back(), waiting_share(pool), 1e-12);
  EXPECT_GT(waiting_share(pool), 1e-5);
  EXPECT_LT(waiting_share(pool), 1e-3);
}

TEST(NodePool, SparesThatAreEnoughAreTheFewest) {
  NodePool pool{2048, 0, 8.6 * 0.78 / 86400, Seconds(5.54 * 86400), 0};
  pool.spares = spares_for(pool, 0.001);
  EXPECT_LE(waiting_share(pool), 0.001);
  --pool.spares;
  EXPECT_GT(waiting_share(pool), 0.001);
}

}  // namespace
}  // namespace stepcast::sim
