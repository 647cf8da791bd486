// Encoders, modulated layers and positions of two kinds: what operators do against the closed counts, and what a file
// of one's own may not say.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/catalog.h"
#include "model/network/hf/config.h"

namespace stepcast::encoder_test {
namespace {

/// Forward FLOPs of all operators of one sample; shared and repeated blocks as often as they run.
double operator_flops(const NetworkSpec& n) {
  const Network net = build_network(n, {1, n.sequence, 2, 2}, AttentionForm::fused);
  double total = 0;
  for (const Block& block : net.blocks)
    for (const Operator& op : block.operators)
      total += static_cast<double>(block.repeat) * forward_flops(op, net.dims, true);
  return total;
}

TEST(Encoder, OperatorsDoWhatTheFormulasCount) {
  for (const char* id : {"t5-v1.1-xxl", "whisper-large-v3", "vit-large", "dit-xl-2", "wan2.1-14b", "flux.1-dev"}) {
    const auto row = find_row(built_in().networks, id, "network");
    ASSERT_TRUE(row) << id;
    NetworkSpec n = **row;
    n.sequence = 196;
    const double counted = model_flops(n, static_cast<double>(n.sequence), n.sequence, true) / 3;
    // The closed count takes half of s keys for (s + 1) / 2.
    EXPECT_NEAR(operator_flops(n) / counted, 1, 1e-3) << id;
  }
}

/// Small files of diffusers' classes: 2 layers of 2 heads of 8, the last of which makes nothing of SD3's text.
TEST(Encoder, LayersOfNumbersDoWhatTheFormulasCount) {
  const std::string sizes = R"("attention_head_dim": 8, "num_attention_heads": 2, "in_channels": 4, "patch_size": 2, )";
  for (const std::string& file :
      {
          R"({"_class_name": "SD3Transformer2DModel", "num_layers": 2, "joint_attention_dim": 12, "pooled_projection_dim": 10,
               "caption_projection_dim": 16, "qk_norm": "rms_norm", )" +
              sizes + R"("sample_size": 32})",
          R"({"_class_name": "SD3Transformer2DModel", "num_layers": 3, "joint_attention_dim": 12, "pooled_projection_dim": 10,
               "caption_projection_dim": 16, "qk_norm": "rms_norm", "dual_attention_layers": [0, 2], )" +
              sizes + R"("sample_size": 32})",
          R"({"_class_name": "HunyuanVideoTransformer3DModel", "num_layers": 1, "num_single_layers": 2, "text_embed_dim": 12,
               "num_refiner_layers": 2, "pooled_projection_dim": 10, "patch_size_t": 1, "qk_norm": "rms_norm", )" +
              sizes + R"("guidance_embeds": true})",
          R"({"_class_name": "PixArtTransformer2DModel", "num_layers": 2, "caption_channels": 12, "cross_attention_dim": 16,
               "norm_type": "ada_norm_single", "sample_size": 64, )" +
              sizes + R"("attention_bias": true})",
          R"({"_class_name": "Flux2Transformer2DModel", "num_layers": 2, "num_single_layers": 3, "joint_attention_dim": 12,
               "mlp_ratio": 3.0, "timestep_guidance_channels": 6, )" +
              sizes + R"("guidance_embeds": true})",
          R"({"_class_name": "ChromaTransformer2DModel", "num_layers": 2, "num_single_layers": 3, "joint_attention_dim": 12,
               "approximator_hidden_dim": 20, "approximator_layers": 2, )" +
              sizes + R"("approximator_num_channels": 8})",
          std::string(
              R"({"_class_name": "Lumina2Transformer2DModel", "num_layers": 3, "num_refiner_layers": 2, "hidden_size": 32,
               "num_attention_heads": 4, "num_kv_heads": 2, "multiple_of": 16, "in_channels": 4, "patch_size": 2,
               "cap_feat_dim": 12, "sample_size": 32})"),
          std::string(
              R"({"_class_name": "ZImageTransformer2DModel", "n_layers": 3, "n_refiner_layers": 1, "dim": 24, "n_heads": 2,
               "n_kv_heads": 2, "all_patch_size": [2], "all_f_patch_size": [1], "in_channels": 4, "cap_feat_dim": 12})")}) {
    const auto config = read_hf_config(file, "config.json");
    ASSERT_TRUE(config) << to_text(config.error());
    EXPECT_TRUE(config->missing.empty()) << file;
    NetworkSpec n = config->network;
    n.sequence = 64;
    n.encoders.front().sequence = 24;
    EXPECT_NEAR(operator_flops(n) * 3 / model_flops(n, 64, 64, true), 1, 1e-9) << file;
  }
}

