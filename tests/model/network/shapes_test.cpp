// Layers of their own sizes: how files say them, what is refused, what they count, and encoders' bands.
#include <gtest/gtest.h>

#include "model/network/network.h"

namespace stepcast {
namespace {

/// 4 layers: hidden 32, 4 heads of 8, MLP 64; the words and shapes as given.
std::string file_with(const std::string& pattern, const std::string& shapes, const std::string& more = "") {
  return R"({"id": "shaped", "layers": 4, "hidden": 32, "ffn_hidden": 64, "heads": 4, "vocab": 100, "sequence": 16,
    "norm": "rmsnorm", "activation": "gelu", "positions": "rope", "tied_embeddings": true, )" +
         more + R"("pattern": ")" + pattern + R"(", "shapes": )" + shapes + "}";
}
std::string broken(const std::string& pattern, const std::string& shapes, const std::string& more = "") {
  const auto read = read_network(file_with(pattern, shapes, more), "n.json");
  return read ? "" : to_text(read.error());
}

constexpr const char* wide = R"([{"name": "wide", "kv_heads": 2, "head_dim": 16, "ffn_hidden": 128}])";

TEST(LayerShapes, AreReadCountedAndWritten) {
  const auto read = read_network(file_with("*- *- *-:wide *-", wide), "n.json");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(layer_kind(*read, 2, 16).shape, 1);
  EXPECT_EQ(layer_word(*read, layer_kind(*read, 2, 16)), "*-:wide");
  // A plain layer: 4 x 32 x 32 + 2 x 32 x 64 + 64; a wide one: 32 x 16 x (4 + 2 + 2 + 4) + 2 x 32 x 128 + 64.
  EXPECT_EQ(parameter_count(*read), 3 * 8256 + (6144 + 8192 + 64) + 3200 + 32);
  EXPECT_EQ(write_network(*read_network(write_network(*read), "again.json")), write_network(*read));
  // Per token: six FLOPs per weight of a matrix; in the core twelve per key and channel.
  const double matrices = 3 * (4096 + 4096) + 6144 + 8192 + 3200, channels = 3 * 32 + 64;
  EXPECT_DOUBLE_EQ(model_flops(*read, 1, 16, true), 6 * matrices + 12 * 8 * channels);
}

TEST(LayerShapes, AKeyThatIsTheValueHasOneProjection) {
  const auto two = read_network(file_with("*- *-:wide", R"([{"name": "wide", "head_dim": 16}])"), "n.json"),
             one = read_network(
                 file_with("*- *-:wide", R"([{"name": "wide", "head_dim": 16, "key_is_value": true}])"), "n.json");
  ASSERT_TRUE(two && one);
  EXPECT_EQ(parameter_count(*two) - parameter_count(*one), 2 * 32 * 64) << "two layers of 4 heads of 16";
}

TEST(LayerShapes, WrongOnesAreRefused) {
  EXPECT_NE(broken("*- *-:wid", wide).find("'*-:wid' is no layer"), std::string::npos) << broken("*- *-:wid", wide);
  EXPECT_NE(broken("*- *-", wide).find("no layer has the shape 'wide'"), std::string::npos) << broken("*- *-", wide);
  EXPECT_NE(broken("*- *-:wide", R"([{"name": "wide", "kv_heads": 3}])").find("3 key-value heads do not divide 4"),
      std::string::npos);
  EXPECT_NE(broken("*- *-:wide", R"([{"name": "wide", "head_dim": 7}])").find("head_dim 7 is odd"), std::string::npos);
  std::string many = "[";
  for (int i = 0; i < 255; ++i) many += (i > 0 ? ", " : "") + ("{\"name\": \"s" + std::to_string(i) + "\"}");
  EXPECT_NE(broken("*- *-:s1", many + "]").find("255 shapes"), std::string::npos);
  EXPECT_NE(broken("*- d-", "[]", R"("sparse_attention": {"top_k": 8, "heads": 4, "head_dim": 8, "block": 2}, )")
                .find("handed on by latent attention alone"),
      std::string::npos);
  EXPECT_NE(broken("*- *-:wide", R"([{"name": "Wide one"}])").find("is no name of a shape"), std::string::npos);
}

constexpr const char* lending = R"([{"name": "lent"}, {"name": "borrowed", "ffn_hidden": 128, "keys_of": "lent"}])";
constexpr const char* inputs = R"("layer_inputs": {"width": 8, "words": 50}, )";

/// Two of four layers have no keys and values (2 x 32 x 32), and an MLP twice as wide; each has 50 rows of 8, three
/// matrices of 32 x 8 and a norm, and all have one norm of 8.
TEST(LayerShapes, TakeOverKeysOfALayerBefore) {
  const auto plain = read_network(file_with("*-", "[]"), "n.json"),
             lent = read_network(file_with("*- *-:lent *-:borrowed *-:borrowed", lending), "n.json"),
             fed = read_network(file_with("*- *-:lent *-:borrowed *-:borrowed", lending, inputs), "n.json");
  ASSERT_TRUE(plain && lent && fed);
  const std::int64_t saved = 2 * 2 * 32 * 32, wider = 2 * 2 * 32 * 64;
  EXPECT_EQ(parameter_count(*lent) - parameter_count(*plain), wider - saved);
  EXPECT_EQ(parameter_count(*fed) - parameter_count(*lent), 4 * (50 * 8 + 3 * 32 * 8 + 32) + 8);
  EXPECT_DOUBLE_EQ(model_flops(*lent, 1, 16, true) - model_flops(*plain, 1, 16, true), 6.0 * (wider - saved));
  EXPECT_DOUBLE_EQ(model_flops(*fed, 1, 16, true) - model_flops(*lent, 1, 16, true), 6.0 * 4 * 3 * 32 * 8)
      << "a row that is looked up is no product";
  EXPECT_TRUE(reads_beside_stream(*lent));
  EXPECT_EQ(write_network(*read_network(write_network(*fed), "again.json")), write_network(*fed));
}

/// Two streams: in each of 4 layers a router of 32 x 2 with a norm, coefficients of 2 x 2 x 2 and 2 x 2, and a scale of
/// 32; a matrix of 32 x 32 before the layers, and one behind them. A way beside attention of 32 x 4 and back, and a
/// norm.
TEST(LayerShapes, PredictStreamsAndHaveAWayBesideAttention) {
  const std::string streams = inputs + std::string(R"("predicted_streams": 2, )"), side = R"("side_rank": 4, )";
  const auto fed = read_network(file_with("*-", "[]", inputs), "n.json"),
             predicted = read_network(file_with("*-", "[]", streams), "n.json"),
             aside = read_network(file_with("*-", "[]", streams + side), "n.json");
  ASSERT_TRUE(fed && predicted && aside);
  EXPECT_EQ(parameter_count(*predicted) - parameter_count(*fed), 4 * (64 + 32 + 8 + 4 + 32) + 2 * 1024);
  EXPECT_EQ(parameter_count(*aside) - parameter_count(*predicted), 4 * (2 * 128 + 32));
  EXPECT_DOUBLE_EQ(
      model_flops(*predicted, 1, 16, true) - model_flops(*fed, 1, 16, true), 6.0 * (4 * (2 * 64 + 8 + 4) + 2 * 1024))
      << "the router is met twice";
  EXPECT_DOUBLE_EQ(model_flops(*aside, 1, 16, true) - model_flops(*predicted, 1, 16, true), 6.0 * 4 * 2 * 128);
  EXPECT_EQ(write_network(*read_network(write_network(*aside), "again.json")), write_network(*aside));
  const Network net = build_network(*aside, {1, 16, 2, 2}, AttentionForm::fused);
  EXPECT_TRUE(check_graph(net));
  double flops = 0;
  for (const Block& block : net.blocks) {
    for (const Operator& op : block.operators)
      flops += static_cast<double>(block.repeat) * forward_flops(op, net.dims, false);
    if (block.place == Block::Place::layers) {
      EXPECT_EQ(net.elements(block.input), 16 * 2 * 32);
    }
  }
  EXPECT_DOUBLE_EQ(3 * flops, model_flops(*aside, 16, 16, false));
}

/// Gates that are cut off are a shape's own or all layers', and change neither weights nor FLOPs.
TEST(LayerShapes, CutGatesAreNoSaving) {
  const std::string gated = R"([{"name": "cut", "gate_cutoff": true}])";
  std::string text = file_with("*-:cut *- *- *-", gated);
  text.replace(text.find("\"gelu\""), 6, "\"geglu\"");
  const auto cut = read_network(text, "n.json");
  ASSERT_TRUE(cut) << to_text(cut.error());
  NetworkSpec whole = *cut;
  whole.shapes.clear(), whole.pattern.assign(1, *layer_of_word("*-"));
  EXPECT_EQ(parameter_count(*cut), parameter_count(whole));
  EXPECT_DOUBLE_EQ(model_flops(*cut, 1, 16, true), model_flops(whole, 1, 16, true));
  const Network net = build_network(*cut, {1, 16, 2, 2}, AttentionForm::fused);
  EXPECT_GE(net.find_tensor("mlp.gate.cut"), 0);
  EXPECT_EQ(write_network(*read_network(write_network(*cut), "again.json")), write_network(*cut));
}

/// A sink for each of 4 heads in each of 4 layers, those with borrowed keys among them.
TEST(LayerShapes, BorrowedKeysHaveSinksToo) {
  const std::string pattern = "*- *-:lent *-:borrowed *-:borrowed";
  const auto without = read_network(file_with(pattern, lending), "n.json"),
             with = read_network(file_with(pattern, lending, R"("attention_sinks": true, )"), "n.json");
  ASSERT_TRUE(without && with);
  EXPECT_EQ(parameter_count(*with) - parameter_count(*without), 4 * 4);
  for (const AttentionForm form : {AttentionForm::fused, AttentionForm::unfused}) {
    const Network net = build_network(*with, {1, 16, 2, 2}, form);
    double sinks = 0;
    for (const Block& block : net.blocks)
      for (const Operator& op : block.operators) {
        if (op.kind != OperatorKind::attention && op.function != "softmax") continue;
        for (const Access& input : op.inputs)
          if (net.tensors[input.tensor].role == TensorRole::weight)
            sinks += static_cast<double>(block.repeat) * net.elements(input.tensor);
      }
    EXPECT_EQ(sinks, 4 * 4) << (form == AttentionForm::fused ? "fused" : "unfused");
  }
}

TEST(LayerShapes, SayWhatCannotLend) {
  const auto says = [](const std::string& pattern, const std::string& shapes, const std::string& what,
                        const std::string& more = "") {
    EXPECT_NE(broken(pattern, shapes, more).find(what), std::string::npos) << broken(pattern, shapes, more);
  };
  says("*- *-:lent *-:lent *-:borrowed", lending, "'lent' is not one layer of the same sublayers before these");
  says("*- *-:borrowed *-:lent *-:borrowed", lending, "is not one layer");
  says("*- *-:lent *:borrowed *-", lending, "is not one layer");
  says("*-:lent *-:borrowed", lending, "names every layer");
  says("*- *- *- *-:a", R"([{"name": "a", "keys_of": "b"}])", "'b' is no shape before this one");
  says("*- *- *-:a *-:b", R"([{"name": "a"}, {"name": "b", "head_dim": 16, "keys_of": "a"}])", "heads are not those");
  says("*- *-:lent *-:borrowed *-", lending, "without biases", R"("qkv_bias": true, )");
  says("*-", "[]", "from 1 to", R"("layer_inputs": {"width": 0, "words": 50}, )");
  says("*-", "[]", "in one stream of words", R"("layer_inputs": {"width": 8, "words": 50}, "streams": 2, )");
  says("*-", "[]", "stand with inputs of each layer", R"("predicted_streams": 2, )");
  says("*-", "[]", "from 2 to 8", R"("predicted_streams": 9, )");
  says("*-", "[]", "nothing to cut off", R"("gate_cutoff": true, )");
  says("*-", "[]", "a way beside attention", R"("side_rank": 4, "streams": 2, )");
}

/// Values of 4 beside keys of 8, a gate per head, norms of heads with weights of their own, and sinks in a window
/// alone.
TEST(LayerShapes, SayWhatAttentionIsLike) {
  const std::string more = R"("value_dim": 4, "attention_gate": true, "head_gate": true, "qk_norm": true,
    "qk_norm_heads": true, "attention_sinks": true, "window": {"positions": 4}, )";
  const auto read = read_network(
      file_with("w- *-:full", R"([{"name": "full", "kv_heads": 2, "value_dim": 8, "no_sinks": true}])", more),
      "n.json");
  ASSERT_TRUE(read) << to_text(read.error());
  // Queries 32 x 32, keys 32 x 8 of each head, values, outputs and gates; norms of both; sinks; the MLP; two norms.
  const std::int64_t window = 1024 + 1024 + 512 + 512 + 128 + (32 + 32) + 4, full = 1024 + 512 + 512 + 1024 + 128 + 48;
  EXPECT_EQ(parameter_count(*read), 2 * (window + full) + 4 * (2 * 32 * 64 + 64) + 3200 + 32);
  EXPECT_EQ(write_network(*read_network(write_network(*read), "again.json")), write_network(*read));
  const auto refused = [&](const std::string& shapes, const std::string& keys) {
    return broken("*- *-:a", shapes, keys);
  };
  EXPECT_NE(broken("*-", "[]", R"("head_gate": true, )").find("attention has no gates"), std::string::npos);
  EXPECT_NE(broken("*-", "[]", R"("qk_norm_heads": true, )").find("a norm of each head"), std::string::npos);
  EXPECT_NE(refused(R"([{"name": "a", "no_sinks": true}])", "").find("no layer has sinks"), std::string::npos);
  EXPECT_NE(refused(R"([{"name": "a", "key_is_value": true, "value_dim": 4}])", "").find("as wide as they are"),
      std::string::npos);
  // 1e7 x 1e5 heads x 1e7 are beyond what 64 bits hold
  EXPECT_NE(
      broken("*-", "[]", R"("kv_heads": 1, "compressed_attention": {"q_rank": 10000000, "o_rank": 8, "o_groups": 4,
      "window": 4, "top_k": 4, "index_heads": 100000, "index_dim": 10000000}, )")
          .find("parameters in all"),
      std::string::npos);
  EXPECT_NE(broken("*-", "[]", R"("embedded_only": 8, )").find("a table of their own"), std::string::npos);
}

