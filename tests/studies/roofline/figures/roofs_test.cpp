// Roofs of one GPU: from the datasheet, from what was measured, from laws; ridges; a frame that only the datasheet
// moves.
#include "studies/roofline/figures/roofs.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/catalog.h"
#include "tests/studies/roofline/round_gpu.h"

namespace stepcast::roofline {
namespace {

using testing::HasSubstr;
using testing_roofline::round_gpu;

Profile profile_of_round_gpu() {
  Profile profile;
  profile.id = "round-profile";
  profile.gpu = "round";
  profile.regime = "burst";
  profile.memory.memory = BytesPerSecond(0.9e12);
  profile.memory.source = Source::assumed;
  return profile;
}

RooflineLaw roof_law(Precision precision, double compute, Source source) {
  RooflineLaw law;
  law.precision = precision;
  law.compute = FlopsPerSecond(compute);
  law.memory = BytesPerSecond(1e12);
  law.source = source;
  return law;
}

std::vector<ComputeRoof> compute_roofs(const Roofs& roofs, RoofBasis basis) {
  std::vector<ComputeRoof> found;
  for (const ComputeRoof& roof : roofs.compute)
    if (roof.basis == basis) found.push_back(roof);
  return found;
}

std::vector<MemoryRoof> memory_roofs(const Roofs& roofs, MemoryLevel level) {
  std::vector<MemoryRoof> found;
  for (const MemoryRoof& roof : roofs.memory)
    if (roof.level == level) found.push_back(roof);
  return found;
}

std::vector<Ridge> ridges_at(const Roofs& roofs, MemoryLevel level, bool measured) {
  std::vector<Ridge> found;
  for (const Ridge& ridge : roofs.ridges)
    if (ridge.level == level && is_measured(ridge.basis) == measured) found.push_back(ridge);
  return found;
}

TEST(Roofs, DatasheetGivesPeakBandwidthAndRidge) {
  const Roofs roofs = roofs_of(round_gpu(), profile_of_round_gpu());
  ASSERT_EQ(roofs.compute.size(), 1U);
  EXPECT_EQ(roofs.compute[0].precision, Precision::bf16);
  EXPECT_EQ(roofs.compute[0].from, "datasheet, dense");
  EXPECT_EQ(roofs.peak(Precision::bf16).value(), 1e15);
  EXPECT_EQ(roofs.peak(Precision::fp8).value(), 0);
  EXPECT_EQ(roofs.bandwidth(MemoryLevel::hbm).value(), 1e12);
  const std::vector<Ridge> ridges = ridges_at(roofs, MemoryLevel::hbm, false);
  ASSERT_EQ(ridges.size(), 1U);
  EXPECT_DOUBLE_EQ(ridges[0].flops_per_byte, 1000);
  EXPECT_EQ(ridges[0].rate.value(), 1e15);
}

TEST(Roofs, PrecisionWithoutAPeakFallsBackAsPricesDo) {
  Gpu gpu = round_gpu();
  EXPECT_EQ(roofs_of(gpu, profile_of_round_gpu()).limiting(Precision::tf32), Precision::bf16);
  gpu.peak[static_cast<int>(Precision::fp8)] = FlopsPerSecond(2e15);
  EXPECT_EQ(roofs_of(gpu, profile_of_round_gpu()).limiting(Precision::fp8), Precision::fp8);
}

TEST(Roofs, L2IsAssumedWhereNobodyMeasuredIt) {
  const Roofs roofs = roofs_of(round_gpu(), profile_of_round_gpu());
  const std::vector<MemoryRoof> l2 = memory_roofs(roofs, MemoryLevel::l2);
  ASSERT_EQ(l2.size(), 1U);
  EXPECT_EQ(l2[0].basis, RoofBasis::assumed);
  EXPECT_DOUBLE_EQ(l2[0].rate.value(), 2.5e12);
  EXPECT_THAT(l2[0].from, HasSubstr("2.5 x"));
  EXPECT_THAT(l2[0].from, HasSubstr("XLA"));
  EXPECT_FALSE(roofs.measured(MemoryLevel::l2));
  const std::vector<Ridge> ridges = ridges_at(roofs, MemoryLevel::l2, false);
  ASSERT_EQ(ridges.size(), 1U);
  EXPECT_DOUBLE_EQ(ridges[0].flops_per_byte, 400);
}

TEST(Roofs, MeasuredL2TakesItsPlace) {
  Profile profile = profile_of_round_gpu();
  profile.roofs = {{"l2 read", 4e12, "burst"}, {"l2 read", 3e12, "sustained"}};
  const Roofs roofs = roofs_of(round_gpu(), profile);
  const std::vector<MemoryRoof> l2 = memory_roofs(roofs, MemoryLevel::l2);
  ASSERT_EQ(l2.size(), 2U);
  EXPECT_EQ(l2[0].basis, RoofBasis::burst);
  EXPECT_EQ(l2[1].basis, RoofBasis::sustained);
  EXPECT_EQ(roofs.bandwidth(MemoryLevel::l2).value(), 4e12);
  EXPECT_TRUE(roofs.measured(MemoryLevel::l2));
}

TEST(Roofs, NoL2InTheFileIsANoteAndNoSlope) {
  Gpu gpu = round_gpu();
  gpu.l2 = Bytes();
  const Roofs roofs = roofs_of(gpu, profile_of_round_gpu());
  EXPECT_TRUE(memory_roofs(roofs, MemoryLevel::l2).empty());
  EXPECT_TRUE(ridges_at(roofs, MemoryLevel::l2, false).empty());
  EXPECT_EQ(roofs.bandwidth(MemoryLevel::l2).value(), 0);
  EXPECT_THAT(roofs.notes, testing::Contains(HasSubstr("no L2 slope: the file of round says no L2")));
}

TEST(Roofs, MeasuredOnesAreTheHighestOfEachRegime) {
  Profile profile = profile_of_round_gpu();
  profile.roofs = {{"hbm read", 0.92e12, "burst"}, {"hbm copy", 0.88e12, "burst"}, {"hbm read", 0.9e12, "sustained"},
      {"bf16", 8e14, "burst"}, {"bf16", 7e14, "sustained"}, {"bf16 block-scaled", 8.5e14, "burst"},
      {"host_to_device", 5e10, "burst"}};
  const Roofs roofs = roofs_of(round_gpu(), profile);
  const std::vector<ComputeRoof> burst = compute_roofs(roofs, RoofBasis::burst),
                                 sustained = compute_roofs(roofs, RoofBasis::sustained);
  ASSERT_EQ(burst.size(), 1U);
  EXPECT_EQ(burst[0].rate.value(), 8.5e14);
  EXPECT_THAT(burst[0].from, HasSubstr("block-scaled"));
  ASSERT_EQ(sustained.size(), 1U);
  EXPECT_EQ(sustained[0].rate.value(), 7e14);
  const std::vector<MemoryRoof> hbm = memory_roofs(roofs, MemoryLevel::hbm);
  ASSERT_EQ(hbm.size(), 3U);
  EXPECT_EQ(hbm[0].basis, RoofBasis::datasheet) << "first";
  EXPECT_EQ(hbm[1].rate.value(), 0.92e12);
  EXPECT_EQ(hbm[2].rate.value(), 0.9e12);
  const std::vector<Ridge> ridges = ridges_at(roofs, MemoryLevel::hbm, true);
  ASSERT_EQ(ridges.size(), 1U) << "the highest pair";
  EXPECT_EQ(ridges[0].basis, RoofBasis::burst);
  EXPECT_DOUBLE_EQ(ridges[0].flops_per_byte, 8.5e14 / 0.92e12);
  EXPECT_EQ(ridges[0].rate.value(), 8.5e14);
}

TEST(Roofs, FittedLawGivesABurstAndASustainedRoof) {
  Profile profile = profile_of_round_gpu();
  profile.gemm = {roof_law(Precision::bf16, 8e14, Source::fitted)};
  profile.sustained_slowdown = 1.25;
  profile.memory.source = Source::fitted;
  const Roofs roofs = roofs_of(round_gpu(), profile);
  const std::vector<ComputeRoof> fitted = compute_roofs(roofs, RoofBasis::fitted);
  ASSERT_EQ(fitted.size(), 2U);
  EXPECT_EQ(fitted[0].rate.value(), 8e14);
  EXPECT_THAT(fitted[0].from, HasSubstr("bursts"));
  EXPECT_DOUBLE_EQ(fitted[1].rate.value(), 6.4e14);
  EXPECT_THAT(fitted[1].from, HasSubstr("sustained: bursts over 1.25"));
  const std::vector<Ridge> ridges = ridges_at(roofs, MemoryLevel::hbm, true);
  ASSERT_EQ(ridges.size(), 1U);
  EXPECT_DOUBLE_EQ(ridges[0].flops_per_byte, 8e14 / 0.9e12);
}

TEST(Roofs, LawOfSustainedRunsIsNotSlowedAgain) {
  Profile profile = profile_of_round_gpu();
  profile.regime = "sustained";
  profile.gemm = {roof_law(Precision::bf16, 7e14, Source::measured)};
  profile.sustained_slowdown = 1.25;
  const std::vector<ComputeRoof> fitted = compute_roofs(roofs_of(round_gpu(), profile), RoofBasis::fitted);
  ASSERT_EQ(fitted.size(), 1U);
  EXPECT_THAT(fitted[0].from, HasSubstr("sustained"));
}

TEST(Roofs, LawsThatNobodyTimedAreNotRoofsButNotes) {
  for (const Source source : {Source::transferred, Source::datasheet, Source::assumed}) {
    Profile profile = profile_of_round_gpu();
    profile.gemm = {roof_law(Precision::bf16, 8e14, source)};
    const Roofs roofs = roofs_of(round_gpu(), profile);
    EXPECT_TRUE(compute_roofs(roofs, RoofBasis::fitted).empty()) << to_text(source);
    EXPECT_THAT(roofs.notes, testing::Contains(HasSubstr(std::string("bf16 (") + to_text(source) + ")")));
  }
}

TEST(Roofs, ProfileOfAnotherGpuGivesNone) {
  Profile profile = profile_of_round_gpu();
  profile.gpu = "other";
  profile.gemm = {roof_law(Precision::bf16, 8e14, Source::fitted)};
  profile.roofs = {{"bf16", 9e14, "burst"}, {"hbm read", 2e12, "burst"}, {"l2 read", 9e12, "burst"}};
  const Roofs roofs = roofs_of(round_gpu(), profile);
  EXPECT_EQ(roofs.compute.size(), 1U);
  EXPECT_EQ(roofs.memory.size(), 2U) << "the datasheet's HBM and the assumed L2";
  EXPECT_THAT(roofs.notes, testing::Contains(HasSubstr("was measured on other")));
}

TEST(Roofs, UncheckedDatasheetFiguresSaySo) {
  Gpu gpu = round_gpu();
  gpu.unverified = {"peak"};
  EXPECT_THAT(roofs_of(gpu, profile_of_round_gpu()).compute[0].from, HasSubstr("not checked"));
}

// --- frame ---

TEST(Frame, IsWholeDecadesAroundTheRidges) {
  Gpu gpu = round_gpu();
  gpu.peak[static_cast<int>(Precision::fp32)] = FlopsPerSecond(5e12);  // ridges at 5 and 1000
  EXPECT_EQ(roofs_of(gpu, profile_of_round_gpu()).frame, (Frame{-1, 4, 11, 16}));
  gpu.peak[static_cast<int>(Precision::fp8)] = FlopsPerSecond(2e15);  // and at 2000
  EXPECT_EQ(roofs_of(gpu, profile_of_round_gpu()).frame, (Frame{-1, 5, 11, 16}));
}

TEST(Frame, HoldsNarrowAndWideProductsOnAnyGpu) {
  EXPECT_EQ(roofs_of(round_gpu(), profile_of_round_gpu()).frame, (Frame{0, 4, 12, 16}))
      << "although the only ridge is at 1000";
  Gpu gpu = round_gpu();
  gpu.peak[static_cast<int>(Precision::bf16)] = FlopsPerSecond(5e13);  // at 50
  EXPECT_EQ(roofs_of(gpu, profile_of_round_gpu()).frame, (Frame{0, 4, 12, 14}));
}

TEST(Frame, TwoProfilesOfOneGpuHaveTheSame) {
  Profile measured = profile_of_round_gpu();
  measured.gemm = {roof_law(Precision::bf16, 3e15, Source::fitted)};
  measured.roofs = {{"bf16", 5e15, "burst"}, {"hbm read", 9e12, "burst"}, {"l2 read", 9e13, "burst"}};
  EXPECT_EQ(roofs_of(round_gpu(), measured).frame, roofs_of(round_gpu(), profile_of_round_gpu()).frame);
  for (const Gpu& gpu : built_in().gpus) {
    const Frame own = roofs_of(gpu, default_profile(gpu, built_in().profiles)).frame;
    EXPECT_EQ(own, roofs_of(gpu, datasheet_profile(gpu)).frame) << gpu.id;
  }
}

TEST(Frame, HoldsEveryDatasheetRidgeAndPeakOfTheCatalogue) {
  for (const Gpu& gpu : built_in().gpus) {
    const Roofs roofs = roofs_of(gpu, datasheet_profile(gpu));
    const Frame frame = roofs.frame;
    ASSERT_FALSE(ridges_at(roofs, MemoryLevel::hbm, false).empty()) << gpu.id;
    for (const Ridge& ridge : ridges_at(roofs, MemoryLevel::hbm, false)) {
      EXPECT_GE(std::log10(ridge.flops_per_byte) - frame.x_low, 1) << gpu.id;
      EXPECT_GE(frame.x_high - std::log10(ridge.flops_per_byte), 1) << gpu.id;
      EXPECT_LT(std::log10(ridge.rate.value()), frame.y_high) << gpu.id;
      EXPECT_GT(std::log10(ridge.rate.value()), frame.y_low) << gpu.id;
    }
    EXPECT_LE(frame.x_high - frame.x_low, 7) << gpu.id << ": the picture would be empty";
  }
}

TEST(Frame, GpuWithoutRatesHasAUsualOneAndSaysSo) {
  Gpu gpu;
  gpu.id = "bare";
  const Roofs roofs = roofs_of(gpu, profile_of_round_gpu());
  EXPECT_EQ(roofs.frame, Frame{});
  EXPECT_THAT(roofs.notes, testing::Contains(HasSubstr("the frame of the picture is a usual one")));
  EXPECT_TRUE(roofs.ridges.empty());
}

}  // namespace
}  // namespace stepcast::roofline
