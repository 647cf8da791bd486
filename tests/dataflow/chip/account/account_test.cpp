// What counts mean: bounds, energy, what stays where, intensities, placements, and the mapper's figures.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataflow/chip/account/energy.h"
#include "dataflow/chip/account/stationary.h"
#include "dataflow/chip/count/count.h"
#include "tests/dataflow/chip/accounted.h"
#include "tests/dataflow/chip/legal_chip.h"

namespace stepcast::dataflow {
namespace {

using namespace accounted;
using testing::ElementsAre;
using testing::HasSubstr;

/// 16 x 16 x 16 in memory, 4 x 4 units that keep one weight each, rounds n k m: 4 x 4 x 16.
ChipProgram small_array() { return array("ws", 4, 4, 16, 16, 16); }

const std::vector<bool> kAll = {true, true, true};

TEST(ChipAccount, TheSlowestLevelBounds) {
  // Memory: I read 4 x 256, W 256, O written 4 x 256 and read back 3 x 256: 3,072 elements of 2 bytes, at 8 bytes a
  // cycle.
  ChipProgram chip = small_array();
  chip.levels[0].bytes_per_cycle = 8;
  chip.levels[1].fabric = FabricClass::bus;
  const ChipAccount account = account_of(chip);
  EXPECT_EQ(account.compute_cycles, 256);
  EXPECT_EQ(account.levels[0].cycles, 3072 * 2 / 8);
  EXPECT_EQ(account.cycles, 768);
  EXPECT_EQ(account.bound, "sram");
  EXPECT_DOUBLE_EQ(account.utilisation, 4096.0 / (768 * 16));
  chip.levels[0].bytes_per_cycle = 64;
  EXPECT_EQ(account_of(chip).bound, "compute");
  EXPECT_DOUBLE_EQ(account_of(chip).utilisation, 1);
}

TEST(ChipAccount, SeveralMultiplyAddsPerCycleShortenTheWork) {
  ChipProgram chip = small_array();
  chip.levels[1].fabric = FabricClass::bus;
  chip.macs_per_cycle = 4;
  EXPECT_EQ(account_of(chip).cycles, 64);
  EXPECT_DOUBLE_EQ(account_of(chip).utilisation, 1);
}

TEST(ChipAccount, IdleUnitsLowerUtilisation) {
  ChipProgram chip = array("os", 4, 4, 4, 2, 10);  // 4 x 2 of 4 x 4
  chip.levels[1].fabric = FabricClass::bus;
  EXPECT_EQ(account_of(chip).all_units, 16);
  EXPECT_DOUBLE_EQ(account_of(chip).utilisation, 0.5);
}

TEST(ChipAccount, RooflineSaysWhichSide) {
  // 8,192 flops over 2 x (1,024 + 256 + 1,024 + 768) bytes; peak 32 flops per cycle.
  ChipProgram chip = small_array();
  chip.levels[0].bytes_per_cycle = 8;
  const Boundary memory = account_of(chip).boundaries.front();
  EXPECT_EQ(memory.bytes, 6144);
  EXPECT_DOUBLE_EQ(memory.flops_per_byte, 8192.0 / 6144);
  EXPECT_DOUBLE_EQ(memory.ridge_flops_per_byte, 4);
  EXPECT_DOUBLE_EQ(memory.roof_flops_per_cycle, 8 * 8192.0 / 6144);
  EXPECT_EQ(memory.cycles, 768);
  chip.levels[0].bytes_per_cycle = 100;
  EXPECT_DOUBLE_EQ(account_of(chip).boundaries.front().roof_flops_per_cycle, 32);
}

TEST(ChipAccount, ResidentBytesDoubleWhereTheTileChanges) {
  ChipProgram chip = gemm(8, 8, 8);
  chip.levels = {store("dram", kAll, {loop(k, 2)}), store("sram", kAll, {loop(m, 8), loop(n, 8), loop(k, 4)})};
  chip.levels[1].buffers = 2;
  const LevelAccount inner = account_of(chip).levels[1];
  EXPECT_THAT(inner.resident_bytes, ElementsAre(8 * 4 * 2 * 2, 4 * 8 * 2 * 2, 8 * 8 * 2));  // O stays all the time
  EXPECT_EQ(inner.used_bytes, 384);
}

TEST(ChipAccount, ResidentBytesAreThoseOfTheCapacityRule) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const ChipProgram chip = legal_chip(seed);
    const ChipAccount account = account_of(chip);
    for (std::size_t l = 0; l < chip.levels.size(); ++l)
      for (std::size_t t = 0; t < chip.tensors.size(); ++t)
        if (chip.levels[l].keeps[t]) {
          EXPECT_EQ(account.levels[l].resident_bytes[t], resident_bytes(chip, static_cast<int>(t), static_cast<int>(l)))
              << seed;
        }
  }
}

