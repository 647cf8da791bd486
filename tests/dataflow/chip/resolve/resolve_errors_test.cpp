// Wrong mappings of a chip: each error says where, with which numbers, and what is legal.
#include <functional>

#include <gtest/gtest.h>

#include "tests/dataflow/chip/chip_text.h"

namespace stepcast::dataflow {
namespace {

const std::string kProduct = "dim m:128 n:128 k:64\nG: O[m,n] += I[m,k] * W[k,n]\n";
const std::string kArray = "arch dram { glb { pe[16x16] } }\n" + kProduct;  // three lines: statements start at line 4

TEST(ResolveErrors, FactorsThatDoNotGiveTheExtent) {
  EXPECT_EQ(chip_error(kArray + "dram: for m for n for k:2\nglb: for k:3\npe: par k:16 on x\n"),
      "chip.flow:5:1: k: 2x3x16=96 but extent is 64 (level glb 'for k:3') (use 2 or write k:* to absorb the rest)");
  EXPECT_EQ(chip_error(kArray + "dram: for m for n\npe: par k:16 on x\n"),
      "chip.flow:5:1: k: 16 but extent is 64 (level pe 'par k:16 on x') (add 'for k:4' to the line of a level)");
  EXPECT_EQ(chip_error(kArray + "dram: for m for n for k:5\nglb: for k:3\n"),
      "chip.flow:5:1: k: 5x3=15 but extent is 64 (level glb 'for k:3') (write k:* to absorb the rest; the "
      "factors must divide 64: "
      "1, 2, 4, 8, 16, 32, 64; or write k:*? for a short last round)");
  EXPECT_EQ(chip_error(kArray + "dram: for m for n for k:3?\npe: par k:16 on x\n"),
      "chip.flow:4:1: k: 3x16=48 but extent is 64 (level dram 'for k:3?'), too few even with '?' (use 4 or write "
      "k:* to absorb the rest)");
}

TEST(ResolveErrors, TheRestMustDivide) {
  EXPECT_EQ(chip_error("arch glb { pe[16] }\ndim m:100\nY: Y[m] = gelu X[m]\nglb: for m:*\npe: par m on pe\n"),
      "chip.flow:4:1: m: the other factors make 16, which does not divide extent 100 (level glb 'for m:*') "
      "(they may make 1, 2, 4, 5, 10, 20, 25, 50, 100; or write m:*? for a short last round)");
  EXPECT_EQ(chip_error(kArray + "dram: for m for n for k:*\nglb: for k:*\n"),
      "chip.flow:5:1: k: both level dram 'for k:*' and level glb 'for k:*' take the rest (one * per dim)");
}

TEST(ResolveErrors, DimNeverMapped) {
  EXPECT_EQ(chip_error(kArray + "dram: for m for n\n"),
      "chip.flow:3:1: k (extent 64) is never mapped: no level has a 'for k' or 'par k' (write 'for k:*' in the "
      "line of a level, such as dram)");
  EXPECT_EQ(chip_error("arch glb { rf }\ndim m:8 k:1\nG: O[m] += I[m,k] * W[k]\nglb: for m\n"),
      "");  // extent 1 is free
}

TEST(ResolveErrors, UnknownNames) {
  EXPECT_EQ(chip_error(kArray + "dram: for m for n for kk\n"),
      "chip.flow:4:1: 'for kk:*': operator G has no loop 'kk' (did you mean 'k'?)");
  EXPECT_EQ(chip_error(kArray + "drma: for m for n for k\n"),
      "chip.flow:4:1: the arch has no level 'drma' (did you mean 'dram'?)");
  EXPECT_EQ(chip_error(kArray + "dram: for m for n for k\nglb: [I X]\n"),
      "chip.flow:5:1: level glb keeps 'X', which operator G does not have (one of: I, W, O)");
  EXPECT_EQ(chip_error(kArray + "dram: for m for n for k:* par k on z\n"),
      "chip.flow:4:1: 'par k on z' in the line of dram: unknown axis 'z' (one of: pe.x, pe.y)");
  EXPECT_EQ(chip_error("arch a { b }\n" + kProduct + "a: for m for n for k:* par k on x\n"),
      "chip.flow:4:1: 'par k on x' in the line of a: unknown axis 'x' (no level of the arch has units: write "
      "'pe[16x16]')");
  EXPECT_EQ(chip_error(kArray + "at atn: dram: for m for n for k\n"),
      "chip.flow:4:1: no operator has the tag 'atn' (one of: G)");
  EXPECT_EQ(chip_error("arch glb { rf }\ndim m:8\nG: O[m] += I[m,k] * W[k]\nglb: for m\n"),
      "chip.flow:3:1: loop 'k' of I has no extent (add 'dim k:EXTENT')");
}

TEST(ResolveErrors, NearestAxis) {
  EXPECT_EQ(chip_error("arch hbm { sm[4] { lane[32] } }\n" + kProduct + "hbm: for m for n for k:* par k on lnae\n"),
      "chip.flow:4:1: 'par k on lnae' in the line of hbm: unknown axis 'lnae' (did you mean 'lane'? one of: sm, lane)");
}

TEST(ResolveErrors, StatementsAtNoLevel) {
  const std::string array = "arch glb { pe[16] }\n" + kProduct;
  EXPECT_EQ(chip_error(array + "glb: for m for n for k:*\npar k on pe\n"),
      "chip.flow:5:1: 'par k on pe' names pe, an axis of the arch, but no level (write 'pe: par k on pe')");
  EXPECT_EQ(chip_error(array + "glb: for m for n\nfor k:*\n"),
      "chip.flow:5:1: 'for k:*' stands at no level (write 'glb: for k:*')");
  EXPECT_EQ(chip_error(array + "glb: for m for n for k\nmove W multicast\n"),
      "chip.flow:5:1: 'move W multicast' speaks of ranks, but the program has no mesh line (add 'mesh "
      "AXIS:SIZE', or leave it out)");
  EXPECT_EQ(chip_error("alias a = move W multicast\n" + array + "glb: for m for n for k\nuse a\n").substr(0, 46),
      "chip.flow:1:11: 'move W multicast' speaks of r");
  EXPECT_EQ(chip_error("mesh tp:4\n" + array + "glb: for m for n:* for k par n on tp\n"),
      "chip.flow:5:1: 'par n on tp' in the line of glb: tp is an axis of the mesh (write 'par n on tp' without a "
      "level)");
}

TEST(ResolveErrors, AmbiguousAxis) {
  EXPECT_EQ(chip_error("arch hbm { sm[2x2] { a[row:2 col:2] { b[row:2 col:2] } } }\n" + kProduct +
                       "hbm: for m for n for k:* par k:2 on row\n"),
      "chip.flow:4:1: 'par k:2 on row' in the line of hbm: axis 'row' is ambiguous (one of: a.row, b.row)");
}

TEST(ResolveErrors, MoreParts) {
  EXPECT_EQ(
      chip_error("arch glb { pe[256] }\ndim m:8 n:512 k:64\nG: O[m,n] += I[m,k] * W[k,n]\nglb: for m for k\npe: par "
                 "n:512 on pe\n"),
      "chip.flow:5:1: par n:512 on pe but 256 units (level pe) (use 256, and take the rest in time with 'for n:*')");
  EXPECT_EQ(chip_error(kArray + "dram: for m for n:* for k:*\npe: par k:16 on x par n:4 on x\n"),
      "chip.flow:5:1: 'par k:16 on x' and 'par n:4 on x' make 64 parts but 16 units (the parts on x may make at "
      "most 16)");
}

TEST(ResolveErrors, AxisUsedTwice) {
  EXPECT_EQ(chip_error(kArray + "dram: for m for n:* for k:*\npe: par k on x par n on x\n"),
      "chip.flow:5:1: x is used twice: k takes all 16 units, nothing is left for n (level pe 'par n on x') "
      "(put n on another axis or in time, or write factors that make at most 16 together)");
}

TEST(ResolveErrors, OneMeaningPerLevel) {
  EXPECT_EQ(chip_error(kArray + "dram: for m for n for k\nglb: [I]\nglb: [W]\n"),
      "chip.flow:6:1: level glb has a second list of kept tensors; the first stands at chip.flow:5:1 (write one "
      "list with all that it keeps)");
  MappingProgram twice = *parse(kArray + "dram: for m for n for k\n", "chip.flow");
  twice.archs.front().levels[1].name = "dram";  // the parser refuses it, an importer might not
  EXPECT_EQ(chip_program(twice, "").error().what, "level dram stands twice in the arch");
}

TEST(ResolveErrors, Operators) {
  EXPECT_EQ(chip_error("arch glb { rf }\nglb: for m\n"),
      "program: no operator is written (write one, such as 'O: O[m,n] += I[m,k] * W[k,n]')");
  EXPECT_EQ(chip_error(kProduct),
      "program: no arch is written, so there are no levels to map on (write one, such as 'arch dram { glb cap:64 "
      "KiB { pe[16x16] } }')");
  EXPECT_EQ(
      chip_error(
          "arch glb { rf }\ndim s:8 t:8 d:4\nA: S[s,t] += Q[s,d] * K[t,d] where t <= s\nglb: for s for t for d\n"),
      "chip.flow:3:1: operator A works on a part of its loops only (where ...) (levels count whole nests: map it "
      "without 'where', and scale)");
  EXPECT_EQ(chip_error("arch glb { rf }\ndim v:8 m:8 d:4\nE: X[m,d] = select W[v,d]\nglb: for m for d for v\n"),
      "chip.flow:3:1: operator E is 'select', which is not a plain nest of loops (levels count einsums and "
      "pointwise functions)");
}

TEST(ResolveErrors, WindowsOnAMesh) {
  EXPECT_EQ(
      chip_error("mesh dp:2\narch glb { rf }\ndim p:8 r:3\nC: O[p] += I[p+r] * W[r]\npar p on dp\nglb: for p for r\n"),
      "chip.flow:4:1: operator C reads windows of I, which a mesh does not split (leave the mesh out and give the "
      "extents of one rank)");
}

TEST(ResolveErrors, Arch) {
  EXPECT_EQ(chip_error("arch glb bw:1 TB/s { rf }\n" + kProduct + "glb: for m for n for k\n"),
      "chip.flow:1:6: bw of level glb is in seconds, but no level has a clock (add 'clock:1 GHz' to a level, or "
      "write it in cycles)");
  EXPECT_EQ(chip_error("arch glb clock:1 GHz { rf clock:2 GHz }\n" + kProduct + "glb: for m for n for k\n"),
      "chip.flow:1:24: clock 2000000000 Hz at rf, but 1000000000 Hz further out (cycles are counted on one "
      "clock: write it once)");
}

TEST(ResolveArch, Properties) {
  const auto chip = chip_of(
      "arch hbm cap:1 GiB bw:1 TB/s lat:500 ns clock:2 GHz { sm[4]@nvl flops:64 FLOP/cycle { lane[16]@mesh word:8 bit "
      "energy:2.5 pJ bw:4 B/cycle buffers:2 } }\n" +
      kProduct + "hbm: for m for n for k:* par k on sm\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  EXPECT_EQ(chip->clock_hz, 2e9);
  EXPECT_EQ(chip->levels[0].capacity_bytes, 1 << 30);
  EXPECT_EQ(chip->levels[0].bytes_per_cycle, 500);
  EXPECT_NEAR(chip->levels[0].latency_cycles, 1000, 1e-9);
  EXPECT_EQ(chip->macs_per_cycle, 2);  // 64 FLOP of an sm over 16 lanes, 2 per multiply-add
  EXPECT_EQ(chip->levels[1].fabric, FabricClass::network);
  EXPECT_EQ(chip->levels[2].fabric, FabricClass::chain);
  EXPECT_TRUE(chip->levels[2].multicast && chip->levels[2].reduce);
  EXPECT_EQ(chip->levels[2].word_bytes, 1);
  EXPECT_NEAR(chip->levels[2].energy_pj, 2.5, 1e-12);
  EXPECT_EQ(chip->levels[2].bytes_per_cycle, 4);
  EXPECT_EQ(chip->levels[2].buffers, 2);
}

TEST(ResolveArch, NetworksDoWhatTheySay) {
  const std::string lines = kProduct + "hbm: for m for n for k\n";
  const auto plain = chip_of("arch hbm { sm[4]@switch }\n" + lines),
             both = chip_of("arch hbm { sm[4]@switch(multicast, reduce) }\n" + lines),
             bus = chip_of("arch hbm { sm[4] }\n" + lines);
  ASSERT_TRUE(plain && both && bus);
  EXPECT_FALSE(plain->levels[1].multicast || plain->levels[1].reduce);
  EXPECT_TRUE(both->levels[1].multicast && both->levels[1].reduce);
  EXPECT_TRUE(bus->levels[1].multicast && bus->levels[1].reduce);
}

/// What chip_program says about an arch that the parser would not have let through, as an importer might make it.
std::string arch_tree_error(const std::function<void(WrittenArch&)>& change) {
  MappingProgram program = *parse("arch glb { pe[4] }\n" + kProduct + "glb: for m for n for k\n", "chip.flow");
  change(program.archs.front());
  const auto chip = chip_program(program, "");
  return chip ? "" : fmt::format("{} ({})", chip.error().what, chip.error().hint);
}

TEST(ResolveArch, TreesFromElsewhereAreCheckedToo) {
  EXPECT_EQ(arch_tree_error([](WrittenArch&) {}), "");
  EXPECT_EQ(arch_tree_error([](WrittenArch& a) { a.levels[1].fabric.name = "mseh"; }),
      "level pe has an unknown fabric 'mseh' (did you mean 'mesh'?)");
  EXPECT_EQ(arch_tree_error([](WrittenArch& a) { a.levels[1].axes[0].units = 0; }),
      "axis pe of level pe has 0 units (at least 1)");
  EXPECT_EQ(arch_tree_error([](WrittenArch& a) {
    a.levels[1].axes.push_back({"pe", 4});
  }),
      "level pe has two axes 'pe' (name each axis once)");
  EXPECT_EQ(arch_tree_error([](WrittenArch& a) {
    a.levels[0].properties = {{"capp", 8, false, ""}};
  }),
      "level glb has an unknown property 'capp' (did you mean 'cap'?)");
  EXPECT_EQ(arch_tree_error([](WrittenArch& a) {
    a.levels[0].properties = {{"cap", -1, false, ""}};
  }),
      "cap of level glb is -1 (a number above 0; leave the property out where it is not known)");
  EXPECT_EQ(arch_tree_error([](WrittenArch& a) {
    a.levels[0].properties = {{"bw", 1, true, ""}, {"bw", 2, true, ""}};
  }),
      "level glb says 'bw' twice (once)");
  EXPECT_EQ(arch_tree_error([](WrittenArch& a) {
    a.levels[0].properties = {{"buffers", 1.5, false, ""}};
  }),
      "level glb has 1.5 buffers (a whole number from 1 to 1024)");
  EXPECT_EQ(arch_tree_error([](WrittenArch& a) {
    a.levels[0].properties = {{"flops", 16, true, ""}};
    a.levels[1].properties = {{"flops", 2, true, ""}};
  }),
      "flops at glb makes 4 per cycle and innermost unit, flops at pe 2 (write flops on one level)");
}

TEST(ResolveArch, TwoArchs) {
  MappingProgram program = *parse("arch glb { pe[4] }\n" + kProduct + "glb: for m for n for k\n", "chip.flow");
  program.archs.push_back(program.archs.front());
  EXPECT_EQ(chip_program(program, "").error().what, "a second arch");
}

TEST(ResolveErrors, AccessesOfAnOperator) {
  EXPECT_EQ(chip_error("arch a { b }\ndim m:8\nG: O[m] = O[m] + I[m]\na: for m\n"),
      "chip.flow:3:1: operator G reads O and writes it (give the result a name of its own: += already sums)");
}

TEST(ResolveErrors, PadGrowsALoop) {
  // Capacity factor 1.25 on 8 rows: 10.
  const auto chip = chip_of("arch a { b }\ndim c:8 h:4\nG: O[c,h] = gelu X[c,h] pad c:1.25\na: for c for h\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  EXPECT_EQ(chip->dims[0].extent, 10);
  const auto rank = chip_of(
      "mesh ep:2\narch a { b }\ndim c:8 h:4\nG: O[c,h] = gelu X[c,h] pad c:1.25\npar c on ep\na: for c for h\n");
  ASSERT_FALSE(rank);  // a mesh lays out whole parts only
  EXPECT_EQ(rank.error().where, "chip.flow:4:1");
}

}  // namespace
}  // namespace stepcast::dataflow
