// Which law answers a collective on a machine, and how curves are carried across nodes.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "model/catalog.h"
#include "model/profile/collective_law.h"

namespace stepcast {
namespace {

/// Nodes of 8 GPUs, 400 GB/s inside, one port of 50 GB/s for each.
Machine law_machine() {
  Machine machine;
  machine.id = "round-numbers";
  machine.gpu.architecture = "hopper";
  machine.levels = {
      {"node", FabricKind::nvswitch, 8, BytesPerSecond(400e9), BytesPerSecond(50e9), 8, Seconds(1e-6), false},
      {"cluster", FabricKind::infiniband, 512, BytesPerSecond(50e9), BytesPerSecond(50e9), 8, Seconds(5e-6), false}};
  return machine;
}

CollectiveCurve law_curve(CollectiveKind kind, int ranks, int nodes, double latency, double bandwidth) {
  CollectiveCurve curve;
  curve.kind = kind;
  curve.ranks = ranks;
  curve.nodes = nodes;
  curve.fabric = nodes > 1 ? FabricKind::infiniband : FabricKind::nvswitch;
  curve.latency = Seconds(latency);
  curve.bandwidth = BytesPerSecond(bandwidth);
  curve.source = Source::measured;
  return curve;
}

CollectiveTime asked(const Profile& profile, CollectiveKind kind, int ranks, int nodes, double bytes) {
  return collective_time(law_machine(), profile, CollectiveQuery{kind, ranks, nodes, Bytes(bytes)}).value();
}

TEST(CollectiveLaw, within_a_node_the_curve) {
  Profile profile;
  profile.collectives = {law_curve(CollectiveKind::all_gather, 8, 1, 10e-6, 350e9)};
  // 7/8 of 400 MB are 350 MB: 1 ms and 10 us.
  const CollectiveTime time = asked(profile, CollectiveKind::all_gather, 8, 1, 400e6);
  EXPECT_NEAR(time.time.value(), 1010e-6, 1e-12);
  EXPECT_EQ(time.bound, CollectiveBound::bandwidth);
  EXPECT_EQ(time.source, Source::measured);
  EXPECT_STREQ(time.law, "curve nvswitch all_gather");
  EXPECT_EQ(asked(profile, CollectiveKind::all_gather, 8, 1, 1e6).bound, CollectiveBound::latency);
}

/// 8 GPUs, each with a link of 50 GB/s to each other: two have one of the seven, so that 1/2 of 100 MB takes seven
/// times as long as through all.
TEST(CollectiveLaw, few_ranks_of_a_full_mesh_have_few_links) {
  Profile profile;
  profile.collectives = {law_curve(CollectiveKind::all_gather, 8, 1, 10e-6, 350e9)};
  Machine machine = law_machine();
  const auto seconds = [&](int ranks) {
    const CollectiveQuery query{CollectiveKind::all_gather, ranks, 1, Bytes(100e6)};
    return collective_time(machine, profile, query).value().time.value();
  };
  const double of_two = seconds(2), of_eight = seconds(8);
  machine.levels[0].fabric = FabricKind::nvlink_mesh;
  machine.levels[0].ports = 6;
  EXPECT_DOUBLE_EQ(seconds(2), of_two) << "links that do not join each to each say nothing";
  machine.levels[0].ports = 7;
  EXPECT_NEAR(seconds(2), of_two + 6 * 50e6 / 350e9, 1e-9);
  EXPECT_DOUBLE_EQ(seconds(8), of_eight);
}

TEST(CollectiveLaw, without_any_curve_the_model_of_nccl) {
  const CollectiveTime time = asked({}, CollectiveKind::all_gather, 8, 1, 8);
  EXPECT_STREQ(time.law, "NCCL tuning model");
  EXPECT_EQ(time.source, Source::datasheet);
  EXPECT_NEAR(time.time.value(), 10.8e-6, 1e-9);
}

TEST(CollectiveLaw, across_nodes_the_ports_or_the_node_whichever_is_slower) {
  Profile profile;
  profile.collectives = {law_curve(CollectiveKind::all_gather, 8, 1, 10e-6, 350e9)};
  profile.scale_out = {
      {FabricKind::infiniband, 0.8, Seconds(20e-6), Seconds(10e-6), Seconds(0), Source::assumed, {0.8, 1.3}}};
  // 32 ranks receive 31/32 of 3.2 GB through 8 ports of 40 GB/s: 9.6875 ms; beside it the 10 us of the node and
  // 20 + 2 x 10 us, or where the law asks for it NCCL's ring: 28 hops inside and 3 of the network.
  const CollectiveTime time = asked(profile, CollectiveKind::all_gather, 32, 4, 3.2e9);
  EXPECT_NEAR(time.time.value(), 9687.5e-6 + 10e-6 + 40e-6, 1e-10);
  profile.scale_out[0].ring_hops = 1;
  // 14 + 28 x 1.9 + 3 x 4 us.
  EXPECT_NEAR(asked(profile, CollectiveKind::all_gather, 32, 4, 3.2e9).time.value(), 9697.5e-6 + 79.2e-6, 1e-10);
  EXPECT_STREQ(time.law, "ports infiniband");
  EXPECT_EQ(time.source, Source::assumed);
  EXPECT_DOUBLE_EQ(time.spread.p90, 1.3);
}

// One rank per node, so that nothing is inside: 160 MB at half their rate where a port's part is half of 160 MB.
TEST(CollectiveLaw, small_parts_of_a_port_run_below_its_rate) {
  Profile profile;
  ScaleOutLaw law{FabricKind::infiniband, 0.8, Seconds(20e-6), Seconds(10e-6), Seconds(0), Source::assumed, {0.8, 1.3}};
  law.half = Bytes(160e6);
  profile.scale_out = {law};
  const auto time = [&] { return asked(profile, CollectiveKind::all_reduce, 2, 2, 160e6).time.value(); };
  EXPECT_NEAR(time(), 30e-6 + 2 * 4e-3, 1e-9);
  profile.scale_out[0].cap = BytesPerSecond(1e9);
  EXPECT_NEAR(time(), 30e-6 + 2 * 0.2, 1e-9);
}

// Published all_reduce tables of 16 ranks on two nodes, 8 GiB, in ms: no curve across nodes is in the profiles.
TEST(CollectiveLaw, trees_of_two_nodes_run_near_the_rate_of_one) {
  const auto milliseconds = [](const char* machine) {
    const Machine* row = find_row(built_in().machines, machine, "machine").value();
    const Profile profile = default_profile(row->gpu, built_in().profiles);
    return 1e3 * collective_time(*row, profile, CollectiveQuery{CollectiveKind::all_reduce, 16, 2, Bytes(8589934592.0)})
                     .value()
                     .time.value();
  };
  EXPECT_NEAR(milliseconds("dgx-b200"), 23.8, 0.1 * 23.8);       // Lambda, Google
  EXPECT_NEAR(milliseconds("azure-nd-h100"), 34.6, 0.1 * 34.6);  // Azure, Nebius, AWS, Oracle: 34.3 to 34.6
  EXPECT_NEAR(milliseconds("oci-a100-roce"), 67.7, 0.1 * 67.7);
}

/// Steps of the square root of two from 8 B to 8 GiB on every machine of the catalogue. Measured curves inside a node
/// have dips of up to 4 percent.
TEST(CollectiveLaw, more_bytes_across_nodes_never_take_less_time) {
  using enum CollectiveKind;
  std::array<std::array<int, 2>, 6> layouts{{{4, 2}, {8, 4}, {16, 2}, {16, 16}, {32, 4}, {128, 16}}};
  int asked_times = 0;
  for (const Machine& machine : built_in().machines) {
    const Profile profile = default_profile(machine.gpu, built_in().profiles);
    for (const CollectiveKind kind : {all_reduce, all_gather, reduce_scatter, all_to_all, send_recv})
      for (const auto& [ranks, nodes] : layouts) {
        double before = 0;
        for (double bytes = 8; bytes < 1e10; bytes *= std::sqrt(2.0)) {
          const auto time = collective_time(machine, profile, CollectiveQuery{kind, ranks, nodes, Bytes(bytes)});
          if (!time) break;
          ++asked_times;
          EXPECT_GE(time->time.value(), 0.95 * before)
              << machine.id << ' ' << to_text(kind) << ' ' << ranks << " on " << nodes << ": " << bytes << " B";
          before = time->time.value();
        }
      }
  }
  EXPECT_GT(asked_times, 20000);
}

TEST(CollectiveLaw, neighbours_send_in_one_hop_however_many_nodes_there_are) {
  const auto seconds = [](CollectiveKind kind, int nodes) { return asked({}, kind, nodes, nodes, 8).time.value(); };
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::send_recv, 64), seconds(CollectiveKind::send_recv, 2));
  EXPECT_GT(seconds(CollectiveKind::all_reduce, 64), seconds(CollectiveKind::all_reduce, 2));
}