TEST(ChipAccount, SaysWhatStays) {
  const auto text_of = [](const ChipProgram& chip) { return account_of(chip).boundaries.front().text; };
  EXPECT_EQ(text_of(small_array()), "weight-stationary at pe, input forwarded over y, output summed over x");
  EXPECT_EQ(
      text_of(array("is", 4, 4, 16, 16, 16)), "input-stationary at pe, weight forwarded over y, output summed over x");
  EXPECT_EQ(text_of(array("os", 4, 4, 16, 16, 16)),
      "output-stationary at pe, input forwarded over y, weight forwarded over x");
  ChipProgram bus = array("os", 4, 4, 16, 16, 16);
  bus.levels[1].fabric = FabricClass::bus;
  EXPECT_THAT(text_of(bus), HasSubstr("input multicast over y"));
  ChipProgram streams = gemm(4, 4, 4);  // k innermost, and only operands kept
  streams.levels = {store("dram", kAll, {loop(m, 4), loop(n, 4), loop(k, 4)}), store("rf", {true, true, false}, {})};
  EXPECT_EQ(text_of(streams), "nothing stays at rf");
}

TEST(ChipAccount, AllStaysWhereNothingChanges) {
  ChipProgram chip = gemm(4, 4, 4);
  chip.levels = {store("dram", kAll, {}), store("sram", kAll, {loop(m, 4), loop(n, 4), loop(k, 4)})};
  EXPECT_EQ(account_of(chip).boundaries.front().text, "input-, weight- and output-stationary at sram");
}

TEST(ChipAccount, TensorsOfOneUseGoByName) {
  ChipProgram chip = small_array();
  chip.tensors[0].use = TensorUse::weight;
  chip.tensors[0].name = "Wa";
  EXPECT_EQ(account_of(chip).boundaries.front().text, "W-stationary at pe, Wa forwarded over y, output summed over x");
}

TEST(ChipAccount, PlacementsFollowTheLoopThatIsSplit) {
  const ChipProgram chip = small_array();  // k on x, n on y
  const ChipAccount account = account_of(chip);
  std::vector<std::string> words;
  for (const AxisPlacement& place : account.placements)
    words.push_back(
        chip.tensors[place.tensor].name + "@" + chip.levels[1].axes[place.axis].name + " " + to_text(place, chip));
  EXPECT_THAT(words,
      ElementsAre("I@x Shard(k)", "W@x Shard(k)", "O@x Partial", "I@y Replicate", "W@y Shard(n)", "O@y Shard(n)"));
}

TEST(ChipAccount, FabricAndRingVolumes) {
  // One memory, 4 units split over k: each makes 16 x 16 partial sums of 2 bytes.
  ChipProgram chip = gemm(16, 16, 16);
  ChipLevel gpu = store("gpu", kAll, {loop(m, 16), loop(n, 16), loop(k, 4)});
  gpu.axes = {{"gpu", 4}};
  gpu.space = {on_axis(k, 4, 0)};
  chip.levels = {store("fabric", kAll, {}), gpu};
  const ChipAccount account = account_of(chip);
  ASSERT_EQ(account.collectives.size(), 3U);
  const AxisCollective &input = account.collectives[0], &output = account.collectives[2];
  EXPECT_EQ(input.kind, "scatter");
  EXPECT_EQ(input.in_network_bytes, 256 * 2);
  EXPECT_EQ(input.ring_bytes, 0);
  EXPECT_EQ(output.kind, "reduce");
  EXPECT_EQ(output.ring, "reduce_scatter");
  EXPECT_EQ(output.in_network_bytes, 256 * 2);  // summed on the way
  EXPECT_EQ(output.ring_bytes, 512 * 3 / 4);    // (p-1)/p of what a unit makes
  EXPECT_EQ(output.all_reduce_bytes, 2 * 512 * 3 / 4);
}

TEST(ChipAccount, MulticastIsCountedOnceInTheNetwork) {
  // Split over n: every one of 4 units needs all 256 elements of I.
  ChipProgram chip = gemm(16, 16, 16);
  ChipLevel gpu = store("gpu", kAll, {loop(m, 16), loop(n, 4), loop(k, 16)});
  gpu.axes = {{"gpu", 4}};
  gpu.fabric = FabricClass::network;
  gpu.multicast = false;
  gpu.space = {on_axis(n, 4, 0)};
  chip.levels = {store("fabric", kAll, {}), gpu};
  const ChipAccount account = account_of(chip);
  const AxisCollective& input = account.collectives.front();
  EXPECT_EQ(input.kind, "multicast");
  EXPECT_EQ(input.in_network_bytes, 512);
  EXPECT_EQ(input.ring_bytes, 384);
  EXPECT_THAT(account.warnings, ElementsAre("I is needed by 4 units (axis gpu of gpu), whose fabric has no multicast: "
                                            "as a ring all-gather 384 bytes per unit"));
}

