// Laws of hyper-connections are recovered from times that they made, and what is held out is whole shapes.
#include "calibrate/fit/fit_hyper_connection.h"

#include <cmath>
#include <map>
#include <set>

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

/// `octaves`: 0: each number of positions is twice the one before; 1: and one between them.
std::vector<HyperConnectionTiming> mixing_table(const std::string& release, HyperConnectionPart part, int octaves = 0) {
  std::vector<HyperConnectionTiming> rows;
  for (const double width : {4096, 7168})
    for (double positions = 1; positions <= 65536; positions *= octaves == 0 ? 2 : std::sqrt(2.0)) {
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

using FoldsByShape = std::map<std::pair<double, double>, std::size_t>;  // by width and positions
FoldsByShape folds_of_shapes(const FittedHyperConnection& fit) {
  FoldsByShape folds;
  for (const HeldInFold& held : fit.held_in) folds[{held.shape.width, held.shape.positions}] = held.fold;
  return folds;
}

/// Two releases, of which the second timed two thirds of what the first did: dealt out table by table, a shape of both
/// would be held out here while it is seen there.
TEST(FitHyperConnection, AShapeHeldOutLeavesAllTablesOfItsGpu) {
  auto both = mixing_table("1.0", HyperConnectionPart::pre);
  std::vector<HyperConnectionTiming> second;
  for (std::size_t i = 0; i < both.size(); ++i)
    if (i % 3 != 0) second.push_back(both[i]), second.back().release = "2.0";
  const FoldsByShape alone = folds_of_shapes(fit_hyper_connections(second).front());
  both.insert(both.end(), second.begin(), second.end());
  const auto fits = fit_hyper_connections(both);
  ASSERT_EQ(fits.size(), 2U);
  const FoldsByShape first = folds_of_shapes(fits[0]), other = folds_of_shapes(fits[1]);
  EXPECT_EQ(first.size(), fits[0].shapes);
  EXPECT_EQ(other.size(), second.size());
  for (const auto& [shape, fold] : other) EXPECT_EQ(fold, first.at(shape)) << shape.first << " x " << shape.second;
  EXPECT_NE(alone, other) << "by itself its shapes are dealt out otherwise";
}

/// Streams of one length: the start is one number, and the law says nothing of what grows with them.
TEST(FitHyperConnection, StreamsOfOneLengthLeaveTheirShareOfTheStartToIt) {
  auto rows = mixing_table("1.0", HyperConnectionPart::pre, 1);
  std::erase_if(rows, [](const HyperConnectionTiming& row) { return row.shape.width != 4096; });
  const auto fits = fit_hyper_connections(rows);
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_EQ(fits.front().law.per_row_byte.value(), 0);
  const HyperConnectionLaw made = made_mixing_law();
  EXPECT_NEAR(fits.front().law.t0 / (made.t0 + made.per_row_byte * (4 * 4096 * 2)), 1, 0.05);
}

TEST(FitHyperConnection, FewShapesGiveNoLaw) {
  auto rows = mixing_table("1.0", HyperConnectionPart::pre);
  rows.resize(fewest_hyper_connection_shapes - 1);
  EXPECT_TRUE(fit_hyper_connections(rows).empty());
  const auto left = left_out_of(rows);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left.front().subject, "pre");
  EXPECT_EQ(left.front().release, "1.0");
  EXPECT_EQ(left.front().rows, rows.size());
  EXPECT_TRUE(left_out_of(mixing_table("1.0", HyperConnectionPart::pre)).empty());
}

}  // namespace
}  // namespace stepcast::calibrate
