// Layers beyond a transformer's, executed rank by rank with real numbers under random mappings: routed experts, every
// mixer, modulation and joint attention, encoders of images and sound with what takes them to the network, picked keys.
#include <gtest/gtest.h>

#include "tests/dataflow/execute.h"
#include "tests/dataflow/ledger.h"
#include "tests/dataflow/networks.h"
#include "tests/dataflow/random_mapping.h"
#include "tests/dataflow/true_gradients.h"
#include "tests/trials.h"

namespace stepcast::dataflow {
namespace {

NetworkSpec small_spec() { return even_transformer(1); }

/// Of random mappings at least so many run, the others being refused.
void expect_one_rank_result(
    const Network& network, unsigned first_seed, int tries, int at_least, const std::vector<std::string>& whole = {}) {
  const Tally tally = run_random(network, words_of(network, whole), first_seed, tries);
  EXPECT_GE(tally.ran, trials(at_least)) << tally.refused << " refused";
}

/// Every token chooses two of four experts.
NetworkSpec routed_spec() {
  NetworkSpec spec = small_spec();
  spec.experts.count = 4;
  spec.experts.top_k = 2;
  spec.experts.ffn_hidden = 8;
  return spec;
}

/// Rows of tokens in another order lie on one rank together where tokens are split along one dim: sequences, or the
/// positions of one.
TEST(RandomLayers, RoutedExperts) {
  NetworkSpec spec = routed_spec();
  spec.experts.shared_ffn_hidden = 8;
  spec.experts.shared_gate = spec.experts.router_bias = true;
  expect_true_gradients(build_network(spec, {4, 1, 2, 2}, AttentionForm::fused));
  expect_one_rank_result(build_network(spec, {16, 1, 2, 2}, AttentionForm::fused), 200'000, 400, 100, {"c"});
  expect_one_rank_result(build_network(spec, {1, 16, 2, 2}, AttentionForm::fused), 201'000, 200, 40, {"c"});
}

/// Two operators write what the residual adds: shared experts on two ranks a half each, routed ones all of it; and what
/// experts give may be a sum over ranks, which makes their gates' gradient one.
TEST(RandomLayers, NoPartOfASumIsReadForTheWhole) {
  NetworkSpec spec = routed_spec();
  spec.experts.shared_ffn_hidden = 8;
  const Network net = build_network(spec, {16, 1, 2, 2}, AttentionForm::fused);
  const GivenValues given = some_values(net, 1);
  const Executed one = execute(net, placed_of(net, "mesh one:1"), given);
  for (const char* mapping : {"mesh x:2\nat shared: par b on x", "mesh x:2\nhome Oe: partial on x"})
    EXPECT_EQ(difference(net, one, execute(net, placed_of(net, mapping), given)), "") << mapping;
}

TEST(RandomLayers, LatentAndBiasedExpertsWithNormsOfTheirOwn) {
  NetworkSpec latent = routed_spec();
  latent.activation = Activation::squared_relu;
  latent.experts.latent = 4;
  latent.experts.latent_norm = true;
  latent.experts.shared_ffn_hidden = 8;
  expect_true_gradients(build_network(latent, {4, 1, 2, 2}, AttentionForm::fused));
  expect_one_rank_result(build_network(latent, {16, 1, 2, 2}, AttentionForm::fused), 210'000, 400, 100, {"c"});
  NetworkSpec normed = routed_spec();
  normed.experts.own_norms = normed.experts.expert_bias = true;
  normed.norm_place = NormPlace::both;
  normed.experts.shared_ffn_hidden = 8;
  expect_true_gradients(build_network(normed, {4, 1, 2, 2}, AttentionForm::fused));
  expect_one_rank_result(build_network(normed, {16, 1, 2, 2}, AttentionForm::fused), 211'000, 200, 40, {"c"});
}

TEST(RandomLayers, EveryMixerThatShips) {
  const std::vector<std::pair<std::string, std::int64_t>> sizes{{"heads", 4}, {"head_dim", 2}, {"groups", 2},
      {"state", 2}, {"taps", 2}, {"chunk", 2}, {"key_heads", 2}, {"value_heads", 4}, {"key_dim", 2}, {"value_dim", 2},
      {"channels", 8}, {"rank", 2}};
  unsigned seed = 220'000;
  for (const std::string& kind : mixer_form_ids()) {
    SCOPED_TRACE(kind);
    NetworkSpec spec = small_spec();
    spec.mixer = make_mixer(kind, sizes);
    spec.pattern = {*layer_of_word(kind == "mamba2-gated" ? "M*-" : "M-")};
    expect_one_rank_result(build_network(spec, {4, 4, 2, 2}, AttentionForm::fused), seed += 1'000, 160, 30);
  }
}

/// Patches in, numbers out.
NetworkSpec diffusion_spec() {
  NetworkSpec spec = small_spec();
  spec.causal = false;
  spec.vocab = 0;
  spec.features = 4;
  spec.outputs = 4;
  spec.norm = Norm::layernorm;
  spec.linear_bias = true;
  return spec;
}

/// DiT: each layer makes its vectors.
TEST(RandomLayers, ModulatedLayers) {
  NetworkSpec spec = diffusion_spec();
  spec.modulation = {.frequencies = 4, .classes = 4, .pooled = 4};
  expect_one_rank_result(build_network(spec, {4, 4, 2, 2}, AttentionForm::fused), 230'000, 300, 60);
}

/// Wan: one product makes the vectors of all layers, which look at a text.
TEST(RandomLayers, SharedVectorsBesideAttentionOverAText) {
  NetworkSpec spec = diffusion_spec();
  spec.modulation = {.frequencies = 4, .guidance = true, .shared = true};
  spec.pattern = {*layer_of_word("*x-")};
  spec.qk_norm = spec.qk_norm_width = spec.qk_norm_rms = true;
  NetworkSpec text;
  text.hidden = 8, text.heads = text.kv_heads = text.head_dim = text.ffn_hidden = 1;
  text.features = 4, text.sequence = 4, text.intake = Intake::mlp, text.positions = Positions::none;
  text.causal = false;
  spec.encoders = {text};
  expect_one_rank_result(build_network(spec, {4, 4, 2, 2}, AttentionForm::fused), 231'000, 300, 60);
}

/// A text whose positions join the network's own.
NetworkSpec joint_spec() {
  NetworkSpec spec = diffusion_spec();
  spec.layers = 2;
  spec.qk_norm = spec.qk_norm_rms = true;
  spec.modulation = {.frequencies = 4, .pooled = 4};
  spec.shapes = {{.name = "first", .joint = true}, {.name = "last", .parallel = true}};
  spec.pattern = {*layer_of_word("*-"), *layer_of_word("*-")};
  spec.pattern.front().shape = 1, spec.pattern.back().shape = 2;
  NetworkSpec text = small_spec();
  text.layers = 0, text.vocab = 0, text.features = 4, text.sequence = 4;
  text.heads = text.kv_heads = text.head_dim = text.ffn_hidden = 1;
  text.norm = Norm::layernorm;
  text.causal = false;
  text.positions = Positions::none;
  text.joins = text.linear_bias = true;
  spec.encoders = {text};
  return spec;
}
const std::vector<std::string> joint_positions{"s", "s.own", "s.all", "sm"};

TEST(RandomLayers, JointAndParallelLayers) {
  const NetworkSpec flux = joint_spec();
  expect_one_rank_result(build_network(flux, {4, 4, 2, 2}, AttentionForm::fused), 240'000, 120, 30, joint_positions);
  NetworkSpec flux2 = joint_spec();
  flux2.linear_bias = flux2.encoders.front().linear_bias = false;
  flux2.activation = Activation::swiglu;
  flux2.modulation = {.frequencies = 4, .guidance = true, .common = true, .no_bias = true};
  expect_one_rank_result(build_network(flux2, {4, 4, 2, 2}, AttentionForm::fused), 241'000, 120, 30, joint_positions);
  NetworkSpec chroma = joint_spec();
  chroma.modulation = {.frequencies = 4, .approximator_layers = 1, .approximator_width = 4};
  expect_one_rank_result(build_network(chroma, {4, 4, 2, 2}, AttentionForm::fused), 242'000, 120, 30, joint_positions);
}

/// Lumina 2 and Z-Image: gains of norms that have weights, a layer of the network's own positions in front; a text with
/// a layer.
TEST(RandomLayers, GainsAndLayersOfOwnPositions) {
  NetworkSpec spec = joint_spec();
  spec.linear_bias = false;
  spec.intake_bias = true;
  spec.norm = Norm::rmsnorm;
  spec.norm_place = NormPlace::both;
  spec.modulation = {.frequencies = 4, .gains = true, .width = 4, .inner = 4};
  spec.shapes = {{.name = "own", .alone = true}};
  spec.pattern.front().shape = 1, spec.pattern.back().shape = 0;
  NetworkSpec& text = spec.encoders.front();
  text = small_spec();
  text.vocab = 0, text.features = 4, text.sequence = 4;
  text.norm_place = NormPlace::both;
  text.causal = false;
  text.joins = text.no_last_norm = text.intake_bias = true;
  expect_one_rank_result(build_network(spec, {4, 4, 2, 2}, AttentionForm::fused), 243'000, 120, 30, joint_positions);
}

/// SD3.5 and HunyuanVideo: own positions attend a second time, nothing is made of a text's last layer; a text whose
/// sublayers a sample gates.
TEST(RandomLayers, SecondAttentionAndGatesOfAText) {
  NetworkSpec spec = joint_spec();
  spec.shapes = {{.name = "dual", .joint = true, .second = true}, {.name = "last", .joint = true, .ends = true}};
  NetworkSpec& text = spec.encoders.front();
  text = small_spec();
  text.vocab = 0, text.features = 4, text.sequence = 4;
  text.norm = Norm::layernorm;
  text.causal = false;
  text.positions = Positions::none;
  text.joins = text.linear_bias = true;
  text.modulation = {.frequencies = 4, .pooled = 4, .gates = true};
  expect_one_rank_result(build_network(spec, {4, 4, 2, 2}, AttentionForm::fused), 244'000, 120, 30, joint_positions);
}

/// Two images of eight patches, four of which become a row in place of a word.
NetworkSpec seeing_spec() {
  NetworkSpec spec = small_spec();
  spec.sequence = 8;
  NetworkSpec encoder = small_spec();
  encoder.causal = false;
  encoder.vocab = 0, encoder.features = 4;
  encoder.sequence = 8, encoder.images = 2;
  encoder.linear_bias = true;
  encoder.norm = Norm::layernorm;
  encoder.activation = Activation::gelu;
  encoder.projectors = {{*projector_step("layernorm"), *projector_step("merge 4"),
      *projector_step("matrix 8 bias gelu"), *projector_step("matrix 8 bias")}};
  spec.encoders = {encoder};
  return spec;
}

TEST(RandomLayers, ImagesInFrontOfText) {
  expect_true_gradients(build_network(seeing_spec(), {1, 8, 2, 2}, AttentionForm::fused));
  const Network merged = build_network(seeing_spec(), {4, 8, 2, 2}, AttentionForm::fused);
  std::vector<std::string> positions;
  for (const Dim& dim : merged.dims)
    if (dim.name.starts_with("s")) positions.push_back(dim.name);
  expect_one_rank_result(merged, 250'000, 400, 50, positions);
  NetworkSpec mean = seeing_spec();
  NetworkSpec& encoder = mean.encoders.front();
  encoder.layers = 2;
  encoder.window = {2, "w", true};
  encoder.pattern = {*layer_of_word("w-"), *layer_of_word("*-")};
  encoder.sublayer_scales = true;
  encoder.projectors = {{*projector_step("mean 4"), *projector_step("rmsnorm"), *projector_step("matrix 8")},
      {*projector_step("layer 1"), *projector_step("merge 4"), *projector_step("layernorm"), *projector_step("gated 8"),
          *projector_step("matrix 8")}};
  expect_true_gradients(build_network(mean, {1, 8, 2, 2}, AttentionForm::fused));
  expect_one_rank_result(build_network(mean, {4, 8, 2, 2}, AttentionForm::fused), 251'000, 400, 50, positions);
}

/// Whisper's two convolutions in front of layers whose positions stand in the network's own.
TEST(RandomLayers, SoundInFrontOfText) {
  NetworkSpec spec = seeing_spec();
  NetworkSpec& encoder = spec.encoders.front();
  encoder.sound = true;
  encoder.intake = Intake::convolutions;
  encoder.images = 1;
  expect_true_gradients(build_network(spec, {1, 8, 2, 2}, AttentionForm::fused));
  const Network net = build_network(spec, {4, 8, 2, 2}, AttentionForm::fused);
  std::vector<std::string> positions;
  for (const Dim& dim : net.dims)
    if (dim.name.starts_with("s")) positions.push_back(dim.name);
  expect_one_rank_result(net, 255'000, 300, 50, positions);
}

std::vector<std::string> positions_of(const Network& network) {
  std::vector<std::string> positions;
  for (const Dim& dim : network.dims)
    if (dim.name.starts_with("s")) positions.push_back(dim.name);
  return positions;
}

/// Qwen3-Omni: three convolutions that halve frames and numbers, whose planes are what a matrix reads.
TEST(RandomLayers, PlanesOfSound) {
  NetworkSpec spec = seeing_spec();
  NetworkSpec& encoder = spec.encoders.front();
  encoder.sound = true;
  encoder.intake = Intake::planes;
  encoder.planes = 2, encoder.features = 8;
  encoder.images = 1;
  encoder.sequence = 4;
  encoder.projectors = {{*projector_step("layernorm"), *projector_step("matrix 8")}};
  expect_true_gradients(build_network(spec, {1, 8, 2, 2}, AttentionForm::fused));
  const Network net = build_network(spec, {4, 8, 2, 2}, AttentionForm::fused);
  expect_one_rank_result(net, 262'000, 300, 50, positions_of(net));
}

/// MiniCPM-V: learned queries attend over the patches of their image.
TEST(RandomLayers, QueriesOfImages) {
  NetworkSpec spec = seeing_spec();
  spec.encoders.front().projectors = {
      {*projector_step("layernorm"), *projector_step("matrix 12"), *projector_step("layernorm"),
          *projector_step("attend 2"), *projector_step("layernorm"), *projector_step("matrix 8")}};
  expect_true_gradients(build_network(spec, {1, 8, 2, 2}, AttentionForm::fused));
  const Network net = build_network(spec, {4, 8, 2, 2}, AttentionForm::fused);
  expect_one_rank_result(net, 264'000, 400, 30, positions_of(net));
}

/// DeepSeek-V3's module behind the last layer, which shares table and head.
TEST(RandomLayers, ModulesOfPrediction) {
  NetworkSpec spec = small_spec();
  spec.mtp_layers = 1;
  expect_true_gradients(build_network(spec, {2, 4, 2, 2}, AttentionForm::fused));
  expect_one_rank_result(build_network(spec, {4, 4, 2, 2}, AttentionForm::fused), 266'000, 300, 60);
  NetworkSpec routed = routed_spec();
  routed.mtp_layers = 1;
  expect_one_rank_result(build_network(routed, {16, 1, 2, 2}, AttentionForm::fused), 267'000, 400, 60, {"c"});
}

/// Apertus: numbers that the activation learns.
TEST(RandomLayers, LearnedActivations) {
  NetworkSpec spec = small_spec();
  spec.activation = Activation::xielu;
  spec.activation_parameters = 2;
  expect_true_gradients(build_network(spec, {2, 4, 2, 2}, AttentionForm::fused));
  expect_one_rank_result(build_network(spec, {4, 4, 2, 2}, AttentionForm::fused), 268'000, 300, 60);
}

/// ViT: the first position is learned, and sorted into classes.
TEST(RandomLayers, ClassToken) {
  NetworkSpec spec = diffusion_spec();
  spec.outputs = 0, spec.classes = 4;
  spec.class_token = true;
  spec.positions = Positions::learned;
  spec.max_positions = 4;
  expect_true_gradients(build_network(spec, {2, 4, 2, 2}, AttentionForm::fused));
  expect_one_rank_result(build_network(spec, {4, 4, 2, 2}, AttentionForm::fused), 269'000, 300, 60);
  NetworkSpec seeing = seeing_spec();
  seeing.encoders.front().sequence = 9;
  seeing.encoders.front().class_token = true;
  const Network net = build_network(seeing, {4, 8, 2, 2}, AttentionForm::fused);
  expect_one_rank_result(net, 270'000, 600, 60, positions_of(net));
}

/// MiniCPM 4.1: queries score means of keys, twice, and see the best blocks.
TEST(RandomLayers, BlocksPickedByMeansOfKeys) {
  NetworkSpec spec = small_spec();
  spec.sparse.top_k = 4;
  spec.sparse.block = 2;
  spec.sparse.pooled = 2;
  spec.sequence = 8;
  expect_true_gradients(build_network(spec, {1, 8, 2, 2}, AttentionForm::fused));
  expect_one_rank_result(
      build_network(spec, {4, 8, 2, 2}, AttentionForm::fused), 260'000, 200, 40, {"s", "t", "t.means", "t.coarse"});
}

}  // namespace
}  // namespace stepcast::dataflow
