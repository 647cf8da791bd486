// The parser: architectures, lines of chip levels, indices that are sums, what holds of an operator's loops.
#include "tests/dataflow/notation/parse_expect.h"

namespace stepcast::dataflow {
namespace {

TEST(ParseChip, ArchLevelsFromTheOutside) {
  const MappingProgram program = read_program("arch dram cap:80 GiB bw:64 B/cycle {\n  glb {\n    pe[16x8]@mesh\n"
                                              "      word:2 B energy:2.5pJ\n  }\n}\nnext: O[m] = I[m]");
  ASSERT_EQ(program.archs.size(), 1u);
  const std::vector<ArchLevel>& levels = program.archs[0].levels;
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_EQ(levels[0].properties[0], (ArchLevel::Property{"cap", 80.0 * (1 << 30), false, "80 GiB"}));
  EXPECT_EQ(levels[0].properties[1], (ArchLevel::Property{"bw", 64, true, "64 B/cycle"}));
  EXPECT_EQ(levels[2].axes, (std::vector<ArchLevel::Axis>{{"x", 16}, {"y", 8}}));
  EXPECT_EQ(levels[2].fabric, (Fabric{"mesh", false, false}));
  EXPECT_EQ(levels[2].properties[0].value, 16);       // bits
  EXPECT_EQ(levels[2].properties[1].value, 2.5e-12);  // J
  EXPECT_EQ(program.operators.size(), 1u);
}

TEST(ParseChip, ArchWithoutItsWordAndWithNamedAxes) {
  const MappingProgram program =
      read_program("node[16]@ib { gpu[8]@nvl(multicast, reduce) { hbm { sm[132] { warp[row:4 col:8] { rf }}}}}");
  const std::vector<ArchLevel>& levels = program.archs.at(0).levels;
  ASSERT_EQ(levels.size(), 6u);
  EXPECT_EQ(levels[0].axes, (std::vector<ArchLevel::Axis>{{"node", 16}}));
  EXPECT_EQ(levels[1].fabric, (Fabric{"nvl", true, true}));
  EXPECT_EQ(levels[4].axes, (std::vector<ArchLevel::Axis>{{"row", 4}, {"col", 8}}));
  EXPECT_TRUE(levels[5].axes.empty());
}

TEST(ParseChip, LevelLines) {
  const auto line = only_statement<LevelStatement>("glb: par k:16? on x, for n:8 for m par a:2, b on y [I, W O] []");
  EXPECT_EQ(line.level, "glb");
  ASSERT_EQ(line.items.size(), 7u);
  EXPECT_EQ(std::get<ChipPar>(line.items[0]), (ChipPar{"k", "x", 16, true}));
  EXPECT_EQ(std::get<ForStatement>(line.items[1]), (ForStatement{"n", 8, false}));
  EXPECT_EQ(std::get<ForStatement>(line.items[2]), (ForStatement{"m", 0, false}));
  EXPECT_EQ(std::get<ChipPar>(line.items[3]), (ChipPar{"a", "y", 2, false}));
  EXPECT_EQ(std::get<ChipPar>(line.items[4]), (ChipPar{"b", "y", 0, false}));
  EXPECT_EQ(std::get<Keep>(line.items[5]).tensors, (NameList{"I", "W", "O"}));
  EXPECT_TRUE(std::get<Keep>(line.items[6]).tensors.empty());
}

TEST(ParseChip, LevelLinesHaveScopesAndAnyName) {
  const MappingProgram program = read_program("map m {\n  at conv: use: for k:4\n  par: for k:* []\n  use tp\n}");
  ASSERT_EQ(program.body.size(), 3u);
  EXPECT_EQ(std::get<Statement>(program.body[0]).scope, NameList{"conv"});
  EXPECT_EQ(std::get<LevelStatement>(std::get<Statement>(program.body[0]).body).level, "use");
  EXPECT_EQ(std::get<LevelStatement>(std::get<Statement>(program.body[1]).body).level, "par");
  EXPECT_TRUE(std::holds_alternative<Use>(program.body[2]));
}

TEST(ParseChip, IndicesMayBeSums) {
  const WrittenOperator conv = read_program("c: O[p] += I[c,2*p+3*r] * W[c,r]").operators.at(0);
  EXPECT_EQ(conv.inputs[0].indices[1].terms, (std::vector<WrittenIndex::Term>{{"p", 2}, {"r", 3}}));
}

TEST(ParseChip, DomainsPadsAndWholeLoops) {
  const std::string text = "a: O[s] softmax= Q[s], K[t], V[t] where s-4 < t <= s pad s, t:1.5";
  const WrittenOperator core = read_program(text).operators.at(0);
  EXPECT_EQ(core.domain, (WrittenDomain{"s", "t", 4}));
  EXPECT_EQ(core.pads, (std::vector<WrittenPad>{{"s", 0}, {"t", 1.5}}));
  EXPECT_EQ(read_program("a: O[s] = I[s,t] where t <= s").operators.at(0).domain, (WrittenDomain{"s", "t", 0}));
  EXPECT_EQ(read_program("e: O[s,d] = opaque(d, s) I[s,d]").operators.at(0).whole_loops, (NameList{"d", "s"}));
}

TEST(ParseChip, WrongArchsAreRefused) {
  expect_refusals({
      {"arch dram cp:80 GiB", "plan.flow:1:11", "found unknown property 'cp' (did you mean 'cap'?)"},
      {"arch dram cap:3 s", "plan.flow:1:15", "cap: '3 s' is a time, not a memory size"},
      {"arch dram bw:64 B", "plan.flow:1:14", "such as bw:64 B/cycle or 3.35 TB/s"},
      {"arch dram bw:64", "plan.flow:1:14", "has no unit"},
      {"arch dram cap:", "plan.flow:1:15", "expected a quantity such as 80 GiB"},
      {"arch dram cap:1 B cap:2 B", "plan.flow:1:19", "found 'cap' a second time in level 'dram'"},
      {"arch dram word:16 pJ", "plan.flow:1:16", "unknown unit in '16 pJ' (units: bit, bits, B"},
      {"arch dram energy:2", "plan.flow:1:18", "has no unit"},
      {"arch dram buffers:0", "plan.flow:1:19", "an integer from 1 to 1024"},
      {"arch a { a }", "plan.flow:1:10", "found level 'a' a second time"},
      {"arch at { b }", "plan.flow:1:6", "found 'at' as the name of a level"},
      {"arch pe[0x16]", "plan.flow:1:9", "found '0x16' as the units of 'pe'"},
      {"arch pe[2x2x2x2]", "plan.flow:1:9", "more than three axes without names"},
      {"arch pe[x:4 x:4]", "plan.flow:1:13", "found axis 'x' twice in one level"},
      {"arch pe[1048576x1048577]", "plan.flow:1:9", "more than 2^40 units"},
      {"arch pe[4]@mash", "plan.flow:1:12", "did you mean 'mesh'?"},
      {"arch pe[4]@mesh(reduce)", "plan.flow:1:16", "found options of fabric 'mesh', which has none"},
      {"arch pe[4]@switch(multi)", "plan.flow:1:19", "found 'multi', expected 'multicast' or 'reduce'"},
      {"arch a\narch b", "plan.flow:2:1", "found a second arch (a program describes one machine; the first stands at "},
      {"arch a { b", "plan.flow:1:11", "expected '}'"},
      {"map m {\narch a { b }\n}", "plan.flow:2:1", "found an arch in a map"},
  });
}

TEST(ParseChip, WrongLevelLinesAreRefused) {
  expect_refusals({
      {"glb: fro k", "plan.flow:1:6", "did you mean 'for'?"},
      {"glb:", "plan.flow:1:5", "expected 'par', 'for' or '[TENSORS]' of a level"},
      {"glb: par k:16", "plan.flow:1:14", "expected 'on'"},
      {"glb: par g*r on x", "plan.flow:1:11", "on a chip level write one par per dim"},
      {"glb: for k:0", "plan.flow:1:12", "expected an integer from 1 to 2^40"},
      {"glb: [I I]", "plan.flow:1:9", "found 'I' twice in one list"},
      {"glb: [I, ]", "plan.flow:1:10", "expected a tensor"},
      {"glb: for k:2,", "plan.flow:1:14", "expected 'par', 'for' or '[TENSORS]'"},
      {"map m {\no: O[m] = I[m]\n}", "plan.flow:2:1", "found an operator in a map"},
  });
}

TEST(ParseChip, WrongOperatorsAreRefused) {
  expect_refusals({
      {"c: O[p] += I[2p]", "plan.flow:1:14", "write the product out: 2*p"},
      {"c: O[p] += I[p*2]", "plan.flow:1:15", "the factor stands first: 2*p"},
      {"c: O[p] += I[p+1]", "plan.flow:1:17", "without constants"},
      {"c: O[p] += I[p+p]", "plan.flow:1:16", "found 'p' twice in one index"},
      {"c: O[p] += I[0*p]", "plan.flow:1:14", "expected an integer from 1"},
      {"o: O[s] = I[s,t] where t <= u", "plan.flow:1:29", "found 'u', which is no loop of operator 'o'"},
      {"o: O[s] = I[s,t] where s-4 < t <= t", "plan.flow:1:35", "expected 's'"},
      {"o: O[s] = I[s,t] where t <= t", "plan.flow:1:24", "compared with itself"},
      {"o: O[s] = I[s] pad s:0", "plan.flow:1:22", "no factor from 0.001"},
      {"o: O[s] = I[s] pad s, s", "plan.flow:1:23", "padded twice"},
      {"o: O[s] = opaque I[s]", "plan.flow:1:18", "opaque(d): no rank works on a part of d"},
      {"o: O[s] = rope(d) I[s]", "plan.flow:1:11", "found 'd', which is no loop of operator 'o'"},
  });
}

/// Mistakes inside the braces are reported together, and what stands behind them is still read.
TEST(ParseChip, AMistakeInAnArchSwallowsNothing) {
  const Error error = refusal_of("arch dram cp:1 B {\n  glb@mush {\n    pe[4 {\n rf }\n  }\n}\n"
                                 "dim k:3 k:4\npar b an x");
  for (const char* said : {"unknown property 'cp'", "2:7: found unknown fabric 'mush'", "3:10: found '{', expected ']'",
           "7:9: found dim 'k' a second time", "8:7: found 'an', expected 'on'"})
    EXPECT_NE(to_text(error).find(said), std::string::npos) << said << "\n" << to_text(error);
  const Error open = refusal_of("arch dram {\n  glb {\n    pe[0]\n  }\ncap:3 B\ndim k:3 k:4\nglb: fro k");
  for (const char* said : {"3:8: found '0' as the units", "6:9: found dim 'k'", "7:6: found 'fro'"})
    EXPECT_NE(to_text(open).find(said), std::string::npos) << said << "\n" << to_text(open);
}

}  // namespace
}  // namespace stepcast::dataflow
