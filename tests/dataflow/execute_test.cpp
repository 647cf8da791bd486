// The reference itself: gradients of one rank against finite differences.
#include <cmath>

#include <gtest/gtest.h>
#include <fmt/format.h>

#include "tests/dataflow/execute.h"
#include "tests/dataflow/ledger.h"
#include "tests/dataflow/networks.h"
#include "tests/dataflow/true_gradients.h"

namespace stepcast::dataflow {
namespace {

TEST(Execute, GradientsOfTheFusedTransformerAreTrue) {
  expect_true_gradients(build_network(tiny_transformer(), {2, 3, 2, 2}, AttentionForm::fused));
}

TEST(Execute, GradientsOfTheUnfusedTransformerAreTrue) {
  NetworkSpec spec = tiny_transformer();
  spec.activation = Activation::gelu;
  spec.positions = Positions::learned;
  spec.max_positions = 3;
  spec.linear_bias = true;
  spec.dropout = true;
  expect_true_gradients(build_network(spec, {2, 3, 2, 2}, AttentionForm::unfused));
}

TEST(Execute, GradientsOfEveryMixerAreTrue) {
  const std::vector<std::pair<std::string, std::int64_t>> sizes{{"heads", 4}, {"head_dim", 2}, {"groups", 2},
      {"state", 2}, {"taps", 2}, {"chunk", 2}, {"key_heads", 2}, {"value_heads", 4}, {"key_dim", 2}, {"value_dim", 2},
      {"channels", 4}, {"rank", 2}};
  for (const std::string& kind : mixer_form_ids()) {
    NetworkSpec spec = tiny_transformer();
    spec.mixer = make_mixer(kind, sizes);
    spec.layers = 1;
    spec.pattern = {*layer_of_word(kind == "mamba2-gated" ? "M*" : "M")};
    SCOPED_TRACE(kind);
    expect_true_gradients(build_network(spec, {1, 3, 2, 2}, AttentionForm::fused));
  }
}

TEST(Execute, GradientsOfLayersOfTheirOwnShapeAreTrue) {
  NetworkSpec spec = tiny_transformer();
  spec.causal = false;
  spec.norm_place = NormPlace::behind_sum;
  spec.token_types = 2;
  spec.window.positions = 2;
  spec.value_norm = spec.layer_scale = true;
  spec.shapes = {{.name = "wide", .heads = 2, .kv_heads = 1, .head_dim = 4, .ffn_hidden = 6, .key_is_value = true}};
  spec.pattern = {*layer_of_word("w-"), *layer_of_word("*-")};
  spec.pattern.back().shape = 1;
  expect_true_gradients(build_network(spec, {2, 3, 2, 2}, AttentionForm::fused));
}

/// Layers that look at an encoder; its positions are none of the network's.
NetworkSpec tiny_encoder_decoder() {
  NetworkSpec spec = tiny_transformer();
  spec.pattern = {*layer_of_word("*x-")};
  NetworkSpec encoder = tiny_transformer();
  encoder.causal = false;
  encoder.sequence = 5;
  encoder.hidden = 6;
  encoder.vocab = 0;
  encoder.features = 3;
  spec.encoders = {encoder};
  return spec;
}

TEST(Execute, GradientsOfAttentionOverAnEncoderAreTrue) {
  expect_true_gradients(build_network(tiny_encoder_decoder(), {2, 3, 2, 2}, AttentionForm::fused));
  NetworkSpec some = tiny_encoder_decoder();
  some.pattern = {*layer_of_word("*-"), *layer_of_word("x-")};
  expect_true_gradients(build_network(some, {2, 3, 2, 2}, AttentionForm::unfused));
}

/// Nothing goes back through it, and its weights are no one's to change.
TEST(Execute, AFrozenEncoderHasNoGradients) {
  NetworkSpec spec = tiny_encoder_decoder();
  spec.encoders.front().frozen = true;
  const Network net = build_network(spec, {2, 3, 2, 2}, AttentionForm::fused);
  const PlacedNetwork placed = placed_of(net, "mesh one:1");
  EXPECT_EQ(execute(net, placed, some_values(net, 3)).error, "");
  for (std::size_t b = 0; b < net.blocks.size(); ++b) {
    if (!net.blocks[b].name.starts_with("encoder")) continue;
    EXPECT_TRUE(placed.blocks[b].backward.empty()) << net.blocks[b].name;
    EXPECT_TRUE(placed.blocks[b].saved.empty()) << net.blocks[b].name;
  }
}

TEST(Execute, GradientsOfRelativePositionsAreTrue) {
  NetworkSpec spec = tiny_encoder_decoder();
  spec.encoders.front().features = 0;
  spec.encoders.front().vocab = 7;
  for (NetworkSpec* with : {&spec, &spec.encoders.front()}) with->positions = Positions::relative, with->distances = 2;
  expect_true_gradients(build_network(spec, {2, 3, 2, 2}, AttentionForm::fused));
}

/// Patches in, numbers out: what diffusion transformers have in common.
NetworkSpec tiny_diffusion() {
  NetworkSpec spec = tiny_transformer();
  spec.causal = false;
  spec.vocab = 0;
  spec.features = 3;
  spec.outputs = 2;
  spec.norm = Norm::layernorm;
  spec.linear_bias = true;
  return spec;
}

/// Layers of a diffusion transformer: vectors of a sample scale, shift and gate.
TEST(Execute, GradientsOfModulatedLayersAreTrue) {
  for (const bool shared : {false, true}) {
    NetworkSpec spec = tiny_diffusion();
    spec.modulation = {.frequencies = 3, .classes = shared ? 0 : 4, .pooled = 2, .guidance = shared, .shared = shared};
    if (shared) {
      spec.pattern = {*layer_of_word("*x-")};
      spec.qk_norm = spec.qk_norm_width = spec.qk_norm_rms = true;
      NetworkSpec text;
      text.hidden = 4, text.heads = text.kv_heads = text.head_dim = text.ffn_hidden = 1;
      text.features = 5, text.sequence = 2, text.intake = Intake::mlp, text.positions = Positions::none;
      text.causal = false;
      spec.encoders = {text};
    }
    expect_true_gradients(build_network(spec, {2, 3, 2, 2}, AttentionForm::fused));
  }
}

/// Positions of two kinds that attend together, of which the network's own attend among themselves, too; the others
/// come out of layers whose sublayers a sample gates.
NetworkSpec tiny_joint() {
  NetworkSpec spec = tiny_diffusion();
  spec.qk_norm = spec.qk_norm_rms = true;
  spec.modulation = {.frequencies = 3, .pooled = 2};
  spec.shapes = {{.name = "dual", .joint = true, .second = true}, {.name = "last", .joint = true, .ends = true}};
  spec.pattern = {*layer_of_word("*-"), *layer_of_word("*-")};
  spec.pattern.front().shape = 1, spec.pattern.back().shape = 2;
  NetworkSpec text = tiny_transformer();
  text.layers = 1, text.vocab = 0, text.features = 5, text.sequence = 2;
  text.norm = Norm::layernorm;
  text.causal = false;
  text.positions = Positions::none;
  text.joins = text.linear_bias = true;
  text.modulation = {.frequencies = 3, .pooled = 5, .gates = true};
  spec.encoders = {text};
  return spec;
}

TEST(Execute, GradientsOfJointLayersAreTrue) {
  for (const AttentionForm form : {AttentionForm::fused, AttentionForm::unfused})
    expect_true_gradients(build_network(tiny_joint(), {1, 2, 2, 2}, form));
}

/// Layers of a kind have the same vectors, without a bias anywhere: joint ones, and those of one product behind both
/// sublayers (FLUX.2).
TEST(Execute, GradientsOfCommonVectorsAreTrue) {
  NetworkSpec spec = tiny_joint();
  spec.layers = 3;
  spec.linear_bias = false;
  spec.activation = Activation::swiglu;
  spec.modulation = {.frequencies = 3, .guidance = true, .common = true, .no_bias = true};
  spec.shapes = {{.name = "double", .joint = true}, {.name = "single", .parallel = true}};
  spec.pattern.push_back(spec.pattern.back());
  spec.pattern.front().shape = 1;
  NetworkSpec& text = spec.encoders.front();
  text.layers = 0, text.linear_bias = false, text.modulation = {};
  text.heads = text.kv_heads = text.head_dim = text.ffn_hidden = 1;
  expect_true_gradients(build_network(spec, {1, 2, 2, 2}, AttentionForm::fused));
}

/// A network of its own makes the vectors of all layers (Chroma).
TEST(Execute, GradientsOfApproximatedVectorsAreTrue) {
  NetworkSpec spec = tiny_joint();
  spec.modulation = {.frequencies = 3, .approximator_layers = 2, .approximator_width = 3};
  spec.shapes = {{.name = "double", .joint = true}, {.name = "single", .parallel = true}};
  NetworkSpec& text = spec.encoders.front();
  text.layers = 0, text.modulation = {};
  text.heads = text.kv_heads = text.head_dim = text.ffn_hidden = 1;
  expect_true_gradients(build_network(spec, {1, 2, 2, 2}, AttentionForm::fused));
}

/// Scales and gates alone, of fewer numbers than the stream has; a layer of the network's own positions, one of all,
/// behind layers of the text's (Lumina 2).
NetworkSpec tiny_single_stream() {
  NetworkSpec spec = tiny_joint();
  spec.linear_bias = false;
  spec.intake_bias = true;
  spec.norm = Norm::rmsnorm;
  spec.norm_place = NormPlace::both;
  spec.modulation = {.frequencies = 3, .gains = true, .width = 2, .inner = 5};
  spec.shapes = {{.name = "own", .alone = true}};
  spec.pattern.front().shape = 1, spec.pattern.back().shape = 0;
  NetworkSpec& text = spec.encoders.front();
  text.modulation = {};
  text.norm = Norm::rmsnorm;
  text.norm_place = NormPlace::both;
  text.linear_bias = false;
  text.no_last_norm = text.intake_bias = true;
  return spec;
}

TEST(Execute, GradientsOfLayersThatRefineTextsAndImagesAreTrue) {
  for (const AttentionForm form : {AttentionForm::fused, AttentionForm::unfused})
    expect_true_gradients(build_network(tiny_single_stream(), {1, 2, 2, 2}, form));
}

TEST(Execute, GradientsOfGatesSinksAndNormsAreTrue) {
  NetworkSpec spec = tiny_transformer();
  spec.norm_place = NormPlace::both;
  spec.norm = Norm::layernorm_scale;
  spec.qk_norm = spec.qk_norm_width = true;
  spec.attention_gate = spec.attention_sinks = spec.logit_softcap = spec.head_bias = true;
  spec.window = {2, "w", false};
  expect_true_gradients(build_network(spec, {2, 3, 2, 2}, AttentionForm::fused));
}

/// A number of each head in a softmax that is an operator of its own.
TEST(Execute, GradientsOfSinksInAnUnfusedCoreAreTrue) {
  NetworkSpec spec = tiny_transformer();
  spec.attention_sinks = true;
  expect_true_gradients(build_network(spec, {2, 3, 2, 2}, AttentionForm::unfused));
}

TEST(Execute, GradientsOfHeadGatesNarrowValuesAndNormsOfHeadsAreTrue) {
  NetworkSpec spec = tiny_transformer();
  spec.norm = Norm::layernorm;
  spec.qk_norm = spec.qk_norm_heads = true;
  spec.attention_gate = spec.head_gate = spec.attention_sinks = spec.qkv_bias = true;
  spec.value_dim = 1;
  spec.window = {2, "w", false};
  spec.shapes = {{.name = "full", .kv_heads = 1, .head_dim = 4, .value_dim = 3, .no_sinks = true}};
  spec.pattern = {*layer_of_word("w-"), *layer_of_word("*-")};
  spec.pattern.back().shape = 1;
  expect_true_gradients(build_network(spec, {2, 3, 2, 2}, AttentionForm::fused));
}

NetworkSpec latent_transformer() {
  NetworkSpec spec = tiny_transformer();
  spec.kv_heads = spec.heads;
  spec.latent = {3, 2, 2, 2, 1};
  spec.head_dim = 4;
  return spec;
}

TEST(Execute, GradientsOfLatentAttentionAreTrue) {
  NetworkSpec spec = latent_transformer();
  expect_true_gradients(build_network(spec, {2, 3, 2, 2}, AttentionForm::fused));
  spec.attention_gate = true;  // Kimi K3
  spec.latent.q_rank = 0;
  expect_true_gradients(build_network(spec, {2, 3, 2, 2}, AttentionForm::fused));
}

/// Keys that an indexer picks one by one of latent attention, and in blocks for each key-value head of plain attention.
TEST(Execute, GradientsOverPickedKeysAreTrue) {
  NetworkSpec latent = latent_transformer();
  latent.sparse = {2, 2, 2};
  expect_true_gradients(build_network(latent, {1, 4, 2, 2}, AttentionForm::fused));
  NetworkSpec blocks = tiny_transformer();
  blocks.sparse = {2, 2, 2, 2};
  expect_true_gradients(build_network(blocks, {1, 4, 2, 2}, AttentionForm::fused));
}

/// DeepSeek V4: a window, keys of two neighbours each, all of them or those that are picked, and two streams.
TEST(Execute, GradientsOverCompressedKeysAndStreamsAreTrue) {
  NetworkSpec spec = tiny_transformer();
  spec.layers = 3;
  spec.kv_heads = 1;
  spec.compressed = {3, 2, 2, 2, 1, 2, 2};
  spec.streams = 2;
  spec.shapes = {{.name = "all", .ratio = 2}, {.name = "picked", .ratio = 2, .picks = true}};
  spec.pattern = {3, *layer_of_word("*-")};
  spec.pattern[1].shape = 1, spec.pattern[2].shape = 2;
  expect_true_gradients(build_network(spec, {1, 4, 2, 2}, AttentionForm::fused));
}

/// A layer takes over the keys and values of another, and all have inputs of their own (Gemma 4 E2B).
TEST(Execute, GradientsOfLentKeysAndOfLayersInputsAreTrue) {
  for (const bool own_words : {false, true}) {
    NetworkSpec spec = tiny_transformer();
    spec.layers = 3;
    spec.qk_norm = spec.layer_scale = true;
    spec.norm_place = NormPlace::both;
    spec.layer_inputs = {2, own_words ? 3 : spec.vocab};
    spec.shapes = {
        {.name = "lent", .key_is_value = own_words}, {.name = "borrowed", .ffn_hidden = 5, .keys_of = "lent"}};
    spec.pattern.assign(3, *layer_of_word("*-"));
    spec.pattern[1].shape = 1, spec.pattern[2].shape = 2;
    expect_true_gradients(build_network(spec, {1, 3, 2, 2}, own_words ? AttentionForm::fused : AttentionForm::unfused));
  }
}

/// Streams that are predicted from each other, a way beside attention, gates that are cut off, and inputs of each layer
/// (Gemma 3n).
TEST(Execute, GradientsOfPredictedStreamsAreTrue) {
  NetworkSpec spec = tiny_transformer();
  spec.layers = 2;
  spec.norm_place = NormPlace::both;
  spec.activation = Activation::geglu;
  spec.layer_inputs = {2, spec.vocab};
  spec.predicted_streams = 3;
  spec.query_rank = 2;
  spec.side_rank = 2;
  spec.shapes = {{.name = "cut", .gate_cutoff = true}};
  spec.pattern.assign(2, *layer_of_word("*-"));
  spec.pattern[0].shape = 1;
  expect_true_gradients(build_network(spec, {1, 3, 2, 2}, AttentionForm::fused));
}

/// What an earlier layer of the encoder gave goes to the projector, too: alone, and beside the last (Qwen3-VL, LLaVA).
TEST(Execute, GradientsOfFeaturesOfSeveralLayersAreTrue) {
  NetworkSpec spec = tiny_encoder_decoder();
  NetworkSpec& encoder = spec.encoders.front();
  encoder.layers = 2, encoder.images = 1, encoder.hidden = 4;
  encoder.projectors = {{*projector_step("beside 1"), *projector_step("matrix 4 bias")},
      {*projector_step("layer 1"), *projector_step("layernorm"), *projector_step("matrix 4")}};
  expect_true_gradients(build_network(spec, {1, 3, 2, 2}, AttentionForm::fused));
}

/// An encoder of images that layers look at: scales and gates of sublayers, biases of MLPs alone, a scaled table of
/// positions, several layers side by side, a gated MLP in the projector (Llama 3.2 Vision, InternViT, GLM-4.5V).
TEST(Execute, GradientsOfWhatEncodersOfImagesHaveAreTrue) {
  NetworkSpec spec = tiny_encoder_decoder();
  NetworkSpec& encoder = spec.encoders.front();
  encoder.positions = Positions::learned, encoder.max_positions = 7, encoder.position_gates = 2;
  encoder.intake_bias = encoder.mlp_bias = encoder.sublayer_scales = true;
  encoder.images = 1, encoder.hidden = 4;
  encoder.projectors = {{*projector_step("layernorm gelu"), *projector_step("beside 1"), *projector_step("gated 3"),
      *projector_step("matrix 4 bias")}};
  expect_true_gradients(build_network(spec, {1, 3, 2, 2}, AttentionForm::fused));
}

/// Half of the positions are guessed.
TEST(Execute, GradientsOfMaskedWordsAreTrue) {
  NetworkSpec spec = tiny_transformer();
  spec.causal = false;
  spec.masked_loss = spec.head_bias = true;
  spec.masked_share = 0.5;
  expect_true_gradients(build_network(spec, {1, 4, 2, 2}, AttentionForm::fused));
}

TEST(Execute, GradientsOfOneProductAreTrue) {
  NetworkWriter net{{"m", 3}, {"n", 2}, {"k", 4}, {"v", 1}};
  const int in = net.tensor("I", "mk"), w = net.tensor("W", "kn", TensorRole::weight), out = net.tensor("O", "mn");
  net.product("product", out, "mn", in, "mk", w, "kn");
  expect_true_gradients(net.finish(in, out));
}

}  // namespace
}  // namespace stepcast::dataflow
