// Ranks of small networks, executed with numbers, give what one rank gives; recomputation and one product do by hand.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <fmt/format.h>

#include "tests/dataflow/execute.h"
#include "tests/dataflow/ledger.h"
#include "tests/dataflow/networks.h"

namespace stepcast::dataflow {
namespace {

std::size_t gradient_items(const PlacedNetwork& placed) {
  std::size_t all = 0;
  for (const PlacedBlock& block : placed.blocks)
    all += std::ranges::count(block.backward, PlacedKind::gradient, &PlacedItem::kind);
  return all;
}

// Attention and MLP side by side add up to one tensor, and so do experts and the shared expert: what is run again of
// them makes no part of its gradient.
TEST(Execute, RecomputedPartsOfASumChangeNothing) {
  NetworkSpec spec = tiny_transformer();
  spec.parallel_block = true;
  const Network side_by_side = build_network(spec, {2, 3, 2, 2}, AttentionForm::fused);
  const GivenValues given = some_values(side_by_side, 3);
  const Executed kept = execute(side_by_side, placed_of(side_by_side, "mesh one:1"), given);
  ASSERT_EQ(kept.error, "");
  spec.parallel_block = false;
  spec.experts = {.count = 4, .top_k = 2, .ffn_hidden = 3, .shared_ffn_hidden = 4};
  const Network experts = build_network(spec, {2, 3, 2, 2}, AttentionForm::fused);
  const std::size_t all = gradient_items(placed_of(experts, "mesh one:1"));
  for (const char* whole : {"", " whole"}) {
    for (const char* again : {"mlp", "attn", "attn, mlp"})
      EXPECT_EQ(difference(side_by_side, kept,
                    execute(side_by_side,
                        placed_of(side_by_side, std::string("mesh one:1\nrecompute ") + again + whole), given)),
          "")
          << again << whole;
    for (const char* again : {"shared", "expert", "combine", "router, dispatch, expert, combine, shared"})
      EXPECT_EQ(gradient_items(placed_of(experts, std::string("mesh one:1\nrecompute ") + again + whole)), all)
          << again << whole;
  }
}

/// Where a mixer's heads have one group, ranks have copies of what the group makes and heads of their own: forward and
/// backward, and words of an engine, give what one rank gives.
TEST(Execute, RanksHaveCopiesOfAMixersOneGroup) {
  const std::vector<std::pair<std::string, std::int64_t>> sizes{
      {"heads", 4}, {"head_dim", 2}, {"groups", 1}, {"state", 2}, {"taps", 2}, {"chunk", 2}};
  for (const char* kind : {"mamba2", "mamba2-gated"}) {
    NetworkSpec spec = tiny_transformer();
    spec.vocab = 8, spec.ffn_hidden = 8;
    spec.mixer = make_mixer(kind, sizes);
    spec.layers = 1;
    spec.pattern = {*layer_of_word("M")};
    for (const bool serves : {false, true}) {
      BatchShape batch{2, 4, 2, 2};
      batch.serves = serves;
      const Network net = build_network(spec, batch, AttentionForm::fused);
      const GivenValues given = some_values(net, 5);
      const Executed one = execute(net, placed_of(net, "mesh one:1"), given);
      ASSERT_EQ(one.error, "") << kind;
      for (const char* mesh : {"mesh tp:2\n", "mesh tp:4\n"}) {
        const Executed ranks =
            execute(net, placed_of(net, std::string(mesh) + "par u*m on tp\nuse tp, vocab\n"), given);
        EXPECT_EQ(ranks.error, "") << kind << " " << mesh;
        EXPECT_EQ(difference(net, one, ranks), "") << kind << " " << mesh;
        EXPECT_GT(ranks.counted_moves, 0);
      }
    }
  }
}

/// Iterations of an engine: ranks that split heads (and repeat key heads that are fewer than they), sequences and words
/// choose what one rank chooses.
TEST(Execute, RanksOfAnIterationChooseWhatOneDoes) {
  NetworkSpec dense = tiny_transformer();
  dense.vocab = 8, dense.ffn_hidden = 8;
  NetworkSpec window = dense;
  window.window = {2, "wf", false};
  window.attention_sinks = true;
  const std::string split = "par g*r on tp\npar f on tp\npar v on tp\npar b on dp\n";
  const auto same = [](const NetworkSpec& spec, std::int64_t positions, std::int64_t cached,
                        const std::string& mapping) {
    BatchShape batch{4, positions, 2, 2};
    batch.serves = true, batch.cached = cached;
    const Network net = build_network(spec, batch, AttentionForm::fused);
    const GivenValues given = some_values(net, 5);
    const Executed one = execute(net, placed_of(net, "mesh one:1"), given),
                   ranks = execute(net, placed_of(net, mapping), given);
    EXPECT_EQ(one.error, "");
    EXPECT_EQ(ranks.error, "") << mapping;
    EXPECT_EQ(difference(net, one, ranks), "") << mapping;
    EXPECT_EQ(one.outputs.back().size(), 4U) << "a word of each sequence";
    return one.outputs.back();
  };
  for (const auto& [positions, cached] : {std::pair{1, 5}, std::pair{3, 2}, std::pair{4, 0}})
    for (const NetworkSpec* spec : {&dense, &window}) {
      same(*spec, positions, cached, "mesh tp:2 dp:2\n" + split);
      same(*spec, positions, cached, "mesh tp:4 dp:1\n" + split);
    }
  EXPECT_NE(same(dense, 1, 5, "mesh tp:2 dp:2\n" + split), same(window, 1, 5, "mesh tp:2 dp:2\n" + split));
}

/// Keys in a cache on several ranks: each has a softmax over its part, and the parts are joined. Prompts split by
/// position gather keys, send them round, or exchange heads for them.
TEST(Execute, KeysOfACacheLieOnSeveralRanks) {
  NetworkSpec spec = tiny_transformer();
  spec.vocab = 8, spec.ffn_hidden = 8;
  const auto check = [&](std::int64_t positions, std::int64_t cached, const std::string& mapping) {
    BatchShape batch{4, positions, 2, 2};
    batch.serves = true, batch.cached = cached;
    const Network net = build_network(spec, batch, AttentionForm::fused);
    const GivenValues given = some_values(net, 5);
    const Executed one = execute(net, placed_of(net, "mesh one:1"), given),
                   ranks = execute(net, placed_of(net, mapping), given);
    EXPECT_EQ(difference(net, one, ranks), "") << positions << " behind " << cached << "\n" << mapping;
    EXPECT_GT(ranks.counted_moves, 0);
  };
  const std::string tp = "par g*r on tp\npar f on tp\npar v on tp\n";
  for (const auto& [positions, cached] : {std::pair{1, 7}, std::pair{2, 6}, std::pair{4, 0}, std::pair{4, 4}}) {
    check(positions, cached, "mesh tp:4\nmesh dcp:2 rest:2\nuse dcp\n" + tp);  // two key heads, each on two ranks
    check(positions, cached, "mesh tp:2 dcp:2\nuse dcp\n" + tp);
    check(positions, cached, "mesh tp:2 dcp:4\nuse dcp\n" + tp);
  }
  for (const char* alias : {"pcp", "pcp_ring", "pcp_exchange"})
    for (const auto& [positions, cached] : {std::pair{4, 0}, std::pair{4, 4}, std::pair{8, 8}}) {
      check(positions, cached, fmt::format("mesh tp:1 cp:2\n{}use {}\n", tp, alias));
      check(positions, cached, fmt::format("mesh tp:2 cp:2\n{}use {}\n", tp, alias));
    }
}

/// A bias behind a sum that ranks have parts of: one of them adds it, and what comes behind is summed. Forward and
/// backward give what one rank gives.
TEST(Execute, BiasesOfPartialSumsAreAddedOnce) {
  NetworkSpec spec = tiny_transformer();
  spec.vocab = 8, spec.ffn_hidden = 8, spec.linear_bias = true;
  const Network net = build_network(spec, {4, 3, 2, 2}, AttentionForm::fused);
  const GivenValues given = some_values(net, 5);
  const Executed one = execute(net, placed_of(net, "mesh one:1"), given);
  const std::string split = "mesh tp:2 dp:2\npar g*r on tp\npar f on tp\npar v on tp\npar b on dp\n",
                    partial = "home Y1: partial on tp\nhome Y2: partial on tp\n",
                    biased = "home residual1.biased: partial on tp\nhome residual2.biased: partial on tp\n";
  for (const std::string& mapping : {split, split + partial, split + partial + biased}) {
    const Executed ranks = execute(net, placed_of(net, mapping), given);
    EXPECT_EQ(ranks.error, "") << mapping;
    EXPECT_EQ(difference(net, one, ranks), "") << mapping;
  }
}

/// O[m,n] += I[m,k] W[k,n] in numbers: I = 1 2 / 3 4, W = 5 6 / 7 8 gives 19 22 / 43 50.
TEST(Execute, OneProductByHand) {
  NetworkWriter writer{{"m", 2}, {"n", 2}, {"k", 2}, {"v", 1}};
  const int in = writer.tensor("I", "mk"), w = writer.tensor("W", "kn", TensorRole::weight),
            out = writer.tensor("O", "mn");
  writer.product("product", out, "mn", in, "mk", w, "kn");
  const Network net = writer.finish(in, out);
  GivenValues given;
  given.value = {{1, 2, 3, 4}, {5, 6, 7, 8}, {}};
  given.gradient = {{}, {}, {1, 0, 0, 0}};
  for (const char* mapping :
      {"mesh x:1", "mesh x:2\npar k on x", "mesh x:2 y:2\npar m on x ; par n on y ; home I: k on y ; home W: k on x"}) {
    const Executed run = execute(net, placed_of(net, mapping), given);
    EXPECT_EQ(run.error, "") << mapping;
    EXPECT_EQ(run.outputs.at(0), (std::vector<double>{19, 22, 43, 50})) << mapping;
    EXPECT_EQ(run.input_gradient, (std::vector<double>{5, 7, 0, 0})) << mapping;   // row 0: W's column 0
    EXPECT_EQ(run.gradients.at(1), (std::vector<double>{1, 0, 2, 0})) << mapping;  // column 0: I's row 0
    EXPECT_EQ(run.weights.at(1), (std::vector<double>{4.875, 6, 6.75, 8})) << mapping;
  }
}

}  // namespace
}  // namespace stepcast::dataflow
