// Counts to redo by hand, and laws that hold for any mapping.
#include "dataflow/chip/count/count.h"

#include <gtest/gtest.h>

#include "tests/dataflow/chip/brute_random.h"
#include "tests/dataflow/chip/count/count_chips.h"

namespace stepcast::dataflow {
namespace {

using counted::ChipOf;
using counted::gemm_of;
using counted::row_of;

using counted::I;
using counted::O;
using counted::W;

TEST(Count, WeightStationaryArray) {  // 16x16 units: weights stay, inputs stream by, sums leave at the bottom
  const Counts counts = gemm_of(128, 128, 64)
                            .level("glb", "IWO", {}, {{'n', 8}, {'k', 4}, {'m', 128}})
                            .level("pe", "W", {{'k', 16}, {'n', 16}}, {})
                            .counts();
  EXPECT_EQ(counts.at[0][I].reads, 65536);    // 128 x 64 for each of 8 column blocks
  EXPECT_EQ(counts.at[0][W].reads, 8192);     // once
  EXPECT_EQ(counts.at[0][O].updates, 65536);  // 128 x 128 for each of 4 row blocks
  EXPECT_EQ(counts.at[0][O].reads, 49152);    // but the first
  EXPECT_EQ(counts.at[1][W].fills, 32);
  EXPECT_EQ(counts.at[0][I].sent, 65536);
  EXPECT_EQ(counts.at[0][I].sent_apart, 16 * 65536);
  EXPECT_EQ(counts.steps, 4096);
}

TEST(Count, TileOfGpuBlock) {  // 64 x 64 blocks, O only in registers: each input is read N / 64 times
  const Counts counts = gemm_of(256, 512, 128)
                            .level("hbm", "IWO", {}, {{'m', 4}, {'n', 8}, {'k', 8}})
                            .level("smem", "IW", {}, {{'k', 16}})
                            .level("rf", "IWO", {{'m', 16}, {'n', 16}}, {{'m', 4}, {'n', 4}})
                            .counts();
  EXPECT_EQ(counts.at[0][I].reads, 256 * 128 * 8);
  EXPECT_EQ(counts.at[0][W].reads, 128 * 512 * 4);
  EXPECT_EQ(counts.at[0][O].updates, 256 * 512);
  EXPECT_EQ(counts.at[0][O].reads, 0);
  EXPECT_EQ(counts.at[1][O].tile, 0);
  EXPECT_EQ(counts.at[1][O].sent, 256 * 512);  // passes the shared memory
}

TEST(Count, ShortRoundLeavesTheTileInPlace) {
  // k = 3 in steps of 2, then 1: the tile of W is k0, k1 for each of two m, then k2 stays for both: 5 elements, not 6.
  const Counts counts =
      gemm_of(2, 1, 3).level("a", "IWO", {}, {{'k', 2}, {'m', 2}, {'k', 2}}).level("b", "W", {}, {}).counts();
  EXPECT_EQ(counts.at[1][W].fills, 5);
  EXPECT_EQ(counts.at[0][W].reads, 5);
  EXPECT_EQ(counts.macs, 6);
  EXPECT_EQ(counts.steps, 6);
}

TEST(Count, UnitsWithoutWork) {  // 10 rows on 4 units, 3 each: 3 + 3 + 3 + 1; a fifth and sixth unit would idle
  const Counts counts = gemm_of(10, 1, 1).level("a", "IWO", {}, {}).level("b", "I", {{'m', 6}}, {{'m', 3}}).counts();
  EXPECT_EQ(counts.instances[1], 4);
  EXPECT_EQ(counts.steps, 3);
  EXPECT_EQ(counts.at[1][I].tile, 3);
  EXPECT_DOUBLE_EQ(counts.at[1][I].fills, 10 / 4.0);
  EXPECT_EQ(counts.at[0][I].reads, 10);
}

TEST(Count, SlidingWindowMovesWhatIsNew) {  // 8 outputs, 3 taps: 10 inputs, one new each round
  const Counts counts = row_of(8, 3, 1).level("a", "IWO", {}, {{'p', 8}}).level("b", "I", {}, {{'r', 3}}).counts();
  EXPECT_EQ(counts.at[1][I].tile, 3);
  EXPECT_EQ(counts.at[1][I].fills, 10);
  EXPECT_EQ(counts.at[1][I].reads, 24);
}

TEST(Count, SlidingWindowOverShortRounds) {  // 7 outputs by 3: 3, 3 and 1; inputs 0-4, 3-7, 6-8
  const Counts counts =
      row_of(7, 3, 1).level("a", "IWO", {}, {{'p', 3}}).level("b", "I", {}, {{'p', 3}, {'r', 3}}).counts();
  EXPECT_EQ(counts.at[1][I].tile, 5);
  EXPECT_EQ(counts.at[1][I].fills, 9);
}

TEST(Count, StrideBeyondTheTaps) {  // every third input and its neighbour: no overlap, gaps are not counted
  const ChipOf chip = ChipOf({{'p', 6}, {'r', 2}}, {"I[3p+r]", "W[r]", "O[p]"})
                          .level("a", "IWO", {}, {{'p', 3}})
                          .level("b", "I", {}, {{'p', 2}, {'r', 2}});
  EXPECT_EQ(chip.counts().at[0][I].tile, 12);
  EXPECT_EQ(chip.counts().at[1][I].tile, 4);
  EXPECT_EQ(chip.counts().at[1][I].fills, 12);
}

TEST(Count, IndexThatIsOneLoopFreesTheOthers) {  // T[p + r, p] has the elements of T[r, p]
  const auto tile = [](const char* input) {
    return ChipOf({{'p', 5}, {'r', 4}}, {input, "W[r]", "O[p]"})
        .level("a", "IWO", {}, {{'p', 5}, {'r', 4}})
        .counts()
        .at[0][I]
        .tile;
  };
  EXPECT_EQ(tile("I[p+r,p]"), 20);
  EXPECT_EQ(tile("I[p,p]"), 5);
  EXPECT_EQ(tile("I[2p+2r]"), 8);
}

TEST(Count, LargeShortRoundsAreNotWalked) {  // a million rows, in rounds of 7: closed form, no loop over rounds
  const Counts counts = gemm_of(1'000'000, 1'000'000, 1'000'000)
                            .level("a", "IWO", {}, {{'n', 142858}, {'k', 142858}, {'m', 142858}})
                            .level("b", "IWO", {}, {{'m', 7}, {'n', 7}, {'k', 7}})
                            .counts();
  EXPECT_EQ(counts.macs, 1'000'000'000'000'000'000);
  EXPECT_EQ(counts.at[0][W].reads, 1e12);
  EXPECT_EQ(counts.at[0][I].reads, 1e12 * 142858);
  EXPECT_EQ(counts.at[0][O].updates, 1e12 * 142858);
}

TEST(Count, LargeShortWindowsAreNotWalked) {  // a million outputs, 3 taps, by 7 on 4 units: 35715 rounds
  const Counts counts = row_of(1'000'000, 3, 2)
                            .level("a", "IWO", {}, {{'p', 35715}, {'k', 2}})
                            .level("b", "IWO", {{'p', 4}}, {{'p', 7}, {'r', 3}})
                            .counts();
  EXPECT_EQ(counts.at[1][I].tile, 9);
  // Units get 9 a round, 28 apart; together 30. The last round has 8 outputs left: a unit of 7, one of 1.
  EXPECT_EQ(counts.at[0][I].reads, 35714.0 * 30 + 10);
  EXPECT_EQ(counts.at[1][I].fills * 4, 35714.0 * 36 + 9 + 3);
}

TEST(CountLaws, EveryElementIsReadAndWritten) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    brute::RandomOptions options;
    options.ragged = i % 2 == 0;
    const auto problem = static_cast<brute::Problem>(random() % brute::kProblems);
    const ChipProgram chip = brute::random_chip(problem, options, random);
    Counts counts;
    count(nest_of(chip).value(), counts);
    for (std::size_t t = 0; t < chip.tensors.size(); ++t) {
      const bool output = chip.tensors[t].use == TensorUse::output;
      const auto units = static_cast<double>(counts.instances[0]);
      EXPECT_GE((output ? counts.at[0][t].updates : counts.at[0][t].reads) * units,
          static_cast<double>(counts.at[0][t].tile));
      for (std::size_t l = 0; l < chip.levels.size(); ++l) {
        const TensorCount& at = counts.at[l][t];
        EXPECT_GE(at.sent_apart, at.sent);
        EXPECT_LE(at.sent, static_cast<double>(counts.macs));
        EXPECT_LE(output ? at.refills : at.fills, output ? at.updates : at.reads);
      }
    }
  }
}

