// Figures that Timeloop v3.0.3 (NVlabs/timeloop 6b41058, timeloop-model, legacy nest analysis) prints for the same
// mappings: DRAM, a buffer, 16x16 register files; scalar reads, fills and updates per instance.
#include <gtest/gtest.h>

#include "tests/dataflow/chip/count/count_chips.h"

namespace stepcast::dataflow {
namespace {

using counted::ChipOf;
using counted::gemm_of;
using counted::row_of;

using counted::I;
using counted::O;
using counted::W;

struct Store {
  enum : int { dram, glb, rf };
};

void expect_input_counts(const TensorCount& at, std::int64_t tile, double reads, double fills) {
  EXPECT_EQ(at.tile, tile);
  EXPECT_EQ(at.reads, reads);
  EXPECT_EQ(at.fills, fills);
  EXPECT_EQ(at.updates, 0);
  EXPECT_EQ(at.reductions, 0);
}

void expect_output_counts(const TensorCount& at, std::int64_t tile, double reads, double updates, double fills) {
  EXPECT_EQ(at.tile, tile);
  EXPECT_EQ(at.reads, reads);
  EXPECT_EQ(at.reductions, reads);
  EXPECT_EQ(at.updates, updates);
  EXPECT_EQ(at.fills, fills);
  EXPECT_EQ(at.refills, fills);
}

TEST(CountTimeloop, OutputStationaryPassingTheBuffer) {  // attention x V, 128 tokens
  const Counts counts = gemm_of(128, 64, 128)
                            .level("dram", "IWO", {}, {{'m', 2}, {'k', 8}})
                            .level("glb", "IW", {}, {{'k', 16}})
                            .level("rf", "IWO", {{'n', 16}, {'m', 16}}, {{'n', 4}, {'m', 4}})
                            .counts();
  EXPECT_EQ(counts.macs, 1048576);
  EXPECT_EQ(counts.steps, 4096);
  EXPECT_EQ(counts.units, 256);
  EXPECT_EQ(counts.instances[Store::rf], 256);
  expect_input_counts(counts.at[Store::rf][I], 4, 4096, 1024);
  expect_input_counts(counts.at[Store::rf][W], 4, 4096, 1024);
  expect_output_counts(counts.at[Store::rf][O], 16, 4064, 4096, 0);
  expect_input_counts(counts.at[Store::glb][I], 1024, 16384, 16384);
  expect_input_counts(counts.at[Store::glb][W], 1024, 16384, 16384);
  expect_output_counts(counts.at[Store::glb][O], 0, 0, 0, 0);
  expect_input_counts(counts.at[Store::dram][I], 16384, 16384, 0);
  expect_input_counts(counts.at[Store::dram][W], 8192, 16384, 0);
  expect_output_counts(counts.at[Store::dram][O], 8192, 0, 8192, 0);
}

TEST(CountTimeloop, PartialSumsSpill) {  // GPT-2 small, first MLP projection, 128 tokens; k outermost
  const Counts counts = gemm_of(128, 3072, 768)
                            .level("dram", "IWO", {}, {{'k', 48}, {'n', 48}, {'m', 2}})
                            .level("glb", "IWO", {}, {{'k', 16}})
                            .level("rf", "IWO", {{'n', 16}, {'m', 16}}, {{'n', 4}, {'m', 4}})
                            .counts();
  expect_input_counts(counts.at[Store::rf][I], 4, 1179648, 294912);
  expect_input_counts(counts.at[Store::rf][W], 4, 1179648, 294912);
  expect_output_counts(counts.at[Store::rf][O], 16, 1178112, 1179648, 72192);
  expect_input_counts(counts.at[Store::glb][I], 1024, 4718592, 4718592);
  expect_input_counts(counts.at[Store::glb][W], 1024, 4718592, 2359296);
  expect_output_counts(counts.at[Store::glb][O], 4096, 18481152, 18874368, 18481152);
  expect_input_counts(counts.at[Store::dram][W], 2359296, 2359296, 0);
  expect_output_counts(counts.at[Store::dram][O], 393216, 18481152, 18874368, 0);
}

TEST(CountTimeloop, WeightStationary) {  // GPT-2 small, second MLP projection
  const Counts counts = gemm_of(128, 768, 3072)
                            .level("dram", "IWO", {}, {})
                            .level("glb", "IWO", {}, {{'n', 48}, {'k', 192}, {'m', 128}})
                            .level("rf", "W", {{'n', 16}, {'k', 16}}, {})
                            .counts();
  expect_input_counts(counts.at[Store::rf][W], 1, 1179648, 9216);
  expect_input_counts(counts.at[Store::glb][I], 393216, 18874368, 393216);
  expect_input_counts(counts.at[Store::glb][W], 2359296, 2359296, 2359296);
  expect_output_counts(counts.at[Store::glb][O], 98304, 18776064, 18874368, 0);
  expect_output_counts(counts.at[Store::dram][O], 98304, 0, 98304, 0);
}

TEST(CountTimeloop, InputStationaryPointwiseConvolution) {  // ResNet 1x1, 28x28, 256 to 128 channels
  const Counts counts = ChipOf({{'p', 28}, {'q', 28}, {'c', 256}, {'k', 128}}, {"I[c,p,q]", "W[k,c]", "O[k,p,q]"})
                            .level("dram", "IWO", {}, {})
                            .level("glb", "IWO", {}, {{'c', 16}, {'p', 2}, {'q', 28}, {'k', 128}})
                            .level("rf", "I", {{'c', 16}, {'p', 14}}, {})
                            .counts();
  EXPECT_EQ(counts.units, 224);
  EXPECT_EQ(counts.steps, 114688);
  expect_input_counts(counts.at[Store::rf][I], 1, 114688, 896);
  expect_input_counts(counts.at[Store::glb][W], 32768, 1835008, 32768);
  expect_input_counts(counts.at[Store::glb][I], 200704, 200704, 200704);
  expect_output_counts(counts.at[Store::glb][O], 100352, 1505280, 1605632, 0);
}

TEST(CountTimeloop, ClusterOfEightDevices) {  // n over 4, k over 2: inputs sharded by k, outputs partial
  const Counts counts = gemm_of(2048, 4096, 4096)
                            .level("fabric", "IWO", {}, {})
                            .level("hbm", "IWO", {{'n', 4}, {'k', 2}}, {{'m', 2048}, {'n', 1024}, {'k', 2048}})
                            .counts();
  expect_input_counts(counts.at[1][I], 4194304, 4294967296, 4194304);
  expect_input_counts(counts.at[1][W], 2097152, 4294967296, 2097152);
  expect_output_counts(counts.at[1][O], 2097152, 4292870144, 4294967296, 0);
  expect_input_counts(counts.at[0][I], 8388608, 8388608, 0);
  expect_output_counts(counts.at[0][O], 8388608, 0, 8388608, 0);
  EXPECT_EQ(counts.at[0][I].sent, 8388608);  // one multicast to the four that share it
  EXPECT_EQ(counts.at[0][I].sent_apart, 4 * 8388608);
  EXPECT_EQ(counts.at[0][O].sent_apart, 2 * 8388608);  // both halves of the sum
}

TEST(CountTimeloop, RowStationary) {  // 3x3, 28x28, 128 to 128 channels: p and r on the array, s in the register file
  const ChipOf chip = ChipOf(
      {{'p', 28}, {'q', 28}, {'r', 3}, {'s', 3}, {'c', 128}, {'k', 128}}, {"I[c,p+r,q+s]", "W[k,c,r,s]", "O[k,p,q]"})
                          .level("dram", "IWO", {}, {})
                          .level("glb", "IWO", {}, {{'k', 32}, {'p', 2}, {'c', 32}, {'q', 28}})
                          .level("rf", "IWO", {{'r', 3}, {'p', 14}}, {{'k', 4}, {'c', 4}, {'s', 3}});
  for (const Windows windows : {Windows::exact, Windows::timeloop}) {
    const Counts counts = chip.counts(windows);
    // A row of 30 passes by 4 channels x 32 x 2 x 32 times; 16 rows are different among the 42 units.
    expect_input_counts(counts.at[Store::rf][I], 12, 28 * 32 * 2 * 32 * 48, 30.0 * 4 * 32 * 2 * 32);
    EXPECT_EQ(counts.at[Store::glb][I].reads, 16 * counts.at[Store::rf][I].fills);
    EXPECT_EQ(counts.at[Store::glb][I].tile, 30 * 30 * 128);
  }
}

// Where Timeloop's windows are not the literal ones. Three taps in one unit, two outputs at a time: tiles of 4.
TEST(CountTimeloop, WindowsSlideBackToTheSecondRound) {
  const ChipOf sliding =
      row_of(8, 3, 2).level("glb", "IWO", {}, {{'k', 2}, {'p', 4}}).level("rf", "IWO", {}, {{'p', 2}, {'r', 3}});
  EXPECT_EQ(sliding.counts(Windows::timeloop).at[1][I].fills, 20);  // 4 + 6 x 2 + 4
  EXPECT_EQ(sliding.counts().at[1][I].fills, 20);
}

TEST(CountTimeloop, OverlapIsKeptAlongTheInnermostLoopOnly) {
  const ChipOf repeated =
      row_of(8, 3, 2).level("glb", "IWO", {}, {{'p', 4}, {'k', 2}}).level("rf", "IWO", {}, {{'p', 2}, {'r', 3}});
  EXPECT_EQ(repeated.counts(Windows::timeloop).at[1][I].fills, 16);  // 4 whole tiles
  EXPECT_EQ(repeated.counts().at[1][I].fills, 10);                   // the 10 elements once
  const ChipOf split = row_of(12, 3, 1)
                           .level("dram", "IWO", {}, {{'p', 2}})
                           .level("glb", "IWO", {}, {{'p', 3}})
                           .level("rf", "IWO", {}, {{'p', 2}, {'r', 3}});
  EXPECT_EQ(split.counts(Windows::timeloop).at[2][I].fills, 16);
  EXPECT_EQ(split.counts(Windows::timeloop).at[1][I].fills, 14);
  EXPECT_EQ(split.counts().at[2][I].fills, 14);
}

TEST(CountTimeloop, NeighboursShareWholeTilesOnly) {
  const ChipOf apart = row_of(4, 3, 1).level("glb", "IWO", {}, {}).level("rf", "IWO", {{'p', 4}}, {{'r', 3}});
  EXPECT_EQ(apart.counts(Windows::timeloop).at[0][I].reads, 12);
  EXPECT_EQ(apart.counts().at[0][I].reads, 6);
  const ChipOf diagonal = row_of(4, 3, 1).level("glb", "IWO", {}, {}).level("rf", "IWO", {{'r', 3}, {'p', 4}}, {});
  EXPECT_EQ(diagonal.counts(Windows::timeloop).at[0][I].reads, 6);
  EXPECT_EQ(diagonal.counts().at[0][I].reads, 6);
}

TEST(CountTimeloop, NeighboursForward) {
  // Three taps side by side, outputs one after the other: two of three units take their input from the right. Each such
  // input is an access of the unit that gives it and of the one that gets it, 2 x 3 of them over 3 units.
  const ChipOf taps = row_of(4, 3, 1).level("glb", "IWO", {}, {{'p', 4}}).level("rf", "IWO", {{'r', 3}}, {});
  expect_input_counts(taps.counts(Windows::timeloop).at[0][I], 6, 6, 0);
  expect_input_counts(taps.counts(Windows::timeloop).at[1][I], 1, 4 + 2, 2 + 2);
  expect_input_counts(taps.counts().at[0][I], 6, 12, 0);  // without: each round, three that the units did not have
  expect_input_counts(taps.counts().at[1][I], 1, 4, 4);
}

TEST(CountTimeloop, SlidesInTwoDirections) {  // 3x3 taps, tiles of 4x4: 4 across, then 2 down
  const ChipOf square = ChipOf({{'p', 8}, {'q', 4}, {'r', 3}, {'s', 3}}, {"I[p+r,q+s]", "W[r,s]", "O[p,q]"})
                            .level("glb", "IWO", {}, {{'q', 2}, {'p', 4}})
                            .level("rf", "IWO", {}, {{'p', 2}, {'q', 2}, {'r', 3}, {'s', 3}});
  EXPECT_EQ(square.counts(Windows::timeloop).at[0][I].reads, 80);  // 16 + 6 x 8 + 16
  EXPECT_EQ(square.counts().at[0][I].reads, 80);
}

TEST(CountTimeloop, TilesAreBoxes) {
  const ChipOf strided =
      ChipOf({{'p', 4}, {'r', 2}}, {"I[3p+r]", "W[r]", "O[p]"}).level("dram", "IWO", {}, {{'p', 4}, {'r', 2}});
  EXPECT_EQ(strided.counts(Windows::timeloop).at[0][I].tile, 11);
  EXPECT_EQ(strided.counts().at[0][I].tile, 8);
}

}  // namespace
}  // namespace stepcast::dataflow