/// Lumina 2: a layer 32 wide of 4 heads, 2 of them of keys, with an MLP of 128, is 3072 + 12288 multiply-adds a
/// position. Of 40 patches and 24 positions of the text one such layer is for the patches, one for the text, one for
/// both, whose cores see as many keys as they have positions. Four vectors of a layer that sees patches and one of the
/// last norm come of 32 numbers, these of 256 waves.
TEST(Encoder, LayersRefineEitherKindOfPositionsAlone) {
  const auto config = read_hf_config(R"({"_class_name": "Lumina2Transformer2DModel", "num_layers": 1,
      "num_refiner_layers": 1, "hidden_size": 32, "num_attention_heads": 4, "num_kv_heads": 2, "multiple_of": 128,
      "in_channels": 4, "patch_size": 2, "cap_feat_dim": 12, "sample_size": 32})",
      "config.json");
  ASSERT_TRUE(config) << to_text(config.error());
  NetworkSpec n = config->network;
  n.encoders.front().sequence = 24;
  const double layer = 2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 128, core = 2 * 32;
  const double multiplies = 40 * (layer + 40 * core) + 24 * (layer + 24 * core) + 64 * (layer + 64 * core) +
                            40 * (16 * 32 + 32 * 16) + 24 * 12 * 32 + (256 + 32) * 32 + (2 * 4 + 1) * 32 * 32;
  EXPECT_DOUBLE_EQ(model_flops(n, 40, 40, true), 3 * 2 * multiplies);
}

/// Chroma: 2 x 6 vectors of each joint layer, 3 of each other and 2 of the last norm are rows of 8 numbers, which go
/// through a matrix to 20, twice two matrices of 20 x 20, and a matrix to 16.
TEST(Encoder, VectorsMayComeOfANetworkOfTheirOwn) {
  const auto config = read_hf_config(R"({"_class_name": "ChromaTransformer2DModel", "num_layers": 2,
      "num_single_layers": 3, "joint_attention_dim": 12, "approximator_hidden_dim": 20, "approximator_layers": 2,
      "approximator_num_channels": 8, "attention_head_dim": 8, "num_attention_heads": 2, "in_channels": 4})",
      "config.json");
  ASSERT_TRUE(config) << to_text(config.error());
  NetworkSpec n = config->network, more = n;
  n.encoders.front().sequence = more.encoders.front().sequence = 24;
  EXPECT_EQ(modulation_vectors(n), 2 * 12 + 3 * 3 + 2);
  more.modulation.approximator_layers = 3;
  EXPECT_DOUBLE_EQ(model_flops(more, 64, 64, true) - model_flops(n, 64, 64, true), 6.0 * 35 * 2 * 20 * 20);
  EXPECT_EQ(parameter_count(more) - parameter_count(n), 2 * (20 * 20 + 20) + 20);
}

/// What the last layer of SD3 leaves out: of 24 text positions 16 wide outputs of attention and an MLP of 64.
TEST(Encoder, TheLastJointLayerMakesNothingOfTheText) {
  const auto config = read_hf_config(R"({"_class_name": "SD3Transformer2DModel", "num_layers": 2,
      "joint_attention_dim": 12, "pooled_projection_dim": 10, "caption_projection_dim": 16, "attention_head_dim": 8,
      "num_attention_heads": 2, "in_channels": 4, "patch_size": 2, "sample_size": 32})",
      "config.json");
  ASSERT_TRUE(config) << to_text(config.error());
  NetworkSpec n = config->network, whole = n;
  n.encoders.front().sequence = whole.encoders.front().sequence = 24;
  whole.shapes.pop_back(), whole.pattern.back().shape = 1;
  const double idle = 16 * 16 + 2 * 16 * 64, vectors = 4 * 16 * 16;  // of six vectors two are left
  EXPECT_DOUBLE_EQ(model_flops(whole, 64, 64, true) - model_flops(n, 64, 64, true), 6 * (24 * idle + vectors));
  EXPECT_EQ(parameter_count(whole) - parameter_count(n), idle + 16 + 64 + 16 + vectors + 4 * 16);
}