TEST(ChipAccount, SumsSideBySideAreNotBitIdentical) {
  ChipProgram chip = small_array();
  EXPECT_THAT(account_of(chip).warnings, ElementsAre(HasSubstr("O is summed over k side by side (axis x of pe)")));
  chip.levels[1].reduce = false;
  EXPECT_THAT(
      account_of(chip).warnings, ElementsAre(HasSubstr("whose fabric does not add"), HasSubstr("not bit-identical")));
  EXPECT_TRUE(account_of(array("os", 4, 4, 16, 16, 16)).warnings.empty());
}

TEST(ChipEnergy, TableRowsAndTheLinesBetween) {
  ChipProgram chip = gemm(4, 4, 4);
  chip.levels = {
      store("dram", kAll, {}), store("glb", kAll, {}), store("rf", kAll, {loop(m, 4), loop(n, 4), loop(k, 4)})};
  EXPECT_DOUBLE_EQ(element_pj(access_energy(chip, 0), 2), 1950.0 / 4);  // 64 bits are four elements
  chip.levels[1].capacity_bytes = 32 * 1024;
  EXPECT_DOUBLE_EQ(element_pj(access_energy(chip, 1), 2), 5);
  chip.levels[1].capacity_bytes = 16 * 1024;  // half way from 10 to 20 pJ in the logarithm
  EXPECT_DOUBLE_EQ(element_pj(access_energy(chip, 1), 2), 10 * std::sqrt(2.0) / 4);
  chip.levels[1].capacity_bytes = 2 * 1024;  // on below the first row by its slope
  EXPECT_NEAR(element_pj(access_energy(chip, 1), 2), 5.0 / 4, 1e-12);
  EXPECT_THAT(access_energy(chip, 1).source, HasSubstr("2 KiB, extrapolated"));
}

TEST(ChipEnergy, WhatIsSaidComesFirst) {
  ChipProgram chip = small_array();
  chip.levels[0].name = "hbm2";
  EXPECT_DOUBLE_EQ(element_pj(access_energy(chip, 0), 2), 3.9 * 16);
  chip.levels[0].energy_pj = 7;
  EXPECT_EQ(element_pj(access_energy(chip, 0), 2), 7);
  EXPECT_EQ(access_energy(chip, 0).source, "stated");
}

TEST(ChipEnergy, WithoutCapacityEyerissRatios) {
  ChipProgram chip = gemm(4, 4, 4);
  chip.levels = {
      store("dram", kAll, {}), store("glb", kAll, {}), systolic(2, 2, kAll, {on_axis(m, 2, 0), on_axis(n, 2, 1)})};
  chip.levels[2].time = {loop(m, 2), loop(n, 2), loop(k, 4)};
  EXPECT_DOUBLE_EQ(element_pj(access_energy(chip, 1), 2), 6 * 1.5);
  EXPECT_DOUBLE_EQ(element_pj(access_energy(chip, 2), 2), 1.5);
}

TEST(ChipEnergy, AddsUpOverLevelsAndMultiplyAdds) {
  ChipProgram chip = small_array();
  chip.levels[0].energy_pj = 100;
  chip.levels[1].energy_pj = 1;
  // 3,072 accesses of memory; each of 16 units loads 16 weights and reads one each of 256 rounds.
  EXPECT_DOUBLE_EQ(account_of(chip).energy_pj, 3072 * 100 + 16 * (16 + 256) + 4096 * 1.5);
}

TEST(ChipScore, EqualsTheAccount) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const ChipProgram chip = legal_chip(seed);
    const auto nest = nest_of(chip);
    if (!nest) continue;
    Counts counts;
    count(*nest, counts);
    const ChipAccount full = account(chip, counts);
    const ChipScore fast = score(*nest, counts, score_table(chip));
    EXPECT_DOUBLE_EQ(fast.cycles, full.cycles) << seed;
    EXPECT_NEAR(fast.energy_pj, full.energy_pj, 1e-9 * full.energy_pj) << seed;
    EXPECT_DOUBLE_EQ(fast.traffic_bytes, full.boundaries.front().bytes) << seed;
    EXPECT_GT(full.utilisation, 0) << seed;
    EXPECT_LE(full.utilisation, 1 + 1e-12) << seed;
  }
}

}  // namespace
}  // namespace stepcast::dataflow