TEST(LayerShapes, AnEncodersBandIsCountedKeyByKey) {
  const auto read =
      read_network(file_with("w- *-:wide", wide, R"("causal": false, "window": {"positions": 4}, )"), "n.json");
  ASSERT_TRUE(read) << to_text(read.error());
  double keys = 0;
  for (int query = 0; query < 16; ++query)
    for (int key = 0; key < 16; ++key) keys += std::abs(query - key) < 4 ? 1.0 / 16 : 0;
  const double matrices = 2 * (8192 + 6144 + 8192) + 3200;
  EXPECT_DOUBLE_EQ(model_flops(*read, 1, 16, true), 6 * matrices + 12 * 2 * (keys * 32 + 16 * 64));
  const Network net = build_network(*read, {1, 16, 2, 2}, AttentionForm::fused);
  for (const Block& block : net.blocks)
    for (const Operator& op : block.operators) {
      if (op.kind != OperatorKind::attention) continue;
      EXPECT_EQ(op.domain, block.name == "windowed_layer" ? Domain::band : Domain::all) << block.name;
    }
}

TEST(CompressedKeys, MeanIsEveryQueryCounted) {
  for (const std::int64_t positions : {1, 5, 64, 129, 1000})
    for (const std::int64_t ratio : {1, 4, 7, 128})
      for (const std::int64_t reach : {1, 3, 64, 5000}) {
        double seen = 0;
        for (std::int64_t query = 1; query <= positions; ++query)
          seen += static_cast<double>(std::min(query / ratio, reach));
        EXPECT_DOUBLE_EQ(mean_compressed({ratio, reach}, positions), seen / static_cast<double>(positions))
            << positions << " " << ratio << " " << reach;
      }
}

