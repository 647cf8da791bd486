// Size curves from calls that a known law made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "calibrate/fit/fit_collective.h"
#include "calibrate/fit/numeric/smooth_curve.h"

namespace stepcast::calibrate {
namespace {

using Calls = std::vector<Sample<CollectiveQuery>>;

CollectiveCurve made_curve() {
  CollectiveCurve curve;
  curve.latency = Seconds(12e-6);
  curve.bandwidth = BytesPerSecond(200e9);
  curve.half = Bytes(4e6);
  curve.p = 0.5;
  return curve;
}

Sample<CollectiveQuery> made_call(CollectiveKind kind, int ranks, int nodes, double buffer) {
  const CollectiveQuery query{kind, ranks, nodes, Bytes(buffer)};
  return {query, curve_time(made_curve(), received_of(query))};
}

/// 1 KiB to 4 GiB in doublings: 23 sizes.
Calls made_calls(CollectiveKind kind, int ranks, int nodes = 1) {
  Calls calls;
  for (double bytes = 1024; bytes <= 1024.0 * 1024 * 1024 * 4; bytes *= 2)
    calls.push_back(made_call(kind, ranks, nodes, bytes));
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
  EXPECT_EQ(fitted->law.nodes, 1);
  EXPECT_EQ(fitted->law.points.size(), 23u);
  EXPECT_EQ(fitted->law.source, Source::measured);
  EXPECT_EQ(fitted->samples, 23);
  EXPECT_EQ(fitted->law.held_out.samples, 23);
  EXPECT_LT(fitted->law.held_out.mape, 0.05);  // log-log lines through points a factor of 4 apart, on a bent curve
  EXPECT_EQ(fitted->smoothing, 0);             // nothing scatters
}

TEST(FitCurve, repeats_count_as_their_median) {
  Calls calls = made_calls(CollectiveKind::all_gather, 4);
  const std::size_t sizes = calls.size();
  for (std::size_t i = 0; i < sizes; ++i) {
    calls.push_back(calls[i]);
    calls.push_back(calls[i]);
    calls.back().time = calls[i].time * 30;  // a disturbed repeat
  }
  const auto fitted = fit_curve(calls, FabricKind::nvswitch);
  ASSERT_TRUE(fitted.has_value());
  const Bytes received = received_of(calls[5].query);
  EXPECT_NEAR(curve_time(fitted->law, received) / curve_time(made_curve(), received), 1, 0.01);
}

TEST(FitCurve, held_out_figures_are_those_of_the_noise) {
  // Every second repeat takes 10 % longer: half of the calls is forecast 5 % low, half 5 % high, or so.
  Calls calls;
  for (int repeat = 0; repeat < 10; ++repeat)
    for (Sample<CollectiveQuery> call : made_calls(CollectiveKind::all_reduce, 8)) {
      if (repeat % 2 == 1) call.time = call.time * 1.1;
      calls.push_back(call);
    }
  const auto fitted = fit_curve(calls, FabricKind::nvswitch);
  ASSERT_TRUE(fitted.has_value());
  const HeldOut& held_out = fitted->law.held_out;
  EXPECT_EQ(held_out.samples, 230);
  EXPECT_GT(held_out.mape, 0.04);
  EXPECT_LT(held_out.mape, 0.06);
  EXPECT_NEAR(fitted->law.spread.p90 / fitted->law.spread.p10, 1.1, 0.04);
  EXPECT_FALSE(fitted->law.widths.empty());
  ASSERT_EQ(fitted->predicted.size(), calls.size());
  EXPECT_NEAR(fitted->predicted[7] / calls[7].time.value(), 1.05, 0.06);
}

TEST(FitCurve, fine_sweeps_are_thinned_and_rise) {
  Calls calls;
  for (double bytes = 1000; bytes < 1e9; bytes *= 1.1)
    calls.push_back(made_call(CollectiveKind::all_reduce, 8, 1, bytes));
  calls[40].time = calls[40].time * 0.5;
  const auto fitted = fit_curve(calls, FabricKind::nvswitch);
  ASSERT_TRUE(fitted.has_value());
  const auto& points = fitted->law.points;
  EXPECT_LT(points.size(), 52u);
  for (std::size_t i = 1; i < points.size(); ++i) EXPECT_GE(points[i].time, points[i - 1].time);
  EXPECT_EQ(points.back().received, received_of(calls.back().query));
}

TEST(FitCurve, one_size_is_too_few_and_two_are_untested) {
  Calls calls = made_calls(CollectiveKind::all_gather, 4);
  calls.resize(1);
  EXPECT_EQ(fit_curve(calls, FabricKind::nvswitch).error().what, "1 sizes");
  calls = made_calls(CollectiveKind::all_gather, 4);
  calls.resize(2);
  const auto fitted = fit_curve(calls, FabricKind::nvswitch);
  ASSERT_TRUE(fitted.has_value());
  EXPECT_EQ(fitted->law.held_out.samples, 0);
  EXPECT_DOUBLE_EQ(fitted->law.spread.p90, 1.25);
}

TEST(FitCurve, the_same_calls_in_another_order_give_the_same_curve) {
  Calls calls = made_calls(CollectiveKind::all_gather, 4);
  const auto once = fit_curve(calls, FabricKind::nvswitch);
  std::reverse(calls.begin(), calls.end());
  const auto again = fit_curve(calls, FabricKind::nvswitch);
  ASSERT_TRUE(once && again);
  EXPECT_EQ(once->law.latency, again->law.latency);
  EXPECT_EQ(once->law.held_out.mape, again->law.held_out.mape);
  EXPECT_EQ(once->predicted.front(), again->predicted.back());
}

TEST(FitCurves, one_per_kind_count_and_number_of_nodes) {
  Calls calls;
  const auto add = [&](const Calls& more) { calls.insert(calls.end(), more.begin(), more.end()); };
  add(made_calls(CollectiveKind::all_reduce, 16, 2));
  add(made_calls(CollectiveKind::all_reduce, 16, 4));
  add(made_calls(CollectiveKind::all_gather, 16, 2));
  const auto curves = fit_curves(calls, FabricKind::infiniband, "dgx-h100");
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_EQ(curves[0].law.kind, CollectiveKind::all_gather);
  EXPECT_EQ(curves[1].law.nodes, 2);
  EXPECT_EQ(curves[2].law.nodes, 4);
  EXPECT_EQ(curves[2].law.network, "dgx-h100");
}

TEST(FitCurves, nvlink_joins_servers_into_one_domain) {
  const auto curves = fit_curves(made_calls(CollectiveKind::all_reduce, 8, 2), FabricKind::nvswitch, "gb200-nvl72");
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].law.nodes, 1);
  EXPECT_EQ(curves[0].law.network, "");
}