/// Layers of a list attend to the image once more: of 64 positions 16 wide four projections with biases, a norm of each
/// head, and 64 keys; three vectors more.
TEST(Encoder, JointLayersMayAttendTwice) {
  const auto read = [](const char* dual) {
    return read_hf_config(fmt::format(R"({{"_class_name": "SD3Transformer2DModel", "num_layers": 3,
      "joint_attention_dim": 12, "pooled_projection_dim": 10, "caption_projection_dim": 16, "attention_head_dim": 8,
      "num_attention_heads": 2, "in_channels": 4, "patch_size": 2, "sample_size": 32, "qk_norm": "rms_norm",
      "dual_attention_layers": {}}})",
                              dual),
        "config.json");
  };
  const auto once = read("[]"), twice = read("[0, 2]"), all = read("[0, 1, 2]");
  ASSERT_TRUE(once && twice && all);
  EXPECT_EQ(twice->network.shapes.size(), 3U);
  EXPECT_EQ(all->network.shapes.size(), 2U) << "no layer is left that attends once";
  const std::int64_t matrices = 4 * 16 * 16, vectors = 3 * 16 * 16;
  EXPECT_EQ(parameter_count(twice->network) - parameter_count(once->network),
      2 * (matrices + 4 * 16 + 2 * 8 + vectors + 3 * 16));
  const auto flops = [](NetworkSpec n) {
    n.encoders.front().sequence = 24;
    return model_flops(n, 64, 64, true);
  };
  const double core = 2.0 * 64 * 64 * 2 * 16;  // scores and values
  EXPECT_DOUBLE_EQ(flops(twice->network) - flops(once->network), 2 * 3 * (2.0 * 64 * matrices + core + 2.0 * vectors));
  EXPECT_NE(to_text(read("[3]").error()).find("layer 3 of 3"), std::string::npos);
}

/// Of layers that refine a text: two norms with weights, attention and an MLP of 64, two gates; in front of them what
/// says the time and the text's mean.
TEST(Encoder, LayersThatRefineATextAreGated) {
  const auto read = [](int refiners) {
    return read_hf_config(fmt::format(R"({{"_class_name": "HunyuanVideoTransformer3DModel", "num_layers": 1,
      "num_single_layers": 1, "text_embed_dim": 12, "pooled_projection_dim": 10, "attention_head_dim": 8,
      "num_attention_heads": 2, "in_channels": 4, "patch_size": 2, "num_refiner_layers": {}}})",
                              refiners),
        "config.json");
  };
  const auto one = read(1), two = read(2);
  ASSERT_TRUE(one && two) << to_text((one ? two : one).error());
  const std::int64_t layer = 2 * 2 * 16 + 4 * (16 * 16 + 16) + 16 * 64 + 64 + 64 * 16 + 16 + 2 * (16 * 16 + 16);
  EXPECT_EQ(parameter_count(two->network) - parameter_count(one->network), layer);
  const std::int64_t said = 256 * 16 + 16 + 16 * 16 + 16 + 12 * 16 + 16 + 16 * 16 + 16, taken_in = 12 * 16 + 16;
  EXPECT_EQ(encoder_parameter_count(one->network), layer + said + taken_in);
  EXPECT_FALSE(read(0)) << "no class has none";
}

/// One layer alone is the last.
TEST(Encoder, OneJointLayerMakesNothingOfTheText) {
  const auto read = [](int layers) {
    const auto config = read_hf_config(fmt::format(R"({{"_class_name": "SD3Transformer2DModel", "num_layers": {},
      "joint_attention_dim": 12, "pooled_projection_dim": 10, "caption_projection_dim": 16, "attention_head_dim": 8,
      "num_attention_heads": 2, "in_channels": 4, "patch_size": 2, "sample_size": 32}})",
                                           layers),
        "config.json");
    EXPECT_TRUE(config) << to_text(config.error());
    return config ? config->network : NetworkSpec{};
  };
  const NetworkSpec one = read(1);
  ASSERT_EQ(one.shapes.size(), 1U);
  EXPECT_TRUE(one.shapes[0].ends);
  EXPECT_EQ(one.pattern.at(0).shape, 1);
  EXPECT_EQ(parameter_count(read(2)) - parameter_count(one), parameter_count(read(3)) - parameter_count(read(2)));
}