std::string compressed_file(const std::string& more = "",
    const std::string& shapes =
        R"([{"name": "picked", "ratio": 4, "picks": true}, {"name": "all", "ratio": 8, "hashed_experts": true}])") {
  return R"({"id": "small", "layers": 3, "hidden": 32, "ffn_hidden": 16, "heads": 4, "kv_heads": 1, "head_dim": 8,
    "vocab": 100, "sequence": 64, "norm": "rmsnorm", "activation": "swiglu", "positions": "rope",
    "tied_embeddings": true, "streams": 4, "experts": {"count": 8, "top_k": 2, "ffn_hidden": 16, "router_bias": true},
    "compressed_attention": {"q_rank": 16, "o_rank": 12, "o_groups": 2, "window": 8, "top_k": 4, "index_heads": 2,
    "index_dim": 4}, "pattern": "*E *E:picked *E:all", )" +
         more + R"("shapes": )" + shapes + "}";
}

/// DeepSeek-V4's layers, small: a window, compressed keys that are picked, and all of them; four residual streams.
TEST(CompressedKeys, LayersAreCountedByHand) {
  const auto read = read_network(compressed_file(), "n.json");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(write_network(*read_network(write_network(*read), "again.json")), write_network(*read));
  // Queries 32 x 16 and 16 x 32, a key 32 x 8, outputs 32 x 12 and 2 x 12 x 32; norms of 16 and 8, sinks of 4.
  const std::int64_t attention = 512 + 512 + 256 + 384 + 768, vectors = 16 + 8 + 4;
  const std::int64_t experts = 8 * 3 * 32 * 16 + 32 * 8, streams = 2 * (24 * 4 * 32), beside = 2 * 27 + 2 * 32;
  // Sums and gates of twice 8 wide, 4 places, a norm; the indexer's of twice 4, its queries 16 x 2 x 4, weights 32 x 2.
  const std::int64_t picked = 2 * 32 * 16 + 2 * 32 * 8 + 128 + 64, of_picked = 4 * 16 + 8 + 4 * 8 + 4;
  const std::int64_t all = 2 * 32 * 8, of_all = 8 * 8 + 8;
  EXPECT_EQ(parameter_count(*read), 3 * (attention + vectors + experts + streams + beside) + 2 * 8 + picked +
                                        of_picked + all + of_all + 3200 + 32 + (4 * 4 * 32 + 5))
      << "two of three routers have a correction";
  const double matrices = 3.0 * (attention + 2 * 3 * 32 * 16 + 256 + streams) + picked + all + 3200 + 512;
  const double window = (8 * 9 / 2 + 56 * 8) / 64.0, four = mean_compressed({4, 4}, 64),
               eight = mean_compressed({8, 8}, 64);
  EXPECT_DOUBLE_EQ(
      model_flops(*read, 1, 64, true), 6 * matrices + 12 * 32 * (3 * window + four + eight) + 6 * 8.0 * 2 * 4);
  const Network net = build_network(*read, {1, 64, 2, 2}, AttentionForm::fused);
  for (const Block& block : net.blocks)
    if (block.place == Block::Place::layers) {
      EXPECT_EQ(net.elements(block.input), 64 * 4 * 32) << "all streams go from layer to layer, and stage to stage";
    }
}

