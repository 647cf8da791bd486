// Size curves of collectives and their transfer to counts and kinds that nobody measured.
#include <gtest/gtest.h>

#include <cmath>

#include "model/profile/collective_law.h"

namespace stepcast {
namespace {

/// 10 us + 1 us per rank; 100 GB/s; the saturating part p = 1: half a megabyte costs another 5 us.
CollectiveCurve ring_curve(CollectiveKind kind, int ranks) {
  CollectiveCurve curve;
  curve.kind = kind;
  curve.ranks = ranks;
  curve.latency = Seconds((10 + ranks) * 1e-6);
  curve.bandwidth = BytesPerSecond(100e9);
  curve.half = Bytes(0.5e6);
  curve.source = Source::fitted;
  return curve;
}

double time_of(const Profile& profile, CollectiveKind kind, int ranks, double bytes) {
  return collective_time(profile, kind, FabricKind::nvswitch, ranks, Bytes(bytes))->time.value();
}

TEST(CollectiveCurve, law_by_hand) {
  // 12 us + 10 MB / 100 GB/s (100 us) + 5 us.
  EXPECT_NEAR(curve_time(ring_curve(CollectiveKind::all_gather, 2), Bytes(10e6)).value(), 117e-6, 1e-12);
  CollectiveCurve square_root = ring_curve(CollectiveKind::all_gather, 2);
  square_root.p = 0.5;
  EXPECT_NEAR(curve_time(square_root, Bytes(0.5e6)).value(), 12e-6 + 2 * 5e-6, 1e-12);
  EXPECT_NEAR(curve_time(square_root, Bytes(0)).value(), 12e-6, 1e-15);
}

TEST(CollectiveCurve, points_are_met_and_joined_log_log) {
  CollectiveCurve curve = ring_curve(CollectiveKind::all_gather, 2);
  curve.points = {{Bytes(1e6), Seconds(40e-6)}, {Bytes(4e6), Seconds(160e-6)}, {Bytes(16e6), Seconds(320e-6)}};
  EXPECT_NEAR(curve_time(curve, Bytes(1e6)).value(), 40e-6, 1e-15);
  EXPECT_NEAR(curve_time(curve, Bytes(2e6)).value(), 80e-6, 1e-12);
  EXPECT_NEAR(curve_time(curve, Bytes(8e6)).value(), 160e-6 * std::sqrt(2), 1e-12);
  EXPECT_NEAR(curve_time(curve, Bytes(16e6)).value(), 320e-6, 1e-12);
  // Beyond the last point the law's slope: 10 MB more at 100 GB/s.
  EXPECT_NEAR(curve_time(curve, Bytes(26e6)).value(), 420e-6, 1e-12);
}

TEST(CollectiveCurve, time_rises_with_size_across_the_ends_of_the_points) {
  CollectiveCurve curve = ring_curve(CollectiveKind::all_reduce, 8);
  curve.p = 0.4;
  curve.points = {{Bytes(1e5), Seconds(21e-6)}, {Bytes(1e6), Seconds(30e-6)}, {Bytes(1e8), Seconds(900e-6)}};
  double before = 0;
  for (double bytes = 1e2; bytes < 1e11; bytes *= 1.07) {
    const double time = curve_time(curve, Bytes(bytes)).value();
    EXPECT_GT(time, before) << bytes;
    if (before > 0) {
      EXPECT_LT(time, before * 1.2) << "a jump at " << bytes;
    }
    before = time;
  }
}

TEST(CollectiveCurve, nearest_count_wins) {
  Profile profile;
  for (const int ranks : {2, 4, 8}) profile.collectives.push_back(ring_curve(CollectiveKind::all_gather, ranks));
  const auto ranks_for = [&](int ranks) {
    return find_curve(profile, CollectiveKind::all_gather, FabricKind::nvswitch, ranks)->ranks;
  };
  EXPECT_EQ(ranks_for(4), 4);
  EXPECT_EQ(ranks_for(3), 4);
  EXPECT_EQ(ranks_for(5), 4);
  EXPECT_EQ(ranks_for(6), 8);
  EXPECT_EQ(ranks_for(72), 8);
  EXPECT_EQ(find_curve(profile, CollectiveKind::all_gather, FabricKind::pcie, 2), nullptr);
  EXPECT_EQ(find_curve(profile, CollectiveKind::send_recv, FabricKind::nvswitch, 2), nullptr);
}

TEST(CollectiveTime, a_fitted_count_is_the_curve_itself) {
  Profile profile;
  profile.collectives = {ring_curve(CollectiveKind::all_gather, 2)};
  const auto rated = collective_time(profile, CollectiveKind::all_gather, FabricKind::nvswitch, 2, Bytes(10e6));
  EXPECT_NEAR(rated->time.value(), 117e-6, 1e-12);
  EXPECT_EQ(rated->source, Source::fitted);
  EXPECT_EQ(rated->curve, &profile.collectives[0]);
}

TEST(CollectiveTime, latency_grows_linearly_with_ranks_of_a_ring) {
  Profile profile;
  for (const int ranks : {4, 8}) profile.collectives.push_back(ring_curve(CollectiveKind::all_gather, ranks));
  // 16 ranks: 10 + 16 us; nothing received beside it.
  EXPECT_NEAR(time_of(profile, CollectiveKind::all_gather, 16, 0), 26e-6, 1e-12);
  // The bandwidth term of 8 ranks at the same buffer: x (7/8)/(15/16) received there, time scaled back. Without `half`
  // that is x / bandwidth again.
  for (auto& curve : profile.collectives) curve.half = Bytes(0);
  EXPECT_NEAR(time_of(profile, CollectiveKind::all_gather, 16, 100e6), 1026e-6, 1e-11);
}

TEST(CollectiveTime, all_to_all_keeps_its_latency) {
  Profile profile;
  for (const int ranks : {4, 8}) profile.collectives.push_back(ring_curve(CollectiveKind::all_to_all, ranks));
  EXPECT_NEAR(time_of(profile, CollectiveKind::all_to_all, 16, 0), 18e-6, 1e-12);
}

TEST(CollectiveTime, transfers_say_so_and_widen) {
  Profile profile;
  profile.collectives = {ring_curve(CollectiveKind::all_gather, 8)};
  profile.collectives[0].spread = {0.9, 1.1};
  const auto other_count = collective_time(profile, CollectiveKind::all_gather, FabricKind::nvswitch, 4, Bytes(1e6));
  EXPECT_EQ(other_count->source, Source::transferred);
  EXPECT_NEAR(other_count->spread.p90, 1.1 * 1.12, 1e-12);
  const auto other_kind = collective_time(profile, CollectiveKind::reduce_scatter, FabricKind::nvswitch, 8, Bytes(1e6));
  EXPECT_EQ(other_kind->source, Source::transferred);
  EXPECT_EQ(other_kind->curve->kind, CollectiveKind::all_gather);
}

TEST(CollectiveTime, a_missing_all_reduce_is_a_scatter_and_a_gather) {
  Profile profile;
  profile.collectives = {ring_curve(CollectiveKind::all_gather, 8)};
  EXPECT_NEAR(time_of(profile, CollectiveKind::all_reduce, 8, 20e6),
      2 * curve_time(profile.collectives[0], Bytes(10e6)).value(), 1e-12);
}

TEST(CollectiveTime, growth_learned_elsewhere_takes_the_place_of_the_rule) {
  Profile profile;
  profile.collectives = {ring_curve(CollectiveKind::all_gather, 4)};
  profile.growth = {{CollectiveKind::all_gather, FabricKind::nvswitch, 4, 8, {{Bytes(1e6), 1.5}, {Bytes(4e6), 1.1}},
      Source::transferred, {0.9, 1.2}, "another system"}};
  // The buffer of 8 MB is beyond the last point: 1.1 of the time that 4 ranks take for it, of which 3/4 are received.
  const auto rated = collective_time(profile, CollectiveKind::all_gather, FabricKind::nvswitch, 8, Bytes(8e6 * 7 / 8));
  EXPECT_NEAR(rated->time.value(), 1.1 * curve_time(profile.collectives[0], Bytes(6e6)).value(), 1e-12);
  EXPECT_EQ(rated->source, Source::transferred);
  EXPECT_DOUBLE_EQ(rated->spread.p90, 1.2);
  EXPECT_NEAR(growth_at(profile.growth[0], Bytes(2e6)), std::sqrt(1.5 * 1.1), 1e-12);
  EXPECT_DOUBLE_EQ(growth_at(profile.growth[0], Bytes(1)), 1.5);
}

TEST(CollectiveTime, curves_across_nodes_do_not_speak_for_a_node) {
  Profile profile;
  profile.collectives = {ring_curve(CollectiveKind::all_gather, 8)};
  profile.collectives[0].nodes = 2;
  EXPECT_FALSE(collective_time(profile, CollectiveKind::all_gather, FabricKind::nvswitch, 8, Bytes(1e6)).has_value());
}

TEST(CollectiveCurve, widths_are_interpolated_over_sizes) {
  CollectiveCurve curve = ring_curve(CollectiveKind::all_gather, 8);
  curve.spread = {0.8, 1.3};
  EXPECT_DOUBLE_EQ(curve_spread(curve, Bytes(1e3)).p90, 1.3);
  curve.widths = {{Bytes(1e3), {0.9, 1.1}}, {Bytes(1e5), {0.7, 1.5}}};
  EXPECT_DOUBLE_EQ(curve_spread(curve, Bytes(1)).p10, 0.9);
  EXPECT_NEAR(curve_spread(curve, Bytes(1e4)).p90, 1.3, 1e-12);  // half-way in log size
  EXPECT_DOUBLE_EQ(curve_spread(curve, Bytes(1e9)).p10, 0.7);
}

TEST(CollectiveTime, one_rank_is_free_and_unknown_fabrics_are_unknown) {
  Profile profile;
  profile.collectives = {ring_curve(CollectiveKind::all_gather, 8)};
  EXPECT_EQ(time_of(profile, CollectiveKind::all_gather, 1, 1e9), 0);
  EXPECT_FALSE(collective_time(profile, CollectiveKind::all_gather, FabricKind::pcie, 8, Bytes(1e6)).has_value());
  EXPECT_TRUE(collective_time(profile, CollectiveKind::all_gather, FabricKind::nvlink_mesh, 8, Bytes(1e6)).has_value());
}

TEST(CollectiveTime, received_share_is_the_bus_factor_of_nccl_tests) {
  EXPECT_DOUBLE_EQ(received_share(CollectiveKind::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(received_share(CollectiveKind::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(received_share(CollectiveKind::all_to_all, 4), 0.75);
  EXPECT_DOUBLE_EQ(received_share(CollectiveKind::send_recv, 2), 1);
}

}  // namespace
}  // namespace stepcast
