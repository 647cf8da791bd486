// NCCL's tuning model against its own constants, added up by hand.
#include <gtest/gtest.h>

#include "model/profile/nccl_model.h"

namespace stepcast {
namespace {

/// Eight GPUs of 450 GB/s behind a switch with multicast; 8 ports of 50 GB/s.
NcclLinks hopper_links() {
  NcclLinks links;
  links.inside = BytesPerSecond(450e9);
  links.across = BytesPerSecond(400e9);
  return links;
}

constexpr double microseconds = 1e-6;

TEST(NcclModel, a_small_ring_pays_base_and_a_hop_per_step) {
  // LL on NVLink: 6.6 us + 14 steps of 0.6 us.
  const NcclChoice choice = nccl_choice(hopper_links(), {CollectiveKind::all_reduce, 8, 1, Bytes(8)});
  EXPECT_EQ(choice.algorithm, NcclAlgorithm::ring);
  EXPECT_EQ(choice.protocol, NcclProtocol::ll);
  EXPECT_NEAR(choice.latency.value(), 15.0 * microseconds, 1e-12);
  // Gather: 7 steps, 6.6 + 4.2.
  EXPECT_NEAR(nccl_choice(hopper_links(), {CollectiveKind::all_gather, 8, 1, Bytes(8)}).latency.value(),
      10.8 * microseconds, 1e-12);
}

TEST(NcclModel, a_small_reduction_on_two_nodes_goes_over_a_tree) {
  // 6.8 + 2 (7 x 0.6 + 5) us; the ring would wait 28 x 1 us for its proxy.
  const NcclChoice choice = nccl_choice(hopper_links(), {CollectiveKind::all_reduce, 16, 2, Bytes(8)});
  EXPECT_EQ(choice.algorithm, NcclAlgorithm::tree);
  EXPECT_NEAR(choice.latency.value(), 25.2 * microseconds, 1e-12);
}

TEST(NcclModel, large_reductions_use_multicast) {
  // 8 channels of 40 GB/s x 0.85 x 7/8 x 2 = 476 GB/s of bus bandwidth: 1.75 x 8 GB in 29.41 ms, and 25 us.
  const NcclChoice choice = nccl_choice(hopper_links(), {CollectiveKind::all_reduce, 8, 1, Bytes(8e9)});
  EXPECT_EQ(choice.algorithm, NcclAlgorithm::nvls);
  EXPECT_NEAR(choice.time.value(), 1.75 * 8e9 / 476e9 + 25e-6, 1e-8);
  NcclLinks without = hopper_links();
  without.multicast = false;
  // 24 channels of 15 GB/s.
  const NcclChoice ring = nccl_choice(without, {CollectiveKind::all_reduce, 8, 1, Bytes(8e9)});
  EXPECT_EQ(ring.algorithm, NcclAlgorithm::ring);
  EXPECT_NEAR((ring.time - ring.latency).value(), 1.75 * 8e9 / 360e9, 1e-8);
}

TEST(NcclModel, two_nodes_beat_the_rate_of_the_ports) {
  // NVLSTree: 8 x 57.7 = 462 GB/s of bus bandwidth against ports of 400; on four nodes 8 x 45.5 = 364 or the ports'
  // 384.
  const NcclChoice two = nccl_choice(hopper_links(), {CollectiveKind::all_reduce, 16, 2, Bytes(8e9)});
  EXPECT_EQ(two.algorithm, NcclAlgorithm::nvls_tree);
  EXPECT_NEAR((two.time - two.latency).value(), 1.875 * 8e9 / 461.6e9, 1e-6);
  const NcclChoice four = nccl_choice(hopper_links(), {CollectiveKind::all_reduce, 32, 4, Bytes(8e9)});
  EXPECT_GT(four.time, two.time * 1.2);
}

TEST(NcclModel, time_rises_with_size_and_ranks) {
  for (const CollectiveKind kind :
      {CollectiveKind::all_gather, CollectiveKind::broadcast, CollectiveKind::all_to_all}) {
    Seconds before;
    for (double bytes = 8; bytes < 1e10; bytes *= 2) {
      const Seconds time = nccl_choice(hopper_links(), {kind, 8, 1, Bytes(bytes)}).time;
      EXPECT_GT(time, before) << to_text(kind) << " " << bytes;
      before = time;
    }
  }
}

TEST(NcclModel, links_of_a_machine) {
  Machine machine;
  machine.gpu.architecture = "ampere";
  machine.levels = {
      {"node", FabricKind::nvswitch, 8, BytesPerSecond(300e9), BytesPerSecond(25e9), 12, Seconds(1e-6), true},
      {"cluster", FabricKind::infiniband, 64, BytesPerSecond(25e9), BytesPerSecond(25e9), 8, Seconds(1e-6), false}};
  const NcclLinks links = nccl_links(machine);
  EXPECT_EQ(links.capability, 8);
  EXPECT_FALSE(links.multicast);  // the switch of that generation does not reduce
  EXPECT_EQ(links.across, BytesPerSecond(200e9));
}

}  // namespace
}  // namespace stepcast
