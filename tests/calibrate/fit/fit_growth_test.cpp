// Growth over ranks learned from made systems.
#include <gtest/gtest.h>

#include "tests/calibrate/fit/fit_growth.h"

namespace stepcast::calibrate {
namespace {

/// all_gather over 4 and 8 ranks whose times of one buffer differ by `ratio`.
MeasuredSystem made_system(const char* id, const char* links, double ratio) {
  MeasuredSystem system{id, links, {}};
  for (const int ranks : {4, 8}) {
    CollectiveCurve curve;
    curve.kind = CollectiveKind::all_gather;
    curve.ranks = ranks;
    curve.latency = Seconds(10e-6 * (ranks == 8 ? ratio : 1));
    curve.bandwidth = BytesPerSecond(300e9 * received_share(curve.kind, ranks) / (ranks == 8 ? ratio : 1));
    system.curves.push_back(curve);
  }
  return system;
}

TEST(FitGrowth, median_of_the_same_generation) {
  const std::vector<MeasuredSystem> systems{made_system("a", "new", 1.2), made_system("b", "new", 1.3),
      made_system("c", "new", 2), made_system("d", "old", 5)};
  const auto growth = fit_growth(systems, "new", FabricKind::nvswitch);
  ASSERT_EQ(growth.size(), 1u);
  EXPECT_EQ(growth[0].from, 4);
  EXPECT_EQ(growth[0].to, 8);
  EXPECT_EQ(growth[0].learned_on, "a, b, c");
  EXPECT_NEAR(growth_at(growth[0], Bytes(1e6)), 1.3, 1e-9);
  EXPECT_NEAR(growth_at(growth[0], Bytes(512)), 1.3, 1e-9);
}

TEST(FitGrowth, other_generations_where_there_is_none_of_its_own) {
  const auto growth = fit_growth(std::vector{made_system("d", "old", 1.5)}, "new", FabricKind::nvswitch);
  ASSERT_EQ(growth.size(), 1u);
  EXPECT_NEAR(growth_at(growth[0], Bytes(1e6)), 1.5, 1e-9);
  EXPECT_GT(growth[0].spread.p90, 1.3);  // nobody to hold it against
}

TEST(FitGrowth, the_spread_is_that_of_systems_left_out) {
  // Each forecast by the other: 1.2 against 1.5 is 0.8, 1.5 against 1.2 is 1.25.
  const auto growth =
      fit_growth(std::vector{made_system("a", "new", 1.2), made_system("b", "new", 1.5)}, "new", FabricKind::nvswitch);
  EXPECT_NEAR(growth[0].spread.p10, 0.8, 1e-9);
  EXPECT_NEAR(growth[0].spread.p90, 1.25, 1e-9);
}

TEST(FitGrowth, boards_with_pcie_do_not_speak_for_nvlink) {
  EXPECT_TRUE(fit_growth(std::vector{made_system("a", "new", 1.2)}, "new", FabricKind::pcie).empty());
}

}  // namespace
}  // namespace stepcast::calibrate
