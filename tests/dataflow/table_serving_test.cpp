// The collectives of one layer in an iteration of an engine against closed forms, to the byte. The layer is that of
// table_test.cpp: h 4096, 32 heads (g 8, r 4), d 128, f 14336, bf16 (2 B). R(p) = (p-1)/p. Received bytes per rank.
//   prompts: 1 sequence of 4096 new positions; U, KV and QO as there
//   words: 16 sequences, 1 new position of each behind 4095; 16 x 4096 x 2 = 131,072 B of stream
#include <gtest/gtest.h>

#include "tests/dataflow/ledger.h"
#include "tests/dataflow/networks.h"

namespace stepcast::dataflow::table_serving_test {
namespace {

constexpr double U = 33'554'432, KV = 16'777'216, QO = 67'108'864, words_stream = 131'072;

MovedBytes serving_moves(const NetworkSpec& spec, std::int64_t sequences, std::int64_t positions, std::int64_t cached,
    const std::string& mapping, const char* block = "layer") {
  BatchShape batch{sequences, positions, 2, 2};
  batch.serves = true, batch.cached = cached;
  const Network net = build_network(spec, batch, AttentionForm::fused);
  return moved_bytes(net, placed_of(net, mapping), block);
}
MovedBytes prompt_moves(const std::string& mapping, std::int64_t cached = 0) {
  return serving_moves(section_c_spec(), 1, 4096, cached, mapping);
}
MovedBytes word_moves(const std::string& mapping) { return serving_moves(section_c_spec(), 16, 1, 4095, mapping); }

TEST(TableServing, TensorParallel) {
  // AR(Y1), AR(Y2): 2 x 2 R(4) U; no move of keys, which lie where their heads are.
  EXPECT_EQ(prompt_moves("mesh tp:4\nuse tp"), (MovedBytes{{"forward all_reduce", 100'663'296}}));
  EXPECT_EQ(word_moves("mesh tp:4\nuse tp"), (MovedBytes{{"forward all_reduce", 2 * 2 * 0.75 * words_stream}}));
  // tp 16 over 8 key heads: each lies on two ranks, and nothing more moves.
  EXPECT_EQ(word_moves("mesh tp:16\nuse tp"), (MovedBytes{{"forward all_reduce", 2 * 2 * 15.0 / 16 * words_stream}}));
}

TEST(TableServing, SequenceParallel) {
  // AG(X1, X3) and RS(Y1, Y2): 2 R(4) U each.
  EXPECT_EQ(prompt_moves("mesh tp:4\nat sample: par none on tp\nuse tp, sp"),
      (MovedBytes{{"forward all_gather", 50'331'648}, {"forward reduce_scatter", 50'331'648}}));
}

TEST(TableServing, DecodeContextParallel) {
  // tp 16 over 8 key heads, whose two copies have half of the keys each. A rank has 2 of 32 query heads and gathers
  // those of its neighbour: 16 x 2 x 128 x 2 = 8,192 B. Then it has 16 x 4 = 64 rows of results over its keys: maxima,
  // AR 2 R(2) 64 x 4 = 256 B; sums and results of 129 numbers in fp32, RS R(2) 64 x 129 x 4 = 16,512 B.
  EXPECT_EQ(word_moves("mesh tp:16\nmesh dcp:2 rest:8\nuse dcp, tp"),
      (MovedBytes{{"forward all_gather", 8'192}, {"forward reduce_scatter", 256 + 16'512},
          {"forward all_reduce", 2 * 2 * 15.0 / 16 * words_stream}}));
  // Axes apart: all heads of a key head on each rank, results are needed whole. 16 x 8 = 128 rows: 2 R(2) 128 x 4 and
  // 2 R(2) 128 x 129 x 4.
  EXPECT_EQ(word_moves("mesh tp:4 dcp:2\nuse dcp, tp"),
      (MovedBytes{{"forward all_reduce", 2 * 2 * 0.75 * words_stream + 512 + 66'048}}));
}

TEST(TableServing, PromptsOverDecodeContextParallel) {
  // Keys are gathered for the prompt's core: what stood in the cache, 4096 positions x 1 head x 128 x 2 B, K and V,
  // half of it from the neighbour; the new ones every rank has made.
  EXPECT_EQ(prompt_moves("mesh tp:16\nmesh dcp:2 rest:8\nat attn.cache: par t on dcp\nuse tp", 4096),
      (MovedBytes{{"forward all_gather", 2 * 4096 * 128 * 2 / 2}, {"forward all_reduce", 2 * 2 * 15.0 / 16 * U}}));
  EXPECT_EQ(prompt_moves("mesh tp:16\nmesh dcp:2 rest:8\nat attn.cache: par t on dcp\nuse tp"),
      (MovedBytes{{"forward all_gather", 0}, {"forward all_reduce", 2 * 2 * 15.0 / 16 * U}}));
}

TEST(TableServing, ContextParallelPrompts) {
  // AG(K, V) R(2) KV, or the same round a ring. Behind as many positions in the cache as new ones: those, too.
  EXPECT_EQ(prompt_moves("mesh cp:2\nuse pcp"), (MovedBytes{{"forward all_gather", 8'388'608}}));
  EXPECT_EQ(prompt_moves("mesh cp:2\nuse pcp", 4096), (MovedBytes{{"forward all_gather", 2 * 8'388'608}}));
  EXPECT_EQ(prompt_moves("mesh cp:2\nuse pcp_ring"), (MovedBytes{{"forward ring", 8'388'608}}));
  EXPECT_EQ(prompt_moves("mesh cp:2\nuse pcp_ring", 4096), (MovedBytes{{"forward ring", 2 * 8'388'608}}));
  EXPECT_EQ(8'388'608, KV / 2);
  // A2A(Q, K, V, O): R(4) (QO + KV)/4; the cache lies with its heads.
  EXPECT_EQ(prompt_moves("mesh cp:4\nuse pcp_exchange"), (MovedBytes{{"forward all_to_all", 15'728'640}}));
  EXPECT_EQ(15'728'640, 0.75 * (QO + KV) / 4);
  // tp 4 beside cp 2: a quarter of the keys, half of the stream.
  EXPECT_EQ(prompt_moves("mesh tp:4 cp:2\nuse tp, pcp"),
      (MovedBytes{{"forward all_gather", 2'097'152}, {"forward all_reduce", 50'331'648}}));
}

/// DeepSeek-V3's attention: 128 heads, latents of 512 + 64, which every rank has.
NetworkSpec latent_spec() {
  NetworkSpec spec = section_c_spec();
  spec.heads = spec.kv_heads = 128;
  spec.latent = {.q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};
  return spec;
}

TEST(TableServing, LatentKeysOverSeveralRanks) {
  // tp 8 with its 8 copies of the latents in 8 parts: queries of 576 numbers of 16 heads a rank are gathered, 7 x 16 x
  // 16 x 576 x 2 B; 16 x 128 rows of results of 512: AR 2 R(8) rows x 4, RS R(8) rows x 513 x 4.
  const double rows = 16 * 128;
  EXPECT_EQ(serving_moves(latent_spec(), 16, 1, 4095, "mesh tp:8\nmesh dcp:8\nuse dcp, tp"),
      (MovedBytes{{"forward all_gather", 7.0 * 16 * 16 * 576 * 2},
          {"forward reduce_scatter", 2 * 7.0 / 8 * rows * 4 + 7.0 / 8 * rows * 513 * 4},
          {"forward all_reduce", 2 * 2 * 7.0 / 8 * words_stream}}));
}

NetworkSpec expert_spec() {
  NetworkSpec spec = section_c_spec();
  spec.experts = {.count = 16, .top_k = 2, .ffn_hidden = 4096, .shared_ffn_hidden = 4096};
  return spec;
}

TEST(TableServing, ExpertsBesideAttentionOfSeveralGroups) {
  const auto moves = [](std::int64_t groups, const std::string& mapping) {
    return serving_moves(expert_spec(), groups, 4096, 0, mapping, "expert_layer");
  };
  // 8 groups of one rank, experts on all: A2A(Xe), A2A(Oe), R(8) 2U each.
  EXPECT_EQ(moves(8, "mesh tp:1 dp:8\nmesh etp:1 ep:8 edp:1\nuse tp, dp, ep, etp"),
      (MovedBytes{{"forward all_to_all", 117'440'512}}));
  // Tokens and gates gathered, results scattered: R(8) 8U each, and 7 x 32,768 B of gates.
  EXPECT_EQ(moves(8, "mesh tp:1 dp:8\nmesh etp:1 ep:8 edp:1\nuse ep_gather, tp, dp, ep, etp"),
      (MovedBytes{{"forward all_gather", 234'881'024 + 229'376}, {"forward reduce_scatter", 234'881'024}}));
  // 4 groups of tp 2, experts on all 8. The two ranks of a group have the same rows, 2U, and send half of them each:
  // A2A R(4) U there and back; the other half of what comes back is gathered, U. AR(Y1) and AR of the shared experts,
  // 2 R(2) U each.
  EXPECT_EQ(moves(4, "mesh tp:2 dp:4\nmesh etp:1 ep:8 edp:1\nuse tp, dp, ep, etp"),
      (MovedBytes{{"forward all_to_all", 2 * 0.75 * U}, {"forward all_gather", U}, {"forward all_reduce", 2 * U}}));
  // One group of tp 8 whose ranks have experts of their own: all see all tokens. AR(Y1) and AR(Y2), 2 R(8) U each.
  EXPECT_EQ(moves(1, "mesh tp:8 dp:1\nmesh etp:1 ep:8 edp:1\nuse ep_gather, tp, dp, ep, etp"),
      (MovedBytes{{"forward all_reduce", 2 * 2 * 7.0 / 8 * U}}));
}

TEST(TableServing, ExpertsUnderPromptsSplitByPosition) {
  const auto moves = [](std::int64_t positions, std::int64_t cached, const std::string& mapping) {
    return serving_moves(expert_spec(), positions == 1 ? 16 : 1, positions, cached, mapping, "expert_layer");
  };
  const std::string mesh = "mesh tp:1 cp:2\nmesh etp:1 ep:2 edp:1\n";
  // AG(K, V) R(2) KV. The other half of the tokens, U/2, and 2048 x 2 gates of 4 B, come to every expert; sums go back.
  EXPECT_EQ(moves(4096, 0, mesh + "use ep_gather, tp, pcp, ep, etp"),
      (MovedBytes{{"forward all_gather", KV / 2 + U / 2 + 16'384}, {"forward reduce_scatter", U / 2}}));
  // Rows to their experts and back: 2 rows for each of 2048 tokens, half of them elsewhere, U/2 each way.
  EXPECT_EQ(moves(4096, 0, mesh + "use tp, pcp, ep, etp"),
      (MovedBytes{{"forward all_gather", KV / 2}, {"forward all_to_all", 2 * U / 2}}));
  // Words are worked on by both ranks: joined results, AR 2 R(2) 16 x 32 x (1 + 129) x 4, and AR(Y2) of what experts
  // made.
  EXPECT_EQ(moves(1, 4095, mesh + "at attn.core, attn.cache: par t on cp\nuse ep_gather, tp, ep, etp"),
      (MovedBytes{{"forward all_reduce", 16 * 32 * 130 * 4 + words_stream}}));
}

TEST(TableServing, KeysThatCannotBeSplitAreRefused) {
  BatchShape batch{16, 1, 2, 2};
  const auto refused = [&](const NetworkSpec& spec) {
    const Network net = build_network(spec, batch, AttentionForm::fused);
    const auto placed = place_text(net, "mesh dcp:2\nuse dcp");
    return placed ? std::string() : placed.error().what;
  };
  const auto says = [](const std::string& text, const char* what) { return text.find(what) != std::string::npos; };
  batch.serves = true, batch.cached = 4095;
  EXPECT_EQ(refused(section_c_spec()), "");
  NetworkSpec window = section_c_spec(), sinks = section_c_spec();
  window.window.positions = 128;
  sinks.attention_sinks = true;
  EXPECT_TRUE(says(refused(window), "see some of them alone"));
  EXPECT_TRUE(says(refused(sinks), "terms beside them"));
}

}  // namespace
}  // namespace stepcast::dataflow::table_serving_test
