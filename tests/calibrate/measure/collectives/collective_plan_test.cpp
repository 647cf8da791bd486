#include "calibrate/measure/collectives/collective_plan.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/calibrate/measure/fake_collectives.h"

namespace stepcast::calibrate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CollectivePlan plan_within(const CollectiveBench& bench, Seconds budget = Seconds(300)) {
  return plan_collectives(bench, budget, MethodRules{});
}

std::vector<std::string> placements(const std::vector<CollectiveGroup>& groups) {
  std::vector<std::string> out;
  for (const CollectiveGroup& group : groups) out.push_back(group.fabric + ": " + group.placement);
  return out;
}

TEST(CollectiveGroups, ASwitchedHostHasNeighboursOnly) {
  EXPECT_THAT(placements(collective_groups(FakeCollectives())),
      ElementsAre("nvswitch: 2 neighbours", "nvswitch: 4 neighbours", "nvswitch: 8 neighbours"));
}

TEST(CollectiveGroups, BridgedPairsAndTheWayBetweenThem) {
  const auto groups = collective_groups(FakeCollectives(fake_bridged_pairs()));
  EXPECT_THAT(placements(groups),
      ElementsAre("nvlink_mesh: 2 neighbours", "pcie: 2 spread over the host, every 2. GPU", "pcie: 4 neighbours"));
  EXPECT_THAT(groups[1].ranks, ElementsAre(0, 2));
}

TEST(CollectiveGroups, AMeshThatIsNotCompleteIsStillJoinedByNvlink) {
  FakeCollectivesOptions ring;  // each GPU linked with the next and the one before
  ring.per_host = 4;
  ring.joins = [](int a, int b) { return (a + 1) % 4 == b || (b + 1) % 4 == a ? "nvlink_mesh" : "pcie"; };
  EXPECT_THAT(placements(collective_groups(FakeCollectives(ring))),
      ElementsAre(
          "nvlink_mesh: 2 neighbours", "pcie: 2 spread over the host, every 2. GPU", "nvlink_mesh: 4 neighbours"));
}

TEST(CollectiveGroups, TwoHosts) {
  FakeCollectivesOptions options;
  options.hosts = 2;
  const auto groups = collective_groups(FakeCollectives(options));
  EXPECT_THAT(
      placements(groups), ElementsAre("nvswitch: 2 neighbours", "nvswitch: 4 neighbours", "nvswitch: 8 neighbours",
                              "network: 1 per node on 2 nodes", "network: 8 per node on 2 nodes"));
  EXPECT_THAT(groups[3].ranks, ElementsAre(0, 8));
  EXPECT_EQ(groups[4].ranks.size(), 16u);
  EXPECT_EQ(groups[4].nodes, 2);
}

TEST(CollectiveGroups, SixGpusOnThreeHosts) {
  FakeCollectivesOptions options;
  options.hosts = 3;
  options.per_host = 2;
  EXPECT_THAT(placements(collective_groups(FakeCollectives(options))),
      ElementsAre("nvswitch: 2 neighbours", "network: 1 per node on 2 nodes", "network: 2 per node on 2 nodes",
          "network: 1 per node on 3 nodes", "network: 2 per node on 3 nodes"));
  options.per_host = 1;
  EXPECT_THAT(placements(collective_groups(FakeCollectives(options))),
      ElementsAre("network: 1 per node on 2 nodes", "network: 1 per node on 3 nodes"));
}

TEST(CollectiveSizes, FromEightBytesToAGibibyte) {
  const auto sizes = collective_sizes(2, Bytes(75e9));
  EXPECT_EQ(sizes.front(), Bytes(8));
  EXPECT_EQ(sizes.back(), Bytes(1 << 30));
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const double step = sizes[i] / sizes[i - 1];
    EXPECT_LE(step, 4.0);
    if (sizes[i - 1] >= Bytes(1 << 17) && sizes[i] <= Bytes(1 << 25)) {
      EXPECT_LE(step, 2.0) << "near the knee";
    }
  }
}

TEST(CollectiveSizes, EveryRankGetsTheSameShare) {
  for (const int ranks : {2, 3, 6, 8, 48, 1024})
    for (const Bytes size : collective_sizes(ranks, Bytes(75e9))) {
      const auto bytes = static_cast<std::int64_t>(size.value());
      EXPECT_EQ(bytes % (2 * ranks), 0) << ranks;
      if (bytes >= 64 * ranks) {
        EXPECT_EQ(bytes % (16 * ranks), 0) << ranks;
      }
    }
}

TEST(CollectiveSizes, BothBuffersFit) { EXPECT_EQ(collective_sizes(2, Bytes(300e6)).back(), Bytes(1 << 27)); }

TEST(CollectivePlan, StaysWithinEveryBudget) {
  const FakeCollectives bench;
  std::size_t before = 0;
  for (const double seconds : {0.0, 1.0, 5.0, 20.0, 45.0, 60.0, 300.0}) {
    const CollectivePlan plan = plan_within(bench, Seconds(seconds));
    EXPECT_LE(plan.estimate, Seconds(seconds));
    EXPECT_GE(plan.calls.size(), before) << "more time, more calls";
    before = plan.calls.size();
    EXPECT_EQ(plan.calls.size() + plan.left_out.size(), 3u * 7 * 19) << "groups, kinds, sizes";
  }
}

TEST(CollectivePlan, AGroupsCallsStandTogether) {
  const CollectivePlan plan = plan_within(FakeCollectives());
  int changes = 0;
  for (std::size_t i = 1; i < plan.calls.size(); ++i)
    changes += plan.calls[i].group.ranks != plan.calls[i - 1].group.ranks;
  EXPECT_EQ(changes, 2);
  EXPECT_THAT(plan.left_out, IsEmpty());
}

TEST(CollectivePlan, LittleTimeGoesToTheLargestGroupsExtremes) {
  const CollectivePlan plan = plan_within(FakeCollectives(), Seconds(6));
  ASSERT_FALSE(plan.calls.empty());
  std::set<double> sizes;
  for (const PlannedCollective& call : plan.calls) {
    EXPECT_EQ(call.group.ranks.size(), 8u);
    sizes.insert(call.buffer.value());
  }
  EXPECT_TRUE(sizes.contains(16) && sizes.contains(1 << 30));
}

TEST(CollectivePlan, TwoNodesComeWithAWarning) {
  FakeCollectivesOptions options;
  options.hosts = 2;
  EXPECT_THAT(plan_within(FakeCollectives(options)).notes, ElementsAre(HasSubstr("exactly 2 nodes")));
  options.hosts = 4;
  EXPECT_THAT(plan_within(FakeCollectives(options)).notes, IsEmpty());
}

}  // namespace
}  // namespace stepcast::calibrate