TEST(NestOf, LeavesOutLoopsOfOneRound) {
  const Nest nest = nest_of(
      gemm_of(4, 1, 2).level("a", "IWO", {{'m', 2}}, {{'n', 1}, {'m', 2}}).level("b", "", {}, {{'k', 2}}).chip())
                        .value();
  ASSERT_EQ(nest.loops, 3);
  EXPECT_TRUE(nest.loop[0].space);
  EXPECT_EQ(nest.loop[2].level, 1);
  EXPECT_EQ(nest.keeps[0], 7);
  EXPECT_EQ(nest.keeps[1], 0);
}

std::string nest_refusal(const ChipProgram& chip) {
  const auto nest = nest_of(chip);
  return nest ? "" : to_text(nest.error());
}

TEST(NestOf, SaysWhatItCannotHold) {
  ChipProgram chip = gemm_of(2, 2, 2).level("a", "IWO", {}, {{'m', 2}, {'n', 2}, {'k', 2}}).chip();
  chip.op = "G";
  ChipProgram many = chip;
  many.dims.resize(17);
  EXPECT_EQ(nest_refusal(many), "operator G: 17 dims (at most 16 are counted)");
  many = chip;
  many.tensors.resize(9);
  EXPECT_EQ(nest_refusal(many), "operator G: 9 tensors (at most 8 are counted)");
  many = chip;
  many.levels.resize(13);
  EXPECT_EQ(nest_refusal(many), "operator G: 13 levels (at most 12 are counted)");
  many = chip;
  many.levels[0].time.resize(65, {0, 2, -1, false, {}});
  EXPECT_EQ(nest_refusal(many), "operator G: 65 loops of more than one round (at most 64 are counted)");
  many = chip;
  for (ChipDim& dim : many.dims) dim.extent = std::int64_t{1} << 21;
  EXPECT_EQ(nest_refusal(many), "operator G: more than 2^62 multiply-adds (split the operator first)");
  many = chip;
  many.levels[0].time.resize(40, {0, 8, -1, false, {}});
  EXPECT_EQ(nest_refusal(many), "operator G: m: more than 2^62 rounds (the extent is 2)");
  many = chip;
  many.tensors[0].indices[0].terms[0].step = 0;
  EXPECT_EQ(nest_refusal(many), "operator G: I: step 0 of m in an index (steps are 1 or more)");
  EXPECT_EQ(nest_refusal(ChipOf({{'p', 2}, {'r', 2}}, {"I[p+r,p+2r]", "O[p]"}).level("a", "IO", {}, {}).chip()),
      "operator: I: loop p stands in two windows (one window per loop is counted)");
}

}  // namespace
}  // namespace stepcast::dataflow