TEST(CompressedKeys, WrongOnesAreRefused) {
  const auto broken_by = [](const std::string& text) {
    const auto read = read_network(text, "n.json");
    return read ? "" : to_text(read.error());
  };
  EXPECT_NE(broken_by(compressed_file(R"("linear_bias": true, )")).find("biases"), std::string::npos);
  EXPECT_NE(broken_by(compressed_file(R"("dropout": true, )")).find("several residual streams"), std::string::npos);
  EXPECT_NE(broken_by(compressed_file("", R"([{"name": "picked", "picks": true}, {"name": "all", "ratio": 8}])"))
                .find("no compressed keys to pick from"),
      std::string::npos);
  std::string text = compressed_file();
  text.replace(text.find("\"o_groups\": 2"), 13, "\"o_groups\": 3");
  EXPECT_NE(broken_by(text).find("3 groups of 4 heads"), std::string::npos);
  text = file_with("*- *-:small", R"([{"name": "small", "ratio": 4}])");
  EXPECT_NE(broken_by(text).find("only compressed attention has a ratio"), std::string::npos);
}

/// 4 encoder layers of BERT's form with the words guessed at a quarter of 16 positions.
TEST(MaskedLoss, IsCountedByHand) {
  const std::string file = R"({"id": "encoder", "layers": 4, "hidden": 32, "ffn_hidden": 64, "heads": 4, "vocab": 100,
    "sequence": 16, "max_positions": 16, "norm": "layernorm", "norm_place": "behind-sum", "activation": "gelu",
    "positions": "learned", "causal": false, "linear_bias": true, "head_bias": true, "masked_loss": true,
    "masked_share": 0.25, "pooled_outputs": 2, "token_types": 3, "tied_embeddings": true, "embedding_norm": true})";
  const auto read = read_network(file, "n.json");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(write_network(*read_network(write_network(*read), "again.json")), write_network(*read));
  // Layers: 4 x 32 x 32 + 4 x 32, 2 x 32 x 64 + 96, two norms of 64. Tables of 100, 16 and 3 rows and a norm. Before
  // the logits 32 x 32 + 32 and a norm, on them 100 biases; the pooled position 32 x 32 + 32 and 2 x 33.
  EXPECT_EQ(
      parameter_count(*read), 4 * (4096 + 128 + 4096 + 96 + 128) + 119 * 32 + 64 + (1056 + 64 + 100) + (1056 + 66));
  const double logits = 0.25 * (3200 + 1024), pooled = (1024 + 64) / 16.0;
  EXPECT_DOUBLE_EQ(model_flops(*read, 1, 16, true), 6 * (4 * 8192 + logits + pooled) + 4 * 12 * 16 * 32);
  const Network net = build_network(*read, {1, 16, 2, 2}, AttentionForm::fused);
  EXPECT_EQ(net.elements(net.find_tensor("logits")), 4 * 100) << "a quarter of the positions";
  EXPECT_LT(net.find_tensor("norm3.y"), 0) << "the last layer ends in its own norm";
  const auto broken_by = [&](const std::string& from, const std::string& to) {
    std::string text = file;
    text.replace(text.find(from), from.size(), to);
    const auto wrong = read_network(text, "n.json");
    return wrong ? "" : to_text(wrong.error());
  };
  EXPECT_NE(broken_by("\"causal\": false", "\"causal\": true").find("what follows a masked position is seen"),
      std::string::npos);
  EXPECT_NE(broken_by("\"masked_loss\": true", "\"masked_loss\": false").find("no position of it is masked"),
      std::string::npos);
}

