// Tiles and capacities, what the outermost store keeps, and the counter's limits.
#include <set>

#include <gtest/gtest.h>

#include "dataflow/chip/count/count.h"
#include "dataflow/chip/resolve/legality.h"
#include "tests/dataflow/chip/chip_text.h"
#include "tests/dataflow/chip/legal_chip.h"

namespace stepcast::dataflow {
namespace {

const std::string kCube = "dim m:64 n:64 k:64\nG: O[m,n] += I[m,k] * W[k,n]\n";

TEST(LegalityTiles, DistinctValuesOfTwoTerms) {
  for (const std::int64_t a : {1, 2, 3, 6})
    for (const std::int64_t b : {1, 2, 4, 9})
      for (std::int64_t n = 1; n <= 8; ++n)
        for (std::int64_t m = 1; m <= 8; ++m) {
          std::set<std::int64_t> values;
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < m; ++j) values.insert(a * i + b * j);
          EXPECT_EQ(distinct_values({{{0, a}, {1, b}}}, {n, m}), static_cast<double>(values.size()))
              << a << " " << b << " " << n << " " << m;
        }
}

TEST(LegalityTiles, WindowsOfConvolutions) {
  EXPECT_EQ(distinct_values({{{0, 1}, {1, 1}}}, {13, 3}), 15);  // 13 outputs, 3 taps
  EXPECT_EQ(distinct_values({{{0, 4}, {1, 1}}}, {5, 3}), 15);   // stride beyond the window: nothing shared
  EXPECT_EQ(distinct_values({{{0, 2}, {1, 1}}}, {5, 3}), 11);
  EXPECT_EQ(distinct_values({{{0, 2}}}, {5}), 5);
  EXPECT_EQ(distinct_values({{}}, {5}), 1);
}

TEST(LegalityTiles, ShortRoundsBoundTheTile) {
  const auto chip = chip_of("arch a { b }\ndim m:10\nY: Y[m] = gelu X[m]\na: for m:2\nb: for m:6?\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  EXPECT_EQ(tile_elements(*chip, 0, 0), 10);
  EXPECT_EQ(tile_elements(*chip, 0, 1), 6);
}

TEST(LegalityTiles, AreThoseOfTheCounter) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const ChipProgram chip = legal_chip(seed);
    const auto nest = nest_of(chip);
    ASSERT_TRUE(nest) << to_text(nest.error());
    Counts counts;
    dataflow::count(*nest, counts);
    for (std::size_t l = 0; l < chip.levels.size(); ++l)
      for (std::size_t t = 0; t < chip.tensors.size(); ++t)
        if (chip.levels[l].keeps[t]) {
          ASSERT_EQ(
              static_cast<double>(counts.at[l][t].tile), tile_elements(chip, static_cast<int>(t), static_cast<int>(l)))
              << seed << " " << chip.levels[l].name << " " << chip.tensors[t].name;
        }
  }
}

TEST(LegalityCapacity, ListsTheTensorsAndTheSmallestChange) {
  // glb holds I 64x64, W 64x16, O 64x16 of 2 bytes: 8,192 + 2,048 + 2,048.
  EXPECT_EQ(
      chip_error("arch dram { glb cap:8 KiB { pe } }\n" + kCube + "dram: for n:4\nglb: for m:64 for n:16 for k:64\n"),
      "chip.flow:5:1: glb needs 12,288 B but has 8,192 B: I 64x64 = 4,096 elements x 2 B = 8,192 B, W 64x16 = 1,024 "
      "elements x 2 B = 2,048 B, "
      "O 64x16 = 1,024 elements x 2 B = 2,048 B (halve 'for m:64' of glb to m:32 and put 'for m:2' at dram: 7,168 B; "
      "or leave I out of the list of glb)");
}

TEST(LegalityCapacity, CountsBuffersOfTilesThatChange) {
  // O does not change from round to round of k: one buffer.
  const std::string lines = kCube + "dram: for k:4\nglb: for m:64 for n:64 for k:16\n";
  const std::string error = chip_error("arch dram { glb cap:12 KiB buffers:2 { pe } }\n" + lines);
  EXPECT_TRUE(error.starts_with(
      "chip.flow:5:1: glb needs 16,384 B but has 12,288 B: I 64x16 = 1,024 elements x 2 B x 2 buffers = 4,096 B, "
      "W 16x64 = 1,024 elements x 2 B x 2 buffers = 4,096 B, O 64x64 = 4,096 elements x 2 B = 8,192 B"))
      << error;
  EXPECT_EQ(chip_error("arch dram { glb cap:16 KiB buffers:2 { pe } }\n" + lines), "");
}

