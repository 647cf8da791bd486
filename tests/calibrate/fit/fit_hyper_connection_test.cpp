// Laws of hyper-connections are recovered from times that they made, and what is held out is whole shapes.
#include "calibrate/fit/fit_hyper_connection.h"

#include <cmath>

#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

HyperConnectionLaw made_mixing_law() {
  HyperConnectionLaw law;
  law.t0 = Seconds(6e-6), law.per_row_byte = Seconds(5e-11);
  law.near_bytes = Bytes(4e7), law.near_rate = BytesPerSecond(6e12), law.memory = BytesPerSecond(3e12);
  law.softness = 2;
  return law;
}

std::vector<HyperConnectionTiming> mixing_table(const std::string& release, HyperConnectionPart part) {
  std::vector<HyperConnectionTiming> rows;
  for (const double width : {4096, 7168})
    for (double positions = 1; positions <= 65536; positions *= 2) {
      HyperConnectionTiming row{"h100-sxm", "vllm", release, {part, positions, 4, width}, {}};
      row.time = hyper_connection_time(made_mixing_law(), row.shape).time;
      rows.push_back(row);
    }
  return rows;
}

TEST(FitHyperConnection, TheLawThatMadeTheTimesComesBack) {
  const auto fits = fit_hyper_connections(mixing_table("1.0", HyperConnectionPart::pre));
  ASSERT_EQ(fits.size(), 1U);
  const FittedHyperConnection& fit = fits.front();
  EXPECT_EQ(fit.shapes, 34U);  // 2 widths of 17 numbers of positions
  EXPECT_EQ(fit.law.held_out.samples, 34);
  EXPECT_LT(fit.law.held_out.mape, 0.02);
  EXPECT_EQ(fit.law.kernels, "vllm");
  EXPECT_NEAR(fit.law.memory.value() / 3e12, 1, 0.02);
  EXPECT_NEAR(fit.law.t0.value() / 6e-6, 1, 0.05);
}

TEST(FitHyperConnection, PartsAndReleasesHaveLawsOfTheirOwn) {
  auto rows = mixing_table("1.0", HyperConnectionPart::pre);
  for (const auto& [release, part] : {std::pair{"1.0", HyperConnectionPart::post}, {"2.0", HyperConnectionPart::pre}}) {
    const auto more = mixing_table(release, part);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  EXPECT_EQ(fit_hyper_connections(rows).size(), 3U);
}

/// A table in which one release timed what the other did not: a shape that leaves one table leaves both, so that what
/// is wrong with a single shape is seen wherever it is held out.
TEST(FitHyperConnection, AShapeHeldOutLeavesAllTablesOfItsGpu) {
  auto rows = mixing_table("1.0", HyperConnectionPart::pre);
  auto& odd = rows[12];
  odd.time = odd.time * 4;
  const auto fits = fit_hyper_connections(rows);
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_GT(fits.front().law.held_out.p95, fits.front().law.held_out.median);
  EXPECT_NEAR(hyper_connection_time(fits.front().law, odd.shape).time / odd.time, 0.25, 0.02);
}

TEST(FitHyperConnection, FewShapesGiveNoLaw) {
  auto rows = mixing_table("1.0", HyperConnectionPart::pre);
  rows.resize(fewest_hyper_connection_shapes - 1);
  EXPECT_TRUE(fit_hyper_connections(rows).empty());
}

}  // namespace
}  // namespace stepcast::calibrate