TEST(BlockPicks, AreCountedByHand) {
  const auto read =
      read_network(file_with("*-:full *-", R"([{"name": "full", "all_keys": true}])",
                       R"("kv_heads": 2, "sparse_attention": {"top_k": 8, "heads": 2, "head_dim": 4, "block": 2}, )"),
          "n.json");
  ASSERT_TRUE(read) << to_text(read.error());
  // Attention 32 x 8 x (4 + 2 + 2 + 4), MLP, norms; a picking layer has queries of 2 heads and keys of 4, a norm of
  // each.
  EXPECT_EQ(parameter_count(*read), 4 * (3072 + 4096 + 64) + 2 * (32 * 3 * 4 + 2 * 4) + 3200 + 32);
  EXPECT_EQ(write_network(*read_network(write_network(*read), "again.json")), write_network(*read));
  // The first 8 queries see all keys before them, the others 8; the indexer scores all.
  const double keys = (8 * 9 / 2 + 8 * 8) / 16.0, matrices = 4 * (3072 + 4096) + 2 * 384 + 3200;
  EXPECT_DOUBLE_EQ(model_flops(*read, 1, 16, true), 6 * matrices + 2 * 12 * 8 * 32 + 2 * (12 * keys * 32 + 6 * 8 * 8));
  const auto wrong = [](const char* sparse) {
    const auto network = read_network(
        file_with("*-", "[]", std::string(R"("kv_heads": 2, "sparse_attention": )") + sparse + ", "), "n.json");
    return network ? "" : to_text(network.error());
  };
  EXPECT_NE(
      wrong(R"({"top_k": 8, "heads": 4, "head_dim": 4})").find("4 heads of the indexer for 2"), std::string::npos);
  EXPECT_NE(
      wrong(R"({"top_k": 8, "heads": 2, "head_dim": 4, "block": 3})").find("no whole blocks of 3"), std::string::npos);
}

