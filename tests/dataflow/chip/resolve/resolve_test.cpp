// Programs of the notation as resolved chips: which loop sits where, what is kept, what the extents are.
#include <gtest/gtest.h>

#include "tests/dataflow/chip/chip_text.h"

namespace stepcast::dataflow {
namespace {

// A 128 x 64 times 64 x 128 product.
const std::string kGemm = "dim m:128 n:128 k:64\nG: O[m,n] += I[m,k] * W[k,n]\n";

TEST(ResolveChip, WeightStationaryArray) {
  const auto chip = chip_of("arch glb { pe[16x16]@systolic }\n" + kGemm +
                            "glb: for n:8 for k:4 for m:128 [I W O]\n"
                            "pe: par k:16 on x  par n:16 on y [W]\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  EXPECT_EQ(chip->op, "G");
  EXPECT_EQ(loops_of_level(*chip, "glb"), "for n:8, for k:4, for m:128");
  EXPECT_EQ(loops_of_level(*chip, "pe"), "par k:16 on x, par n:16 on y");
  EXPECT_EQ(kept_at(*chip, "glb"), "I W O");
  EXPECT_EQ(kept_at(*chip, "pe"), "W");
  EXPECT_EQ(chip->levels[1].fabric, FabricClass::chain);
  ASSERT_EQ(chip->tensors.size(), 3U);
  EXPECT_EQ(chip->tensors[0].use, TensorUse::input);
  EXPECT_EQ(chip->tensors[1].use, TensorUse::weight);
  EXPECT_EQ(chip->tensors[2].use, TensorUse::output);
}

TEST(ResolveChip, RowStationaryConvolution) {
  const auto chip = chip_of("arch dram { glb cap:256 KiB { pe[13x3] { rf cap:1 KiB } } }\n"
                            "dim p:13 q:13 c:256 k:384 r:3 s:3\n"
                            "conv: O[k,p,q] += I[c,p+r,q+s] * W[k,c,r,s]\n"
                            "dram: for k:* for c:*\n"
                            "glb: for c:4 for k:4 for q [I O]\n"
                            "pe: par p on x  par r on y\n"
                            "rf: for k:4 for c:4 for s:3 [W I O]\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  EXPECT_EQ(loops_of_level(*chip, "dram"), "for k:24, for c:16");
  EXPECT_EQ(loops_of_level(*chip, "glb"), "for c:4, for k:4, for q:13");
  EXPECT_EQ(loops_of_level(*chip, "pe"), "par p:13 on x, par r:3 on y");
  EXPECT_FALSE(chip->levels[2].store);  // units only
  EXPECT_EQ(kept_at(*chip, "rf"), "I W O");
  // glb: 16 channels of (13 + 2) x (13 + 2) pixels; rf: 4 channels, one row position, 3 columns of one output.
  EXPECT_EQ(tile_elements(*chip, 0, 1), 16 * 15 * 15);
  EXPECT_EQ(tile_elements(*chip, 0, 3), 4 * 1 * 3);
}

TEST(ResolveChip, CutlassBlock) {
  const auto chip =
      chip_of("arch hbm { sm[2x2] { smem cap:32 KiB buffers:2 { thread[16x16] { rf cap:1 KiB } } } }\n" + kGemm +
              "hbm: par m on sm.x par n on sm.y for k:*\n"
              "smem: for k:16 [I W]\n"
              "rf: par m:16 on thread.x  par n:16 on thread.y  for m:4 for n:4\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  EXPECT_EQ(loops_of_level(*chip, "hbm"), "for k:4");
  EXPECT_EQ(loops_of_level(*chip, "sm"), "par m:2 on x, par n:2 on y");
  EXPECT_EQ(loops_of_level(*chip, "smem"), "for k:16");
  EXPECT_EQ(loops_of_level(*chip, "thread"), "par m:16 on x, par n:16 on y");
  EXPECT_EQ(kept_at(*chip, "smem"), "I W");
  EXPECT_EQ(tile_elements(*chip, 0, 2), 64 * 16);
  EXPECT_EQ(resident_bytes(*chip, 0, 2), 64 * 16 * 2 * 2);  // 2 bytes, two buffers
}

TEST(ResolveChip, AxisNames) {
  // From the line of hbm, x and y are those of the nearest units, sm; a level with one axis goes by its name.
  const std::string arch = "arch hbm { sm[2x4] { core[8] { lane[row:2 col:4] } } }\n";
  const auto chip = chip_of(
      arch + kGemm +
      "hbm: par m:2 on x par n:4 on y par k:8 on core par m:2 on row par n:4 on lane.col for m:* for n:* for k:*\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  EXPECT_EQ(loops_of_level(*chip, "sm"), "par m:2 on x, par n:4 on y");
  EXPECT_EQ(loops_of_level(*chip, "core"), "par k:8 on core");
  EXPECT_EQ(loops_of_level(*chip, "lane"), "par m:2 on row, par n:4 on col");
  EXPECT_EQ(loops_of_level(*chip, "hbm"), "for m:32, for n:8, for k:8");

  const auto one = chip_of(arch + kGemm + "core: par k on x\nhbm: for m:* for n:* for k:*\n");
  ASSERT_TRUE(one) << to_text(one.error());
  EXPECT_EQ(loops_of_level(*one, "core"), "par k:8 on core");
}

TEST(ResolveChip, MissingFactorsTakeUnitsOrWhatIsLeft) {
  const auto chip =
      chip_of("arch glb { pe[16x256] }\n" + kGemm + "glb: for m for n:2 for k:*\npe: par k on x par n on y\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  EXPECT_EQ(loops_of_level(*chip, "pe"), "par k:16 on x, par n:64 on y");  // 128 / 2 is less than 256
  EXPECT_EQ(loops_of_level(*chip, "glb"), "for m:128, for n:2, for k:4");
}

TEST(ResolveChip, SeveralDimsOnOneAxis) {
  const auto chip =
      chip_of("arch glb { pe[64] }\n" + kGemm + "glb: for m for n:* for k:*\npe: par n:8 on pe par k on pe\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  EXPECT_EQ(loops_of_level(*chip, "pe"), "par n:8 on pe, par k:8 on pe");
}

TEST(ResolveChip, ShortLastRoundsAreSaid) {
  const auto chip = chip_of("arch glb { pe[16x16] }\ndim m:100 n:24 k:30\nG: O[m,n] += I[m,k] * W[k,n]\n"
                            "glb: for m for n:*? for k:2?\npe: par k on x par n? on y\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  EXPECT_EQ(loops_of_level(*chip, "glb"), "for m:100, for n:2?, for k:2?");
  EXPECT_EQ(loops_of_level(*chip, "pe"), "par k:15 on x, par n:16? on y");
}

TEST(ResolveChip, LinesOfOneLevelAppend) {
  const auto chip =
      chip_of("arch glb { rf }\n" + kGemm + "glb: for n:* \nrf: for k\nglb: for m:16 [I W O]\nrf: for m:8\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  EXPECT_EQ(loops_of_level(*chip, "glb"), "for n:128, for m:16");
  EXPECT_EQ(loops_of_level(*chip, "rf"), "for k:64, for m:8");
  EXPECT_EQ(kept_at(*chip, "rf"), "I W O");
}

TEST(ResolveChip, ScopesAndLinesOfOtherOperators) {
  const std::string two = "arch glb { rf }\ndim m:8 n:4 k:2 f:16\n"
                          "a.up: U[m,f] += I[m,k] * Wu[k,f]\n"
                          "a.down: O[m,n] += U[m,f] * Wd[f,n]\n"
                          "glb: for m for f for k for n [I U Wu Wd O]\n"
                          "at a.down: rf: [Wd]\n";
  const auto up = chip_of(two, "a.up");
  ASSERT_TRUE(up) << to_text(up.error());
  EXPECT_EQ(loops_of_level(*up, "glb"), "for m:8, for f:16, for k:2");
  EXPECT_EQ(kept_at(*up, "rf"), "I Wu U");
  const auto down = chip_of(two, "a.down");
  ASSERT_TRUE(down) << to_text(down.error());
  EXPECT_EQ(loops_of_level(*down, "glb"), "for m:8, for f:16, for n:4");
  EXPECT_EQ(kept_at(*down, "rf"), "Wd");
  EXPECT_EQ(down->tensors[0].use, TensorUse::input);
  EXPECT_EQ(chip_error(two), "operator: the program has 2 operators: a.up, a.down (name one of them)");
  EXPECT_EQ(chip_error(two, "a.dwn"), "operator: the program has no operator 'a.dwn' (did you mean 'a.down'?)");
}

TEST(ResolveChip, MeshGivesTheExtentsOfOneRank) {
  const auto chip = chip_of("mesh tp:4 dp:2\narch glb { pe[16] }\n" + kGemm +
                            "par n on tp\npar m on dp\nglb: for m for n for k:*\npe: par k on pe\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  EXPECT_EQ(chip->dims[0].extent, 64);
  EXPECT_EQ(chip->dims[1].extent, 32);
  EXPECT_EQ(chip->dims[2].extent, 64);
  EXPECT_EQ(loops_of_level(*chip, "glb"), "for m:64, for n:32, for k:4");
}

TEST(ResolveChip, AliasesBringLevelLines) {
  const auto chip =
      chip_of("alias ws = glb: for n:* for k:* for m ; pe: par k on x par n on y [W]\narch glb { pe[16x16] }\n" +
              kGemm + "use ws\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  EXPECT_EQ(loops_of_level(*chip, "glb"), "for n:8, for k:4, for m:128");
}

TEST(ResolveChip, HasChip) {
  EXPECT_TRUE(has_chip(*parse("arch glb { rf }\n", "f")));
  EXPECT_TRUE(has_chip(*parse("glb: for k:*\n", "f")));
  EXPECT_FALSE(has_chip(*parse("mesh tp:2\n" + kGemm + "par n on tp\n", "f")));
}

}  // namespace
}  // namespace stepcast::dataflow