/// Step3's attention: queries of 4 heads of 8 through a rank of 12, one head of keys; 12 x (32 + 32) and a norm in
/// place of 32 x 32.
TEST(Encoder, QueriesGoThroughARankThatHeadsShare) {
  const auto read = [](const std::string& more) {
    return read_network(
        R"({"id": "ranked", "layers": 1, "hidden": 32, "ffn_hidden": 64, "heads": 4, "kv_heads": 1, "head_dim": 8,
      "vocab": 100, "sequence": 16, "norm": "rmsnorm", "activation": "gelu", "positions": "rope", )" +
            more + "}",
        "n.json");
  };
  const auto plain = read(R"("tied_embeddings": true)"), ranked = read(R"("tied_embeddings": true, "query_rank": 12)");
  ASSERT_TRUE(plain && ranked);
  EXPECT_EQ(parameter_count(*ranked) - parameter_count(*plain), 12 * 64 + 12 - 1024);
  EXPECT_DOUBLE_EQ(model_flops(*ranked, 1, 16, true) - model_flops(*plain, 1, 16, true), 6.0 * (12 * 64 - 1024));
  EXPECT_DOUBLE_EQ(operator_flops(*ranked) - operator_flops(*plain), 16 * 2.0 * (12 * 64 - 1024));
  const auto wrong = read(R"("qkv_bias": true, "query_rank": 12)");
  ASSERT_FALSE(wrong);
  EXPECT_NE(to_text(wrong.error()).find("without biases"), std::string::npos);
}

/// By hand: a decoder layer of 4 wide heads looks at 6 positions of an encoder that is 8 wide.
TEST(Encoder, KeysAndValuesAreMadeOnceForEveryPositionOfTheEncoder) {
  NetworkSpec n;
  n.id = "crossing";
  n.layers = 1, n.hidden = 16, n.ffn_hidden = 32, n.heads = n.kv_heads = 2, n.head_dim = 4, n.vocab = 10,
  n.sequence = 3;
  n.positions = Positions::none;
  const double alone = model_flops(n, 3, 3, false);
  NetworkSpec encoder;
  encoder.layers = 0, encoder.hidden = 8, encoder.features = 5, encoder.sequence = 6, encoder.causal = false;
  encoder.positions = Positions::none;
  n.encoders = {encoder};
  n.pattern = {*layer_of_word("*x-")};
  const double queries = 2.0 * 3 * (2 * 16 * 8), keys = 2.0 * 6 * (2 * 8 * 8), core = 4.0 * 3 * 6 * 8,
               intake = 2.0 * 6 * 5 * 8;
  EXPECT_DOUBLE_EQ(model_flops(n, 3, 3, false) - alone, 3 * (queries + keys + core + intake));
}

TEST(Encoder, AdaptersStandOnTheRowsThatTheyAdapt) {
  const NetworkSpec& t5 = **find_row(built_in().networks, "t5-v1.1-xxl", "network");
  BatchShape batch{1, 128, 2, 2};
  batch.lora_rank = 4;
  const Network net = build_network(t5, batch, AttentionForm::fused);
  EXPECT_TRUE(check_graph(net));
  const auto rows = [&](const char* name) { return net.dims[net.tensors[net.find_tensor(name)].dims[1]].name; };
  EXPECT_EQ(rows("attn.qkv.cross.K.low"), "s.encoder");
  EXPECT_EQ(rows("attn.qkv.cross.Q.low"), "s");
}

constexpr const char* decoder = R"({"id": "own", "name": "own", "source": "test", "layers": 2, "hidden": 64,
  "ffn_hidden": 128, "heads": 4, "vocab": 100, "sequence": 32, "norm": "rmsnorm", "activation": "gelu",
  "positions": "rope")";
constexpr const char* encoder = R"("encoder": {"layers": 2, "hidden": 64, "ffn_hidden": 128, "heads": 4,
  "sequence": 64, "norm": "rmsnorm", "activation": "gelu", "positions": "rope")";

