// Size curves from calls that a known law made.
#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/fit_collective.h"

namespace stepcast {
namespace {

CollectiveCurve made_curve() {
  CollectiveCurve curve;
  curve.latency = Seconds(12e-6);
  curve.bandwidth = BytesPerSecond(200e9);
  curve.half = Bytes(4e6);
  curve.p = 0.5;
  return curve;
}

std::vector<CollectiveMeasurement> made_calls(CollectiveKind kind, int ranks) {
  std::vector<CollectiveMeasurement> calls;
  for (double bytes = 1024; bytes <= 1024.0 * 1024 * 1024 * 4; bytes *= 2)
    calls.push_back({kind, ranks, 1, Bytes(bytes), curve_time(made_curve(), Bytes(bytes))});
  return calls;
}

TEST(FitCurve, recovers_the_law_and_keeps_the_points) {
  const auto fitted = fit_curve(made_calls(CollectiveKind::all_gather, 4), FabricKind::nvswitch);
  ASSERT_TRUE(fitted.has_value());
  EXPECT_NEAR(fitted->law.latency.value(), 12e-6, 0.12e-6);
  EXPECT_NEAR(fitted->law.bandwidth.value(), 200e9, 2e9);
  EXPECT_NEAR(fitted->law.half.value(), 4e6, 0.1e6);
  EXPECT_NEAR(fitted->law.p, 0.5, 0.005);
  EXPECT_EQ(fitted->law.ranks, 4);
  EXPECT_EQ(fitted->law.points.size(), 23u);
  EXPECT_EQ(fitted->law.source, Source::measured);
  EXPECT_LT(fitted->error.mape, 0.05);  // log-log lines through points a factor of 4 apart, on a bent curve
}

TEST(FitCurve, repeats_count_as_their_median) {
  std::vector<CollectiveMeasurement> calls = made_calls(CollectiveKind::all_gather, 4);
  const std::size_t sizes = calls.size();
  for (std::size_t i = 0; i < sizes; ++i) {
    calls.push_back(calls[i]);
    calls.push_back(calls[i]);
    calls.back().time = calls[i].time * 30;  // a disturbed repeat
  }
  const auto fitted = fit_curve(calls, FabricKind::nvswitch);
  ASSERT_TRUE(fitted.has_value());
  EXPECT_NEAR(fitted->law.points[5].time.value(), curve_time(made_curve(), Bytes(32768)).value(), 1e-12);
}

TEST(FitCurve, points_are_at_least_nearly_a_doubling_apart_and_rise) {
  std::vector<CollectiveMeasurement> calls;
  for (double bytes = 1000; bytes < 1e9; bytes *= 1.1)
    calls.push_back({CollectiveKind::all_reduce, 8, 1, Bytes(bytes), curve_time(made_curve(), Bytes(bytes))});
  calls[40].time = calls[40].time * 0.5;
  const auto fitted = fit_curve(calls, FabricKind::nvswitch);
  ASSERT_TRUE(fitted.has_value());
  const auto& points = fitted->law.points;
  EXPECT_LT(points.size(), 25u);
  for (std::size_t i = 1; i < points.size(); ++i) EXPECT_GE(points[i].time, points[i - 1].time);
  EXPECT_EQ(points.back().received, calls.back().received);
}

TEST(FitCurve, four_sizes_are_too_few) {
  std::vector<CollectiveMeasurement> calls = made_calls(CollectiveKind::all_gather, 4);
  calls.resize(4);
  EXPECT_EQ(fit_curve(calls, FabricKind::nvswitch).error().what, "4 sizes");
}

TEST(FitCurves, one_per_kind_and_count_within_a_node) {
  std::vector<CollectiveMeasurement> calls;
  for (const auto& [kind, ranks] : {std::pair{CollectiveKind::all_reduce, 8}, {CollectiveKind::all_gather, 8}, {CollectiveKind::all_gather, 2}})
    for (const CollectiveMeasurement& call : made_calls(kind, ranks)) calls.push_back(call);
  for (CollectiveMeasurement call : made_calls(CollectiveKind::all_reduce, 16)) {
    call.nodes = 2;
    calls.push_back(call);
  }
  const auto curves = fit_curves(calls, FabricKind::nvswitch);
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_EQ(curves[0].law.ranks, 2);
  EXPECT_EQ(curves[2].law.kind, CollectiveKind::all_reduce);
}

TEST(ScaleOutError, of_calls_that_take_twice_as_long) {
  const ScaleOutLaw law{FabricKind::infiniband, 0.9, Seconds(25e-6), Seconds(12e-6), Seconds(0), Source::assumed, {}};
  const BytesPerSecond port(50e9);
  std::vector<ScaleOutCall> calls;
  for (const double bytes : {1e3, 1e8, 1e9})
    calls.push_back({{CollectiveKind::all_reduce, 32, 4, Bytes(bytes), scale_out_time(law, Bytes(bytes), 4, 8, port) * 2}, port, 8});
  const HoldoutError error = scale_out_error(law, calls, Bytes(1e6));
  EXPECT_EQ(error.samples, 2);
  EXPECT_DOUBLE_EQ(error.median, 2);
  EXPECT_DOUBLE_EQ(error.mape, 0.5);
}

}  // namespace
}  // namespace stepcast
