// What forward keeps for backward and what recompute makes again (docs/design.md, rules 21 to 23), against Korthikanti
// et al. 2022 (arXiv 2205.05198) and the saved bytes of section C.
#include <gtest/gtest.h>

#include "tests/dataflow/ledger.h"
#include "tests/dataflow/networks.h"

namespace stepcast::dataflow::saved_test {
namespace {

/// GPT block of Korthikanti et al.: s 2048, h 4096, a 32 heads, f 4h, biases, dropout, layer norms, unfused attention.
constexpr double s = 2048, h = 4096, a = 32, sbh = s * h, core = 5 * a * s * s;

Network gpt() {
  NetworkSpec spec = section_c_spec();
  spec.ffn_hidden = 4 * 4096;
  spec.kv_heads = 32;
  spec.norm = Norm::layernorm;
  spec.activation = Activation::gelu;
  spec.positions = Positions::learned;
  spec.max_positions = 2048;
  spec.linear_bias = true;
  spec.dropout = true;
  return build_network(spec, {1, 2048, 2, 2}, AttentionForm::unfused);
}

/// Without the statistics of the two norms (8 B per position each), which the paper neglects.
double saved_without_statistics(const Network& net, const std::string& mapping) {
  double total = 0;
  for (const auto& [tensor, bytes] : saved_bytes(net, placed_of(net, mapping), "layer"))
    if (tensor != "norm1.q" && tensor != "norm2.q") total += bytes;
  return total;
}

TEST(Saved, KorthikantiOneRank) {
  // sbh (34 + 5 a s / h) in bytes, b = 1.
  EXPECT_EQ(saved_without_statistics(gpt(), "mesh tp:1"), 34 * sbh + core);
}

TEST(Saved, KorthikantiTensorParallel) {
  // sbh (10 + 24/t + 5 a s / (h t)): norms, dropout masks and their surroundings stay whole.
  for (const int t : {2, 4, 8, 16})
    EXPECT_EQ(saved_without_statistics(gpt(), "mesh tp:" + std::to_string(t) + "\nuse tp"),
        10 * sbh + 24 * sbh / t + core / t)
        << t;
}

TEST(Saved, KorthikantiTensorAndSequenceParallel) {
  // sbh (34/t + 5 a s / (h t)).
  for (const int t : {2, 4, 8, 16})
    EXPECT_EQ(saved_without_statistics(gpt(), "mesh tp:" + std::to_string(t) + "\nuse tp, sp"), 34 * sbh / t + core / t)
        << t;
}

TEST(Saved, StatisticsOfTheNorms) {
  // Mean and variance in fp32 per position, two norms: 16 b s; a quarter each under sp.
  const auto whole = saved_bytes(gpt(), placed_of(gpt(), "mesh tp:4\nuse tp"), "layer");
  EXPECT_EQ(whole.at("norm1.q") + whole.at("norm2.q"), 16 * s);
  const auto split = saved_bytes(gpt(), placed_of(gpt(), "mesh tp:4\nuse tp, sp"), "layer");
  EXPECT_EQ(split.at("norm1.q") + split.at("norm2.q"), 16 * s / 4);
}

const std::string whole_layer = "recompute norm, attn, residual, mlp\n";

TEST(Saved, FullRecomputeKeepsTheInputOnly) {
  for (const char* mapping : {"mesh tp:1\n", "mesh tp:4\nuse tp\n"}) {
    const Network net = gpt();
    EXPECT_EQ(saved_bytes(net, placed_of(net, mapping + whole_layer), "layer"),
        (std::map<std::string, double>{{"X", 2 * sbh}}))
        << mapping;
  }
  const Network net = gpt();
  EXPECT_EQ(saved_bytes(net, placed_of(net, "mesh tp:4\nuse tp, sp\n" + whole_layer), "layer"),
      (std::map<std::string, double>{{"X", 2 * sbh / 4}}));
}

TEST(Saved, SelectiveRecomputeDropsExactlyTheCore) {
  // Softmax, its dropout mask and the dropped probabilities: the 5 a s term. Q, K, V and O stay.
  const std::string selective = "recompute attn.core\nsave O at use\n";
  EXPECT_EQ(saved_without_statistics(gpt(), "mesh tp:1\n" + selective), 34 * sbh);
  EXPECT_EQ(saved_without_statistics(gpt(), "mesh tp:4\nuse tp\n" + selective), 10 * sbh + 24 * sbh / 4);
  EXPECT_EQ(saved_without_statistics(gpt(), "mesh tp:4\nuse tp, sp\n" + selective), 34 * sbh / 4);
}

/// Section C, one layer and micro-batch, log-sum-exp apart.
double saved_of_section_c(const std::string& mapping) {
  const Network net = section_c_network();
  double total = 0;
  for (const auto& [tensor, bytes] : saved_bytes(net, placed_of(net, mapping), "layer"))
    if (tensor != "attn.core side") total += bytes;
  return total;
}

TEST(Saved, GroupedQueriesAndGatedMlp) {
  // 2bs(4h + 2grd + 2gd + 3f) + 8bs = 8192 (16384 + 8192 + 2048 + 43008) + 32768.
  EXPECT_EQ(saved_of_section_c("mesh tp:1"), 570'458'112);
  // tp 4: X, X1, X2, X3 and the norms' sums whole, the rest a quarter.
  EXPECT_EQ(saved_of_section_c("mesh tp:4\nuse tp"), 243'302'400);
  EXPECT_EQ(saved_of_section_c("mesh tp:4\nuse tp, sp"), 142'614'528);
  EXPECT_EQ(saved_of_section_c("mesh tp:4 cp:2\nuse tp, sp, cp_gather"), 71'307'264);
  EXPECT_EQ(saved_of_section_c("mesh tp:4 cp:2\nuse tp, sp, cp"), 71'307'264);
}

TEST(Saved, LogSumExpOfTheFusedCore) {
  // fp32 per query and head: 4 * 4096 * 32 = 524,288.
  const Network net = section_c_network();
  EXPECT_EQ(saved_bytes(net, placed_of(net, "mesh tp:1"), "layer").at("attn.core side"), 524'288);
}

MovedBytes recompute_moves(const std::string& mapping, bool to_the_end) {
  const Network net = section_c_network();
  PlacingOptions options;
  options.recompute_whole = to_the_end;
  MovedBytes again;
  for (const auto& [row, bytes] : moved_bytes(net, placed_of(net, mapping + whole_layer, options), "layer"))
    if (row.rfind("recompute", 0) == 0) again[row] = bytes;
  return again;
}

TEST(Saved, RecomputeMovesWhatItNeeds) {
  // U = 2 b s h = 33,554,432. tp 4: AR(Y1) once, 2 R(4) U; the last product's only when the region runs to its end.
  EXPECT_EQ(recompute_moves("mesh tp:4\nuse tp\n", false), (MovedBytes{{"recompute all_reduce", 50'331'648}}));
  EXPECT_EQ(recompute_moves("mesh tp:4\nuse tp\n", true), (MovedBytes{{"recompute all_reduce", 100'663'296}}));
  // tp 4 sp: AG(X1), RS(Y1), AG(X3), and RS(Y2) to the end: R(4) U each.
  EXPECT_EQ(recompute_moves("mesh tp:4\nuse tp, sp\n", false),
      (MovedBytes{{"recompute all_gather", 50'331'648}, {"recompute reduce_scatter", 25'165'824}}));
  EXPECT_EQ(recompute_moves("mesh tp:4\nuse tp, sp\n", true),
      (MovedBytes{{"recompute all_gather", 50'331'648}, {"recompute reduce_scatter", 50'331'648}}));
}

TEST(Saved, TheWrittenWordWholeRunsToTheEnd) {
  const Network net = section_c_network();
  const PlacedNetwork placed = placed_of(net, "mesh tp:4\nuse tp\nrecompute norm, attn, residual, mlp whole");
  EXPECT_EQ(moved_bytes(net, placed, "layer").at("recompute all_reduce"), 100'663'296);
}

TEST(Saved, EachGatheredWeightServesRecomputeAndBackward) {
  // fsdp with full recompute: gathered in forward and once more, not twice. 2 N R(4) = 327,155,712.
  const Network net = section_c_network(4);
  const MovedBytes moved =
      moved_bytes(net, placed_of(net, "mesh tp:1 cp:1 dp:4\nuse dp, fsdp\n" + whole_layer), "layer");
  double gathered = 0;
  for (const auto& [row, bytes] : moved)
    if (row.find("weight all_gather") != std::string::npos && row.rfind("norm", 0) != 0) gathered += bytes;
  EXPECT_EQ(gathered, 2 * 327'155'712.0);
}

}  // namespace
}  // namespace stepcast::dataflow::saved_test