std::string error_of(const std::string& more) {
  const auto read = read_network(std::string(decoder) + more + "}", "own.json");
  return read ? "" : to_text(read.error());
}

TEST(Encoder, AFileOfOnesOwnSaysWhatIsWrong) {
  const std::string with = std::string(", ") + encoder;
  EXPECT_EQ(error_of(with + R"(, "vocab": 50}, "pattern": "*x-")"), "");
  EXPECT_EQ(error_of(with + R"(, "tied_embeddings": true}, "pattern": "*x-")"), "");
  const auto says = [](const std::string& more, const std::string& part) {
    EXPECT_NE(error_of(more).find(part), std::string::npos) << part << ": " << error_of(more);
  };
  says(R"(, "pattern": "*x-")", "nothing describes");
  says(with + R"(, "vocab": 50})", "no layer looks at the encoder");
  says(with + R"(}, "pattern": "*x-")", "reads words or numbers");
  says(with + R"(, "vocab": 50, "features": 8}, "pattern": "*x-")", "reads words or numbers");
  says(with + R"(, "vocab": 50, "mixer": {}}, "pattern": "*x-")", "mixer");
  says(with + R"(, "vocab": 50, "kv_heads": 3}, "pattern": "*x-")", "own.json:/encoder/kv_heads");
  says(with + R"(, "vocab": 50}, "pattern": "*x-", "attention_sinks": true)", "is plain");
  says(R"(, "linear_bias": true, "modulation": {"frequencies": 8})", "no network of words");
  says(with + R"(, "features": 8, "joins": true}, "pattern": "*-")", "no layer has weights for them");
  says(R"(, "features": 8)", "words or numbers");
  says(R"(, "outputs": 8)", "a network of tokens predicts tokens");
  says(R"(, "norm_place": "both", "modulation": {"frequencies": 8})", "modulated layers have norms before");
  says(R"(, "modulation": {"frequencies": 8, "gains": true})", "behind them where gains alone do");
  says(R"(, "modulation": {"frequencies": 8, "common": true, "shared": true})", "tables of layers stand with six");
  says(R"(, "linear_bias": true, "modulation": {"frequencies": 8, "no_bias": true})", "products of a sample do");
  says(R"(, "modulation": {"frequencies": 8, "common": true, "width": 4})", "as many numbers as the stream has");
  says(R"(, "modulation": {"frequencies": 8, "approximator_layers": 2})", "2 layers, 0 wide");
  says(R"(, "shapes": [{"name": "a", "alone": true}], "pattern": "*-:a")", "no encoder gives");
  says(R"(, "linear_bias": true, "modulation": {"frequencies": 8, "gates": true})", "gates alone stand in an encoder");
  says(with + R"(, "vocab": 50, "modulation": {"frequencies": 8}}, "pattern": "*x-")", "an encoder that joins");
  says(
      R"(, "shapes": [{"name": "a", "second": true}], "pattern": "*-:a")", "a second attention stands in joint layers");
  says(R"(, "experts": {"count": 4, "top_k": 2, "ffn_hidden": 8, "norm_behind": true}, "norm_place": "both")",
      "a norm behind experts");
  says(R"(, "distances": 8)", "relative");
  says(R"(, "no_key_bias": true)", "no projection has a bias");
  for (const char* one : {"no_attention_dropout", "no_hidden_dropout"})
    says(std::string(R"(, ")") + one + R"(": true)", "nothing is dropped");
  says(R"(, "dropout": true, "no_attention_dropout": true, "no_hidden_dropout": true)", "is none");
  says(R"(, "shapes": [{"name": "a", "parallel": true}], "pattern": "*-:a")", "parallel");
}

TEST(Encoder, CatalogueRowsAreReadAsTheyAreWritten) {
  for (const char* id : {"t5-v1.1-xxl", "whisper-large-v3", "vit-large", "dit-xl-2", "wan2.1-14b", "flux.1-dev"}) {
    const NetworkSpec& row = **find_row(built_in().networks, id, "network");
    const auto again = read_network(write_network(row), "again.json");
    ASSERT_TRUE(again) << to_text(again.error());
    EXPECT_EQ(write_network(*again), write_network(row));
    EXPECT_EQ(parameter_count(*again), row.published_parameters) << id;
  }
}

}  // namespace
}  // namespace stepcast::encoder_test
