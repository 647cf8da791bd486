// Roofs and host costs are the best that was measured, of what says something about them.
#include "calibrate/measure/roofs.h"

#include <gtest/gtest.h>

#include "tests/calibrate/measure/known_rows.h"

namespace stepcast::calibrate {
namespace {

double rate_of(const std::vector<Roof>& roofs, const std::string& of, const std::string& regime = "burst") {
  for (const Roof& roof : roofs)
    if (roof.of == of && roof.regime == regime) return roof.rate;
  return 0;
}

TEST(Roofs, are_the_rates_of_the_card_that_made_the_rows) {
  KnownRows known;
  known.add_campaign();
  const std::vector<Roof> roofs = roofs_of(known.rows, known_gpu());
  for (const char* of : {"hbm read", "hbm write", "hbm copy", "hbm triad"})
    EXPECT_NEAR(rate_of(roofs, of), 3.0e12, 0.06e12) << of;
  EXPECT_NEAR(rate_of(roofs, "l2 read"), 5.5e12, 1e6);
  EXPECT_NEAR(rate_of(roofs, "host_to_device"), 55e9, 0.5e9);
  EXPECT_NEAR(rate_of(roofs, "device_to_host"), 52e9, 0.5e9);
  EXPECT_NEAR(rate_of(roofs, "bf16"), 800e12, 16e12);
  EXPECT_NEAR(rate_of(roofs, "bf16", "sustained"), 800e12 / 1.15, 16e12);
  EXPECT_EQ(roofs.front().of, "l2 read");
  EXPECT_EQ(roofs.size(), 9u);
}

TEST(Roofs, host_costs_are_the_least_of_each_launch) {
  KnownRows known;
  known.add_transfers_and_launches();
  known.add(LaunchQuery{LaunchKind::stream_kernel}, Seconds(9e-6), "cuda 13.0");
  const HostCosts host = host_costs_of(known.rows, known_gpu());
  EXPECT_DOUBLE_EQ(host.stream_kernel.value(), 2.2e-6);
  EXPECT_DOUBLE_EQ(host.graph_kernel.value(), 1.1e-6);
  EXPECT_DOUBLE_EQ(host.graph.value(), 6e-6);
  EXPECT_DOUBLE_EQ(host.event.value(), 0.7e-6);
}

TEST(Roofs, what_the_cache_may_hold_is_no_roof_of_the_memory) {
  KnownRows known;
  known.add_operator("copy", 64, BytesPerSecond(9e12), Seconds(0));  // 128 MiB touched: below three times 50 MB
  EXPECT_TRUE(roofs_of(known.rows, known_gpu()).empty());
  known.add_operator("copy", 128, BytesPerSecond(3e12), Seconds(0));  // 256 MiB
  EXPECT_NEAR(rate_of(roofs_of(known.rows, known_gpu()), "hbm copy"), 3e12, 1e6);
}

TEST(Roofs, what_the_cache_cannot_hold_is_no_roof_of_the_cache) {
  KnownRows known;
  known.context.cache = "warm";
  known.add_operator("read", 44, BytesPerSecond(4e12), Seconds(0));  // 46 MB of 50
  known.add_operator("write", 10, BytesPerSecond(7e12), Seconds(0));
  known.add_product({.m = 512, .n = 1024, .k = 1024}, 0.5);
  EXPECT_TRUE(roofs_of(known.rows, known_gpu()).empty());
}

TEST(Roofs, rows_under_other_circumstances_reach_none) {
  KnownRows known;
  known.add_product({.m = 8192, .n = 8192, .k = 8192}, 0.1).throttled = true;
  known.context.beside = "copy";
  known.add_product({.m = 8192, .n = 8192, .k = 8192}, 0.1);
  known.context.beside = "";
  known.context.gpu = "a100-80gb";
  known.add_product({.m = 8192, .n = 8192, .k = 8192}, 0.1);
  known.add(LaunchQuery{LaunchKind::event}, Seconds(1e-7));
  EXPECT_TRUE(roofs_of(known.rows, known_gpu()).empty());
  EXPECT_DOUBLE_EQ(host_costs_of(known.rows, known_gpu()).event.value(), 0);
}

TEST(Roofs, the_row_that_reached_one_is_told) {
  KnownRows known;
  known.add_product({.m = 512, .n = 1024, .k = 1024});
  known.add_product({.m = 8192, .n = 8192, .k = 8192});
  known.add_product({.m = 1024, .n = 1024, .k = 1024});
  const std::vector<SeenRoof> seen = seen_roofs(known.rows, known_gpu());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].row, 1u);
}

TEST(Roofs, measured_ones_replace_those_of_the_same_resource_and_regime) {
  std::vector<Roof> known{{"bf16", 1, "burst"}, {"bf16", 2, "sustained"}, {"l2 read", 3, "burst"}};
  replace_roofs(known, {{"bf16", 9, "burst"}});
  EXPECT_DOUBLE_EQ(rate_of(known, "bf16"), 9);
  EXPECT_DOUBLE_EQ(rate_of(known, "bf16", "sustained"), 2);
  EXPECT_DOUBLE_EQ(rate_of(known, "l2 read"), 3);
  EXPECT_EQ(known.size(), 3u);
}

}  // namespace
}  // namespace stepcast::calibrate