TEST(LegalityCapacity, MovesALoopOutWhereThatIsTheSmallestChange) {
  EXPECT_EQ(chip_error("arch dram { glb cap:64 B { pe } }\ndim m:64 n:3\nA: O[m,n] = I[m] + J[n]\ndram: for m:8\nglb: "
                       "for m:8 for n:3 [O]\npe: []\n"),
      "");
  const std::string error = chip_error(
      "arch dram { glb cap:16 B { pe } }\ndim m:64 n:3\nA: O[m,n] = I[m] + J[n]\ndram: for m:8\nglb: for m:8 for n:3 "
      "[O]\npe: []\n");
  EXPECT_TRUE(error.ends_with("(move 'for n:3' of glb out to dram: 16 B; or leave O out of the list of glb)")) << error;
}

TEST(LegalityCapacity, OutermostAndUnits) {
  EXPECT_EQ(chip_error("arch dram cap:8 KiB { pe }\n" + kCube + "dram: for m for n for k\n"),
      "chip.flow:4:1: dram needs 24,576 B but has 8,192 B: I 64x64 = 4,096 elements x 2 B = 8,192 B, W 64x64 = "
      "4,096 elements x 2 B = 8,192 B, "
      "O 64x64 = 4,096 elements x 2 B = 8,192 B (dram is the outermost store and holds everything: it needs a "
      "larger cap, or a mesh that splits the operator)");
  // Only units inside: their parts are what can shrink.
  const std::string error = chip_error(
      "arch dram { glb cap:24 B { pe[8] } }\ndim m:64\nY: Y[m] = gelu X[m]\ndram: for m:8\nglb: [X Y]\npe: par m:8 on "
      "pe\n");
  EXPECT_TRUE(
      error.find("(halve 'par m:8 on pe' of pe to m:4 and put 'for m:2' at dram: 16 B; or") != std::string::npos)
      << error;
}

TEST(LegalityCapacity, TheSuggestedChangeFits) {
  EXPECT_EQ(chip_error("arch dram { glb cap:8 KiB { pe } }\n" + kCube +
                       "dram: for n:4 for m:2\nglb: for m:32 for n:16 for k:64\n"),
      "");
}

TEST(LegalityKeeps, EveryTensorComesFromTheOutermostStore) {
  EXPECT_EQ(chip_error("arch dram { glb }\n" + kCube + "dram: for m for n for k [I W]\nglb: [I]\n"),
      "chip.flow:4:1: O is kept nowhere (add O to the list of dram: every tensor comes from there)");
  EXPECT_EQ(chip_error("arch dram { glb }\n" + kCube + "dram: for m for n for k [I W]\n"),
      "chip.flow:4:1: O is kept at glb, but not at dram, the outermost store (add O to the list of dram: every "
      "tensor comes from there)");
  EXPECT_EQ(chip_error("arch pe[4]\n" + kCube + "pe: par m:4 on pe\n").substr(0, 10), "chip.flow:");
}

TEST(LegalityKeeps, UnitsOutsideTheOutermostStore) {
  const auto chip = chip_of("arch gpu[8]@nvl { hbm }\n" + kCube + "gpu: par m on gpu\nhbm: for m:* for n for k\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  EXPECT_FALSE(chip->levels[0].store);
  EXPECT_EQ(kept_at(*chip, "hbm"), "I W O");
  EXPECT_EQ(tile_elements(*chip, 0, 1), 8 * 64);
}

TEST(LegalityLimits, MoreThanTheCounterHolds) {
  std::string dims = "dim", index, loops;
  for (int d = 0; d < 17; ++d) {
    dims += fmt::format(" d{}:2", d);
    index += fmt::format("{}d{}", d == 0 ? "" : ",", d);
    loops += fmt::format(" for d{}", d);
  }
  EXPECT_EQ(chip_error("arch a { b }\n" + dims + "\nY: Y[" + index + "] = gelu X[" + index + "]\na:" + loops + "\n"),
      "chip.flow:3:1: 17 loops in one operator (at most 16 are counted)");
  std::string arch, braces;
  for (int l = 0; l < 13; ++l) arch += fmt::format("{}l{} ", l == 0 ? "" : "{ ", l), braces += l == 0 ? "" : "}";
  EXPECT_EQ(chip_error("arch " + arch + braces + "\n" + kCube + "l0: for m for n for k\n"),
      "chip.flow:3:1: 13 levels in the arch (at most 12 are counted)");
}

}  // namespace
}  // namespace stepcast::dataflow