/// MiniCPM 4.1: of 4096 positions a query at m sees min(m, 512) keys, in 8 blocks of 64: 512 - 512 x 511 / 8192 in the
/// mean. Its 8 heads of 128 score means of keys, of which there are 4096 / 16, behind a pass over a fourth of them,
/// half of all in the mean; both go forward alone. Up to 1024 positions all keys are seen.
TEST(LayerShapes, QueriesScoreMeansOfKeysAndSeeTheBestBlocks) {
  const std::string file = R"({"id": "picked", "layers": 2, "hidden": 1024, "ffn_hidden": 64, "heads": 8, "kv_heads": 2,
    "vocab": 100, "sequence": 4096, "norm": "rmsnorm", "activation": "gelu", "positions": "rope",
    "tied_embeddings": true)";
  const auto all = read_network(file + "}", "n.json");
  const auto some = read_network(file + R"(, "dense_positions": 1024, "sparse_attention":
      {"top_k": 512, "heads": 2, "head_dim": 128, "block": 64, "pooled": 16}})",
      "n.json");
  ASSERT_TRUE(all && some) << to_text(some.error());
  EXPECT_EQ(parameter_count(*some), parameter_count(*all)) << "means have no weights";
  EXPECT_EQ(model_flops(*some, 1024, 1024, true), model_flops(*all, 1024, 1024, true));
  const double layers = 2, width = 8 * 128, keys = 512 - 512.0 * 511 / 8192, means = 4096.0 / 16 * 1.25 / 2;
  const double fewer = 3 * 2 * layers * 2 * width * (2048 - keys), scored = 2 * layers * width * means;
  EXPECT_NEAR(model_flops(*all, 1, 4096, true) - model_flops(*some, 1, 4096, true), fewer - scored, 1);
  double operators = 0;
  for (const NetworkSpec* spec : {&*all, &*some}) {
    const Network net = build_network(*spec, {1, 4096, 2, 2}, AttentionForm::fused);
    double total = 0;
    for (const Block& block : net.blocks)
      for (const Operator& op : block.operators)
        total += static_cast<double>(block.repeat) * forward_flops(op, net.dims, true);
    operators = total - operators;
  }
  EXPECT_NEAR(-operators / 4096 / (fewer / 3 - scored), 1, 1e-3);
  const auto again = read_network(write_network(*some), "again.json");
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(write_network(*again), write_network(*some));
}

}  // namespace
}  // namespace stepcast
