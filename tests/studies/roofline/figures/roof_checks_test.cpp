// Points against roofs: on the ridge, outside of the frame, above what is possible.
#include "studies/roofline/figures/roof_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::roofline {
namespace {

using testing::HasSubstr;
using testing::Not;

/// 1 PFLOP/s and 1 TB/s: a ridge at 1000 FLOP/B.
Roofs two_round_roofs() {
  Roofs roofs;
  roofs.compute = {{Precision::bf16, RoofBasis::datasheet, FlopsPerSecond(1e15), ""}};
  roofs.memory = {{MemoryLevel::hbm, RoofBasis::datasheet, BytesPerSecond(1e12), ""}};
  roofs.frame = {2, 4, 14, 16};
  return roofs;
}

RoofPoint point_at(double flops_per_byte, double rate) {
  return {Precision::bf16, flops_per_byte, FlopsPerSecond(rate),
      BytesPerSecond(flops_per_byte > 0 ? rate / flops_per_byte : 0)};
}
RoofPoint streaming_point(double bandwidth) {
  return {Precision::bf16, 0, FlopsPerSecond(), BytesPerSecond(bandwidth)};
}

TEST(RoofChecks, PointOnTheRidgeHasAllOfTheRoof) {
  const RoofPoint ridge = point_at(1000, 1e15);
  EXPECT_DOUBLE_EQ(share_of_roof(two_round_roofs(), ridge), 1);
  EXPECT_EQ(above_roof(two_round_roofs(), ridge), "");
  EXPECT_EQ(outside_frame(two_round_roofs().frame, ridge.flops_per_byte, ridge.rate), "");
}

TEST(RoofChecks, ShareIsOfTheLowerRoof) {
  EXPECT_DOUBLE_EQ(share_of_roof(two_round_roofs(), point_at(100, 5e13)), 0.5);
  EXPECT_DOUBLE_EQ(share_of_roof(two_round_roofs(), point_at(4000, 5e14)), 0.5);
  EXPECT_DOUBLE_EQ(share_of_roof(two_round_roofs(), streaming_point(8e11)), 0.8);
  EXPECT_EQ(share_of_roof(Roofs{}, point_at(100, 5e13)), 0) << "nothing is known";
}

TEST(RoofChecks, OutsideSaysWhereAndTheTrueValue) {
  const Frame frame = two_round_roofs().frame;
  EXPECT_EQ(outside_frame(frame, 0, FlopsPerSecond()), "no FLOPs counted");
  EXPECT_EQ(outside_frame(frame, 50, FlopsPerSecond(2e14)), "50 FLOP/B lies left of the frame");
  EXPECT_EQ(outside_frame(frame, 20000, FlopsPerSecond(2e14)), "2e+04 FLOP/B lies right of the frame");
  EXPECT_EQ(outside_frame(frame, 200, FlopsPerSecond(5e13)), "50.0 TFLOP/s lies below the frame");
  EXPECT_THAT(outside_frame(frame, 20, FlopsPerSecond(2e16)), HasSubstr("20 FLOP/B lies left of the frame, "));
  EXPECT_THAT(outside_frame(frame, 20, FlopsPerSecond(2e16)), HasSubstr("lies above the frame"));
  EXPECT_EQ(outside_frame(frame, 100, FlopsPerSecond(1e14)), "") << "the edge is inside";
}

TEST(RoofChecks, UpToOnePercentAboveIsSilent) {
  EXPECT_EQ(above_roof(two_round_roofs(), point_at(1000, 1.009e15)), "");
  EXPECT_NE(above_roof(two_round_roofs(), point_at(1000, 1.011e15)), "");
}

TEST(RoofChecks, AboveSaysByHowMuchAndWhatToCheck) {
  const std::string slope = above_roof(two_round_roofs(), point_at(100, 1.2e14));
  EXPECT_THAT(slope, HasSubstr("20 % above the datasheet roof of 100 TFLOP/s at 100 FLOP/B"));
  for (const char* check : {"GB or GiB", "dense or sparse", "causal", "boost", "L2"})
    EXPECT_THAT(slope, HasSubstr(check));
  EXPECT_THAT(
      above_roof(two_round_roofs(), point_at(5000, 2e15)), HasSubstr("100 % above the datasheet roof of 1.00 PFLOP/s"));
  const std::string stream = above_roof(two_round_roofs(), streaming_point(1.5e12));
  EXPECT_THAT(stream, HasSubstr("50 % above the datasheet roof of 1.00 TB/s"));
  EXPECT_THAT(stream, Not(HasSubstr("causal")));
}

TEST(RoofChecks, MeasuredBurstRoofCountsToo) {
  Roofs roofs = two_round_roofs();
  roofs.compute.push_back({Precision::bf16, RoofBasis::burst, FlopsPerSecond(8e14), ""});
  roofs.memory.push_back({MemoryLevel::hbm, RoofBasis::burst, BytesPerSecond(9e11), ""});
  const std::string between = above_roof(roofs, point_at(4000, 8.8e14));
  EXPECT_THAT(between, HasSubstr("10 % above the measured burst roof of 800 TFLOP/s"));
  EXPECT_THAT(between, Not(HasSubstr("datasheet roof")));
  const std::string both = above_roof(roofs, point_at(4000, 1.6e15));
  EXPECT_THAT(both, HasSubstr("60 % above the datasheet roof"));
  EXPECT_THAT(both, HasSubstr("100 % above the measured burst roof"));
  EXPECT_EQ(above_roof(roofs, point_at(4000, 7e14)), "");
}

TEST(RoofChecks, SustainedAndFittedRoofsAreNoLimits) {
  Roofs roofs = two_round_roofs();
  roofs.compute.push_back({Precision::bf16, RoofBasis::sustained, FlopsPerSecond(6e14), ""});
  roofs.compute.push_back({Precision::bf16, RoofBasis::fitted, FlopsPerSecond(7e14), ""});
  EXPECT_EQ(above_roof(roofs, point_at(4000, 9e14)), "");
}

}  // namespace
}  // namespace stepcast::roofline