TEST(SmoothCurve, an_outlier_between_good_neighbours_hardly_moves_the_line) {
  // 1 us per 1000 bytes; one size at three times its time.
  std::vector<SizeMedian> medians;
  for (double size = 1000; size < 1e6; size *= std::sqrt(2)) medians.push_back({size, size * 1e-9, 1});
  medians[6].time *= 3;
  const auto points = smoothed(medians, 0.6);
  EXPECT_NEAR(points[6].time.value() / (medians[6].size * 1e-9), 1, 0.15);
  EXPECT_NEAR(points[12].time.value() / (medians[12].size * 1e-9), 1, 1e-3);
}

TEST(SmoothCurve, times_that_fall_are_pooled) {
  // 2 us then 1 us: both become their geometric mean, sqrt(2) us; with three repeats behind the second, 2^(1/4) us.
  const auto even = smoothed(std::vector<SizeMedian>{{1e3, 2e-6, 1}, {2e3, 1e-6, 1}, {4e3, 8e-6, 1}}, 0);
  EXPECT_NEAR(even[0].time.value(), std::sqrt(2) * 1e-6, 1e-12);
  EXPECT_NEAR(even[1].time.value(), std::sqrt(2) * 1e-6, 1e-12);
  EXPECT_NEAR(even[2].time.value(), 8e-6, 1e-12);
  const auto weighted = smoothed(std::vector<SizeMedian>{{1e3, 2e-6, 1}, {2e3, 1e-6, 3}}, 0);
  EXPECT_NEAR(weighted[0].time.value(), std::pow(2, 0.25) * 1e-6, 1e-12);
}

TEST(SmoothCurve, thinning_keeps_both_ends) {
  std::vector<CollectiveCurve::Point> points;
  for (int i = 10; i <= 19; ++i) points.push_back({Bytes(i), Seconds(i)});
  const auto kept = thinned(points, 1.3);  // 10, 13, 17; 17 gives way to the end
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[1].received, Bytes(13));
  EXPECT_EQ(kept[2].received, Bytes(19));
}

}  // namespace
}  // namespace stepcast::calibrate
