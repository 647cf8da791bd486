// Placements in Shardy's words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataflow/translate/cluster/placements.h"
#include "tests/dataflow/translate/cluster/written_placements.h"

namespace stepcast::dataflow {
namespace {

using testing::HasSubstr;

std::string shardy_of(const std::string& text) {
  const auto program = parse(text, "test.flow");
  EXPECT_TRUE(program) << to_text(program.error());
  const auto written = placement_tests::write_shardy(*program);
  EXPECT_TRUE(written) << to_text(written.error());
  return written.value_or("");
}

TEST(Shardy, WeightStationaryArrayIsUnreducedOverX) {
  const std::string text =
      shardy_of("mesh x:16 y:16\ndim m:128 n:128 k:64\nO: O[m,n] += I[m,k] * W[k,n]\npar k on x\npar n on y\n");
  EXPECT_THAT(text, HasSubstr("sdy.mesh @mesh = <[\"y\"=16, \"x\"=16]>\n"));
  EXPECT_THAT(text, HasSubstr("I = #sdy.sharding<@mesh, [{}, {\"x\"}]>\n"));
  EXPECT_THAT(text, HasSubstr("W = #sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>\n"));
  EXPECT_THAT(text,
      HasSubstr("O = #sdy.sharding<@mesh, [{}, {\"y\"}], unreduced={\"x\"}> -> #sdy.sharding<@mesh, [{}, {\"y\"}]>\n"));
  EXPECT_THAT(text, HasSubstr("#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=128, j=128, k=64} reduction={k}>"));
}

TEST(Shardy, PartsOfAnAxisAreSubAxes) {
  // 4 kv groups of 2 queries on 8 ranks: K has g only, so it is cut on the slow 4 and repeated on the fast 2.
  const std::string text = shardy_of("mesh tp:8\ndim s:4 d:4 g:4 r:2 h:8\nq: Q[s,g,r,d] += X[s,h] * Wq[h,g,r,d]\n"
                                     "k: K[s,g,d] += X[s,h] * Wk[h,g,d]\npar g*r on tp\n");
  EXPECT_THAT(text, HasSubstr("sdy.mesh @mesh = <[\"tp\"=8]>\n"));
  EXPECT_THAT(text, HasSubstr("Q = #sdy.sharding<@mesh, [{}, {\"tp\":(1)4}, {\"tp\":(4)2}, {}]>\n"));
  EXPECT_THAT(text, HasSubstr("K = #sdy.sharding<@mesh, [{}, {\"tp\":(1)4}, {}]>\n"));
}

TEST(Shardy, MaximumIsUnreducedMax) {
  EXPECT_THAT(shardy_of("mesh tp:4\ndim s:4 v:8\nM: M[s] max= L[s,v]\npar v on tp\n"),
      HasSubstr("[{}], unreduced=max{\"tp\"}>"));
}

TEST(Shardy, RulesAndShardingsGiveTheLoops) {
  const auto program =
      read_shardy("sdy.mesh @mesh = <[\"dp\"=2, \"tp\"=4]>\ndim i:8 j:8 k:8\n"
                  "O = I, W #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=8, k=8} reduction={k}>\n"
                  "I = #sdy.sharding<@mesh, [{\"dp\"}, {\"tp\"}]>\nW = #sdy.sharding<@mesh, [{\"tp\"}, {}]>\n"
                  "O = #sdy.sharding<@mesh, [{\"dp\"}, {}], unreduced={\"tp\"}>\n",
          "f.mlir");
  ASSERT_TRUE(program) << to_text(program.error());
  EXPECT_THAT(print(*program), HasSubstr("mesh tp:4 dp:2\n"));
  EXPECT_THAT(print(*program), HasSubstr("O: O[i,j] += I[i,k] * W[k,j]\n"));
  EXPECT_THAT(print(*program), HasSubstr("par k on tp\npar i on dp\n"));
}

TEST(Shardy, WrongShardingsAreNamed) {
  const auto wrong = [](const std::string& sharding) {
    const auto program = read_shardy(
        "mesh x:2 y:4\ndim m:8\nO: O[m] = relu I[m]\nO = " + sharding + "\nI = " + sharding + "\n", "f.mlir");
    EXPECT_FALSE(program) << sharding;
    return program ? std::string{} : to_text(program.error());
  };
  EXPECT_THAT(wrong("#sdy.sharding<@mesh, [{\"z\"}]>"), HasSubstr("unknown axis 'z'"));
  EXPECT_THAT(wrong("#sdy.sharding<@mesh, [{\"x\"}, {}]>"), HasSubstr("2 dims where the tensor has 1"));
  EXPECT_THAT(wrong("#sdy.sharding<@mesh, [{\"x\", ?}]>"), HasSubstr("open to propagation"));
  EXPECT_THAT(wrong("#sdy.sharding<@mesh, [{\"x\":(1)2}]>"), HasSubstr("part of an axis"));
  EXPECT_THAT(wrong("[{\"x\"}]"), HasSubstr("a sharding is wanted"));
}

}  // namespace
}  // namespace stepcast::dataflow