/// Where each GPU has an adapter, two nodes reduce by trees, however fast the links inside are: with faster links no
/// reduction takes longer.
TEST(CollectiveLaw, faster_links_inside_a_node_never_slow_a_reduction_on_two) {
  for (const Machine& row : built_in().machines) {
    if (row.levels.size() < 2) continue;
    const Profile profile;  // NCCL's model, whose rates follow the links
    double before = 1e9;
    for (const double faster : {1.0, 1.25, 1.5, 2.0, 3.0, 4.0}) {
      Machine machine = row;
      Level& node = machine.levels.front();
      node.bandwidth_per_gpu = node.bandwidth_per_gpu * faster, node.port_bandwidth = node.port_bandwidth * faster;
      const auto time = collective_time(
          machine, profile, CollectiveQuery{CollectiveKind::all_reduce, 2 * node.gpus, 2, Bytes(64 << 20)});
      if (!time) break;
      EXPECT_LE(time->time.value(), 1.001 * before) << machine.id << ", links x " << faster;
      before = time->time.value();
    }
  }
}

TEST(CollectiveLaw, fewer_gpus_of_each_node_are_no_faster) {
  int narrowed = 0;
  for (const Machine& machine : built_in().machines) {
    const Profile profile = default_profile(machine.gpu, built_in().profiles);
    for (const int gpus : {2, 4}) {
      if (machine.levels.front().gpus <= gpus) continue;
      const Machine few = with_node_gpus(machine, gpus, "--node-gpus").value();
      const CollectiveQuery query{CollectiveKind::all_reduce, gpus, 1, Bytes(64 << 20)};
      const auto before = collective_time(machine, profile, query), after = collective_time(few, profile, query);
      if (!before || !after) continue;
      ++narrowed;
      EXPECT_GE(after->time.value(), 0.999 * before->time.value()) << machine.id << ", " << gpus;
    }
  }
  EXPECT_GT(narrowed, 30);
}

