// Laws of scans are recovered from times that they made, and what is held out is whole shapes.
#include "calibrate/fit/fit_scan.h"

#include <cmath>

#include <gtest/gtest.h>

#include "model/profile/scan_law.h"

namespace stepcast::calibrate {
namespace {

ScanLaw made_law() {
  ScanLaw law;
  law.function = "gated_delta";
  law.t0 = Seconds(20e-6), law.first_chunk = Seconds(4e-6);
  law.state = Seconds(80e-9), law.chunk = Seconds(50e-9);
  law.step = Seconds(2e-6), law.state_step = Seconds(60e-9);
  return law;
}

/// Batches and lengths in powers of two, timed by the law times `factor`.
std::vector<ScanTiming> table(const std::string& release, double factor) {
  std::vector<ScanTiming> rows;
  for (double batch = 1; batch <= 64; batch *= 2)
    for (double length = 16; length <= 16384; length *= 2) {
      ScanTiming row{"h100-sxm", "vllm", release, "chunk_rule", {}, {}};
      row.shape = {find_scan("gated_delta"), batch, length, 32, 16, 128, 128, 0};
      row.time = scan_time(made_law(), row.shape).time * factor;
      rows.push_back(row);
    }
  return rows;
}

TEST(FitScan, TheLawThatMadeTheTimesComesBack) {
  const auto fits = fit_scans(table("1.0", 1));
  ASSERT_EQ(fits.size(), 1U);
  const FittedScan& fit = fits.front();
  EXPECT_EQ(fit.rows, 77U);  // 7 batches of 11 lengths
  EXPECT_EQ(fit.shapes, 77U);
  EXPECT_EQ(fit.held_out.samples, 77);
  EXPECT_LT(fit.held_out.mape, 0.02);
  for (const ScanTiming& row : table("1.0", 1))
    EXPECT_NEAR(scan_time(fit.law, row.shape).time / row.time, 1, 0.03) << row.shape.positions;
}

TEST(FitScan, RepeatsAreOneShapeWithTheirMedian) {
  auto rows = table("1.0", 1);
  const auto slow = table("1.0", 1.5), slower = table("1.0", 2);
  rows.insert(rows.end(), slow.begin(), slow.end());
  rows.insert(rows.end(), slower.begin(), slower.end());
  const auto fits = fit_scans(rows);
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_EQ(fits.front().rows, 231U);  // 3 x 77
  EXPECT_EQ(fits.front().shapes, 77U);
  EXPECT_EQ(fits.front().repeated, 77U);
  EXPECT_NEAR(fits.front().repeats_apart, 1, 1e-9);  // 2 / 1 - 1
  const ScanTiming& row = slow.back();
  EXPECT_NEAR(scan_time(fits.front().law, row.shape).time / row.time, 1, 0.03);
}

TEST(FitScan, KernelsAndReleasesHaveLawsOfTheirOwnAndShortTablesNone) {
  auto rows = table("1.0", 1);
  const auto newer = table("2.0", 0.5);
  rows.insert(rows.end(), newer.begin(), newer.end());
  rows.push_back(newer.front());
  rows.back().kernel = "another";
  const auto fits = fit_scans(rows);
  ASSERT_EQ(fits.size(), 2U);
  EXPECT_EQ(fits[0].release, "1.0");
  EXPECT_EQ(fits[1].release, "2.0");
  EXPECT_NEAR(fits[1].law.t0 / fits[0].law.t0, 0.5, 0.1);
}

/// Kernels of many heads take another way for some lengths, which no law of seven numbers knows.
TEST(FitScan, WhatTheLawMissesIsLearnedFromOtherShapes) {
  std::vector<ScanTiming> rows;
  for (const double heads : {8, 16, 32, 64})
    for (ScanTiming row : table("1.0", 1)) {
      row.shape.heads = heads, row.shape.groups = heads / 2;
      const bool slow = heads >= 32 && row.shape.positions >= 256 && row.shape.positions <= 2048;
      row.time = scan_time(made_law(), row.shape).time * (slow ? 1.6 : 1.0);
      rows.push_back(row);
    }
  const auto fits = fit_scans(rows);
  ASSERT_EQ(fits.size(), 1U);
  const FittedScan& fit = fits.front();
  EXPECT_EQ(fit.held_out.samples, 308);  // 4 x 77
  EXPECT_LT(fit.held_out.mape, fit.alone / 2);
  ASSERT_FALSE(fit.law.refinement.correction.empty());
  EXPECT_EQ(fit.law.refinement.held_out.mape, fit.held_out.mape);
  double missed = 0, missed_alone = 0;
  for (const ScanTiming& row : rows) {
    missed += std::abs(scan_time(fit.law, row.shape).time / row.time - 1);
    missed_alone += std::abs(scan_time_alone(fit.law, row.shape).time / row.time - 1);
  }
  EXPECT_LT(missed, missed_alone / 2);
  // Nobody timed backward kernels: they follow from the law alone.
  Profile profile;
  profile.scans = {fit.law};
  ScanLaw bare = fit.law;
  bare.refinement = {};
  Profile alone;
  alone.scans = {bare};
  const ScanShape& shape = rows.back().shape;
  EXPECT_EQ(scan_time(profile, shape, true, "vllm").time, scan_time(alone, shape, true, "vllm").time);
  EXPECT_EQ(scan_time(profile, shape, false, "vllm").time, scan_time(fit.law, shape).time);
}

TEST(FitScan, ALawThatDoesNotHoldIsSeenByWhatWasHeldOut) {
  auto rows = table("1.0", 1);
  for (std::size_t i = 0; i < rows.size(); i += 2) rows[i].time = rows[i].time * 2;
  const auto fits = fit_scans(rows);
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_GT(fits.front().held_out.mape, 0.2);  // halves lie a factor of 2 apart: 0.29 in the mean about the best line
}

}  // namespace
}  // namespace stepcast::calibrate