TEST(CollectiveLaw, a_curve_of_this_network_comes_before_the_ports) {
  Profile profile;
  profile.collectives = {law_curve(CollectiveKind::all_gather, 32, 4, 50e-6, 310e9),
      law_curve(CollectiveKind::all_gather, 8, 1, 10e-6, 400e9)};
  profile.collectives[0].network = "round-numbers";
  // 31/32 of 3.2 GB: 10 ms.
  const CollectiveTime time = asked(profile, CollectiveKind::all_gather, 32, 4, 3.2e9);
  EXPECT_NEAR(time.time.value(), 10050e-6, 1e-10);
  EXPECT_EQ(time.source, Source::measured);
  EXPECT_STREQ(time.law, "curve across nodes, infiniband all_gather");
  profile.collectives[0].network = "another";
  EXPECT_STREQ(asked(profile, CollectiveKind::all_gather, 32, 4, 3.2e9).law, "ports infiniband");
  profile.collectives[0].network = "";
  EXPECT_EQ(asked(profile, CollectiveKind::all_gather, 32, 4, 3.2e9).curve, &profile.collectives[0]);
}

TEST(CollectiveLaw, twice_the_nodes_of_a_ring_take_twice_the_buffer_in_twice_the_steps) {
  Profile profile;
  profile.collectives = {law_curve(CollectiveKind::all_gather, 16, 2, 30e-6, 300e9)};
  const CollectiveTime time = asked(profile, CollectiveKind::all_gather, 32, 4, 3.2e9);
  // 1.6 GB on 16 ranks: 15/16 of it at 300 GB/s = 5 ms, and 30 us; 31 steps instead of 15.
  EXPECT_NEAR(time.time.value(), 5030e-6 * 31 / 15, 1e-10);
  EXPECT_EQ(time.source, Source::transferred);
  EXPECT_NEAR(time.spread.p90, 1.12, 1e-12);
  EXPECT_NEAR(over_nodes(profile.collectives[0], 16, 2, Bytes(1.6e9)).value(), 5030e-6, 1e-12);
}

TEST(CollectiveLaw, small_reductions_grow_by_a_level_of_the_tree) {
  const CollectiveCurve curve = law_curve(CollectiveKind::all_reduce, 16, 2, 25.2e-6, 300e9);
  // Nothing but latency: 6.8 + 2 (4.2 + 5) = 25.2 us on two nodes, 10 us more on four.
  EXPECT_NEAR(over_nodes(curve, 32, 4, Bytes(0)).value(), 35.2e-6, 1e-12);
}

TEST(CollectiveLaw, exchanges_keep_their_rate) {
  const CollectiveCurve curve = law_curve(CollectiveKind::all_to_all, 16, 2, 20e-6, 150e9);
  // 31/32 of 3.2 GB at 150 GB/s.
  EXPECT_NEAR(over_nodes(curve, 32, 4, Bytes(3.2e9)).value(), 20e-6 + 3.1e9 / 150e9, 1e-9);
}

TEST(CollectiveLaw, a_reduction_on_two_nodes_above_the_ports_rate_says_nothing_of_four) {
  Profile profile;
  profile.collectives = {law_curve(CollectiveKind::all_reduce, 16, 2, 30e-6, 470e9),
      law_curve(CollectiveKind::all_reduce, 8, 1, 10e-6, 400e9)};
  EXPECT_EQ(asked(profile, CollectiveKind::all_reduce, 16, 2, 1e9).source, Source::measured);
  EXPECT_STREQ(asked(profile, CollectiveKind::all_reduce, 32, 4, 1e9).law, "ports infiniband");
  profile.collectives[0].bandwidth = BytesPerSecond(380e9);  // below 8 ports of 50: a ring
  EXPECT_STREQ(asked(profile, CollectiveKind::all_reduce, 32, 4, 1e9).law, "curve across nodes, infiniband all_reduce");
}

TEST(CollectiveLaw, what_a_machine_cannot_hold_is_refused) {
  const auto error_of = [](const Machine& machine, int ranks, int nodes) {
    return collective_time(machine, Profile{}, CollectiveQuery{CollectiveKind::all_reduce, ranks, nodes, Bytes(1e6)})
        .error();
  };
  EXPECT_EQ(error_of(law_machine(), 16, 1).hint, "--nodes 2");
  EXPECT_NE(error_of(law_machine(), 1024, 128).what.find("more than it holds"), std::string::npos);
  EXPECT_NE(error_of(Machine{}, 2, 1).what.find("no fabric"), std::string::npos);
}

TEST(CollectiveLaw, trays_of_a_rack_are_one_domain) {
  Machine rack = law_machine();
  rack.levels[0].name = "rack";
  rack.levels[0].gpus = 72;
  rack.levels[1].bandwidth_per_gpu = BytesPerSecond(1e9);
  Profile profile;
  profile.collectives = {law_curve(CollectiveKind::all_gather, 8, 1, 10e-6, 700e9)};
  const auto inside = collective_time(rack, profile, CollectiveQuery{CollectiveKind::all_gather, 8, 2, Bytes(800e6)});
  EXPECT_NEAR(inside->time.value(), 1010e-6, 1e-12);
  // 144 ranks on 36 trays are two racks.
  EXPECT_STREQ(collective_time(rack, profile, CollectiveQuery{CollectiveKind::all_gather, 144, 36, Bytes(800e6)})->law,
      "ports infiniband");
}

/// Seconds for 100 GB over four nodes of 8 GPUs, `inside` members on each, through `ports` NICs of 50 GB/s per node.
/// Inside a node nothing takes time.
double through_shared_ports(
    CollectiveKind kind, std::int64_t inside, int ports, FabricKind fabric = FabricKind::infiniband) {
  Machine machine = law_machine();
  machine.levels[1].fabric = fabric;
  machine.levels[1].ports = ports;
  machine.levels[1].bandwidth_per_gpu = BytesPerSecond(ports * 50e9 / 8);
  Profile profile;
  for (const int ranks : {2, 4, 8}) profile.collectives.push_back(law_curve(kind, ranks, 1, 0, 1e15));
  profile.scale_out = {{fabric, 1, Seconds(0), Seconds(0), Seconds(0), Source::fitted, {1, 1}}};
  const std::int64_t below[] = {inside};
  return collective_time(machine, profile, kind, Bytes(100e9), GroupPlacement{4 * inside, 4, 0, below}).time.value();
}

TEST(CollectiveLaw, rings_of_several_ranks_per_node_share_one_of_the_shared_ports) {
  for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
    // 8 GPUs, 4 ports. Alone on its node a rank has half a port; 2 and 4 ranks have 2/8 and 4/8 of one; 8 have all
    // four.
    EXPECT_NEAR(through_shared_ports(kind, 1, 4), 100.0 / 25, 1e-9);
    EXPECT_NEAR(through_shared_ports(kind, 2, 4), 100.0 / 12.5, 1e-9);
    EXPECT_NEAR(through_shared_ports(kind, 4, 4), 100.0 / 25, 1e-9);
    EXPECT_NEAR(through_shared_ports(kind, 8, 4), 100.0 / 200, 1e-9);
  }
}

TEST(CollectiveLaw, rings_enter_by_their_members_ports_where_each_has_one) {
  for (const int inside : {1, 2, 4, 8})
    EXPECT_NEAR(through_shared_ports(CollectiveKind::all_gather, inside, 8), 100.0 / (50 * inside), 1e-9) << inside;
}

TEST(CollectiveLaw, exchanges_and_ethernet_queue_at_no_single_port) {
  for (const int inside : {1, 2, 4, 8}) {
    // Of 4 n - 1 peers 3 n are elsewhere, each rank has 25 GB/s.
    EXPECT_NEAR(
        through_shared_ports(CollectiveKind::all_to_all, inside, 4), 100.0 * 3 * inside / (4 * inside - 1) / 25, 1e-9);
    EXPECT_NEAR(
        through_shared_ports(CollectiveKind::all_gather, inside, 4, FabricKind::ethernet), 100.0 / (25 * inside), 1e-9);
  }
}

}  // namespace
}  // namespace stepcast
