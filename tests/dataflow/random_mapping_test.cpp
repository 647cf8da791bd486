// Random mappings of small networks, executed rank by rank with real numbers, forward, backward and update, give what
// one rank gives; illegal ones are refused, at least 600 run. Deterministic: the seed is the number of the mapping.
#include <gtest/gtest.h>

#include "tests/dataflow/execute.h"
#include "tests/dataflow/ledger.h"
#include "tests/dataflow/networks.h"
#include "tests/dataflow/random_mapping.h"
#include "tests/trials.h"

namespace stepcast::dataflow {
namespace {

NetworkSpec tiny_spec() { return even_transformer(2); }

Network fused_transformer() { return build_network(tiny_spec(), {4, 4, 2, 2}, AttentionForm::fused); }

/// Biases, dropout, GeLU, a position table, and the attention core as separate operators.
Network unfused_transformer() {
  NetworkSpec spec = tiny_spec();
  spec.activation = Activation::gelu;
  spec.positions = Positions::learned;
  spec.max_positions = 4;
  spec.linear_bias = true;
  spec.dropout = true;
  return build_network(spec, {4, 4, 2, 2}, AttentionForm::unfused);
}

/// Layers of every kind that a pattern knows, with whatever else is beyond Llama: norms before and behind, a norm over
/// all heads, gates, sinks, windows, experts' latent width left out (routes are not executed).
Network hybrid(const char* kind, std::vector<std::pair<std::string, std::int64_t>> sizes) {
  NetworkSpec spec = tiny_spec();
  spec.mixer = make_mixer(kind, std::move(sizes));
  spec.pattern = {*layer_of_word("M-"), *layer_of_word("w-")};
  spec.window.positions = 2;
  spec.norm_place = NormPlace::both;
  spec.qk_norm = spec.qk_norm_width = true;
  spec.attention_gate = spec.attention_sinks = spec.logit_softcap = true;
  return build_network(spec, {4, 4, 2, 2}, AttentionForm::fused);
}

/// An encoder whose layers see a band or all positions, the latter with sizes of their own.
Network layers_of_two_shapes() {
  NetworkSpec spec = tiny_spec();
  spec.causal = false;
  spec.norm_place = NormPlace::behind_sum;
  spec.token_types = 2;
  spec.window.positions = 2;
  spec.qk_norm = spec.value_norm = spec.layer_scale = true;
  spec.shapes = {{.name = "wide", .heads = 4, .kv_heads = 1, .head_dim = 2, .ffn_hidden = 16, .key_is_value = true}};
  spec.pattern = {*layer_of_word("w-"), *layer_of_word("*-")};
  spec.pattern.back().shape = 1;
  return build_network(spec, {4, 4, 2, 2}, AttentionForm::fused);
}

/// Layers that look at an encoder of its own width, with biases by how far keys are.
Network encoder_and_decoder(AttentionForm form) {
  NetworkSpec spec = tiny_spec();
  const bool fused = form == AttentionForm::fused;
  if (fused) spec.positions = Positions::relative, spec.distances = 2;
  NetworkSpec encoder = spec;
  encoder.causal = false;
  encoder.hidden = 16;
  encoder.kv_heads = 4;
  encoder.sequence = 8;
  encoder.vocab = 0;
  encoder.features = 4;
  spec.encoders = {encoder};
  spec.pattern = {*layer_of_word(fused ? "*x-" : "x-"), *layer_of_word("*-")};
  return build_network(spec, {4, 4, 2, 2}, form);
}

/// Gates per head, values narrower than keys, norms of heads with weights of their own, sinks in some layers.
Network layers_of_narrow_values() {
  NetworkSpec spec = tiny_spec();
  spec.qk_norm = spec.qk_norm_heads = spec.attention_gate = spec.head_gate = spec.attention_sinks = true;
  spec.value_dim = 2;
  spec.window = {2, "w", false};
  spec.shapes = {{.name = "full", .heads = 4, .kv_heads = 1, .value_dim = 4, .no_sinks = true}};
  spec.pattern = {*layer_of_word("w-"), *layer_of_word("*-")};
  spec.pattern.back().shape = 1;
  return build_network(spec, {4, 4, 2, 2}, AttentionForm::fused);
}

/// A layer whose keys and values serve for the next, both with inputs of their own.
Network layers_that_lend() {
  NetworkSpec spec = tiny_spec();
  spec.layer_inputs = {4, 8};
  spec.qk_norm = true;
  spec.shapes = {{.name = "lent"}, {.name = "borrowed", .ffn_hidden = 16, .keys_of = "lent"}};
  spec.pattern.assign(2, *layer_of_word("*-"));
  spec.pattern.front().shape = 1, spec.pattern.back().shape = 2;
  return build_network(spec, {4, 4, 2, 2}, AttentionForm::fused);
}

/// Two streams that are predicted from each other, a way beside attention, cut gates, and inputs of each layer.
Network predicted_streams() {
  NetworkSpec spec = tiny_spec();
  spec.norm_place = NormPlace::both;
  spec.layer_inputs = {4, 8};
  spec.predicted_streams = 2;
  spec.side_rank = spec.query_rank = 4;
  spec.gate_cutoff = true;
  return build_network(spec, {4, 4, 2, 2}, AttentionForm::fused);
}

/// DeepSeek V4's attention: a window beside compressed keys of two neighbours, all of them or picked ones, two streams.
Network compressed_keys(bool picks) {
  NetworkSpec spec = tiny_spec();
  spec.kv_heads = 1;
  spec.compressed = {4, 4, 2, 2, 1, 2, 2};
  if (!picks) spec.compressed.top_k = spec.compressed.index_heads = spec.compressed.index_dim = 0;
  spec.streams = 2;
  spec.shapes = {{.name = "small", .ratio = 2, .picks = picks}};
  spec.pattern = {*layer_of_word("*-"), *layer_of_word("*-")};
  spec.pattern.back().shape = 1;
  return build_network(spec, {4, 4, 2, 2}, AttentionForm::fused);
}

/// Latent attention with gates, over keys that an indexer picks one by one or over all; or blocks of keys, picked for
/// each key-value head.
Network picked_keys(bool latent, bool picks) {
  NetworkSpec spec = tiny_spec();
  if (latent) {
    spec.kv_heads = spec.heads;
    spec.latent = {4, 4, 2, 2, 4};
    spec.attention_gate = true;
  }
  if (picks) spec.sparse = {2, 2, 2, latent ? 1 : 2};
  return build_network(spec, {4, 4, 2, 2}, AttentionForm::fused);
}

/// Half of the positions are guessed (BERT).
Network masked_words() {
  NetworkSpec spec = tiny_spec();
  spec.causal = false;
  spec.masked_loss = spec.linear_bias = true;
  spec.masked_share = 0.5;
  return build_network(spec, {4, 4, 2, 2}, AttentionForm::fused);
}

/// Y = ((X W1) W2) + X W3, scaled: every operator is linear, so sums may stay Partial on the way.
Network two_layer_products() {
  NetworkWriter net{{"b", 8}, {"h", 8}, {"f", 8}, {"o", 8}, {"v", 1}};
  const int x = net.tensor("X", "bh"), a = net.tensor("A", "bf"), y = net.tensor("Y", "bo"), z = net.tensor("Z", "bo"),
            sum = net.tensor("S", "bo"), out = net.tensor("T", "bo");
  const int w1 = net.tensor("W1", "hf", TensorRole::weight), w2 = net.tensor("W2", "fo", TensorRole::weight),
            w3 = net.tensor("W3", "ho", TensorRole::weight);
  net.product("first", a, "bf", x, "bh", w1, "hf").tags = {"mlp"};
  net.product("second", y, "bo", a, "bf", w2, "fo").tags = {"mlp"};
  net.product("beside", z, "bo", x, "bh", w3, "ho").tags = {"attn"};
  net.pointwise("add", OperatorKind::linear, "add", sum, {y, z}).tags = {"residual"};
  net.pointwise("scale", OperatorKind::linear, "scale", out, {sum}).tags = {"residual"};
  return net.finish(x, out);
}

const Words transformer_words{{"b", "s", "h", "g", "g*r", "r", "f", "v", "b*s", "none"},
    {"norm", "attn", "attn.qkv", "attn.core", "attn.out", "residual", "mlp", "head", "loss", "embed"},
    {"norm1.y", "Q", "K", "V", "O", "Y1", "residual1.x", "norm2.y", "A", "Y2", "residual2.x", "norm3.y", "norm1.q",
        "loss.sum"},
    {"b", "s", "h", "g", "r", "f"}};
/// The unfused core's products may also be split by keys.
const Words unfused_words = [] {
  Words words = transformer_words;
  words.loops.insert(words.loops.end(), {"t", "t", "t"});
  words.tags.insert(
      words.tags.end(), {"attn.core.scores", "attn.core.context", "attn.core.scores", "attn.core.context"});
  words.activations.insert(words.activations.end(), {"scores", "probabilities", "attn.core.dropped"});
  return words;
}();
const Words encoder_words{transformer_words.loops, transformer_words.tags,
    {"norm1.y", "Q", "K", "V", "O", "Y1", "residual1.x", "norm2.y", "A", "Y2", "residual2.x", "norm1.q", "loss.sum"},
    transformer_words.dims};
const Words hybrid_words{{"b", "s", "h", "g", "g*r", "r", "f", "v", "b*s", "u", "u*m", "m", "none"},
    {"norm", "attn", "attn.qkv", "attn.core", "attn.out", "residual", "mlp", "head", "loss", "embed", "mixer",
        "mixer.in", "mixer.conv", "mixer.scan", "mixer.norm", "mixer.out"},
    {"norm1.y", "Q", "K", "V", "O", "Y1", "residual1.x", "norm2.y", "A", "Y2", "residual2.x", "norm3.y", "norm1.q",
        "loss.sum", "mixer.O", "mixer.Z", "O.gated"},
    {"b", "s", "h", "g", "r", "f", "u"}};
const Words crossing_words{{"b", "s", "h", "g", "g*r", "r", "f", "v", "b*s", "none"},
    {"norm", "attn", "attn.qkv", "attn.core", "attn.out", "residual", "mlp", "head", "loss", "embed"},
    {"norm1.y", "Q", "K", "V", "O", "cross.Q", "cross.K", "cross.V", "cross.O", "Y.cross", "norm.cross.y",
        "residual.cross.x", "norm2.y", "A", "Y2", "residual2.x", "norm3.y", "loss.sum"},
    {"b", "s", "h", "g", "r", "f"}};
const std::vector<std::string> plain_tags{
    "norm", "attn", "attn.qkv", "attn.core", "attn.out", "residual", "mlp", "head", "loss", "embed"};
const std::vector<std::string> plain_dims{"b", "s", "h", "g", "r", "f"};
const Words narrow_words{transformer_words.loops, plain_tags,
    {"norm1.y", "Q", "K", "V", "O", "O.gated", "Y1", "residual1.x", "norm2.y", "A", "Y2", "norm3.y", "loss.sum"},
    plain_dims};
const Words lending_words{{"b", "s", "h", "g", "g*r", "r", "f", "v", "iw", "b*s", "none"},
    {"norm", "attn", "attn.qkv", "attn.core", "attn.out", "residual", "mlp", "head", "loss", "embed", "input"},
    {"norm1.y", "Q", "K", "V", "O", "Y1", "residual1.x", "norm2.y", "A", "Y2", "input.made", "input.A", "Y.input",
        "norm3.y", "loss.sum"},
    plain_dims};
const Words predicted_words{{"b", "s", "h", "g", "g*r", "r", "f", "v", "iw", "sr", "b*s", "none"},
    {"norm", "attn", "attn.qkv", "attn.core", "attn.out", "residual", "mlp", "head", "loss", "embed", "input", "side",
        "streams"},
    {"norm1.y", "Q", "K", "V", "O", "Y1", "residual1.x", "norm2.y", "A", "Y2", "Y.side", "side.low", "predict.x",
        "predict.said", "correct.news", "correct.x", "mlp.gate.cut", "Y.input", "norm3.y", "loss.sum"},
    plain_dims};
/// Rows that stand for several positions lie on one rank together only where positions are split once: they stay whole.
const std::vector<std::string> rowless_loops{"b", "h", "g", "g*r", "r", "f", "v", "none"}, rowless_dims{"b", "h"};
const Words picked_words{
    rowless_loops, plain_tags, {"norm1.y", "O", "Y1", "norm2.y", "A", "Y2", "norm3.y"}, rowless_dims};
const Words compressed_words{
    rowless_loops, plain_tags, {"norm1.y", "K", "O", "O.low", "Y1", "norm2.y", "A", "Y2"}, rowless_dims};
const Words masked_words_of{rowless_loops, plain_tags,
    {"norm1.y", "O", "Y1", "residual1.x", "norm2.y", "A", "Y2", "residual2.x", "masked.A"}, rowless_dims};
const Words product_words{{"b", "h", "f", "o", "b*h", "none"}, {"mlp", "attn", "residual"}, {"A", "Y", "Z", "S", "T"},
    {"b", "h", "f", "o"}, 3};

TEST(RandomMapping, FusedTransformer) {
  const Tally tally = run_random(fused_transformer(), transformer_words, 1000, 400);
  EXPECT_GE(tally.ran, trials(200));
  EXPECT_GE(tally.counted_moves, trials(5'000));
}

TEST(RandomMapping, UnfusedTransformerWithBiasesAndDropout) {
  const Tally tally = run_random(unfused_transformer(), unfused_words, 5000, 400);
  EXPECT_GE(tally.ran, trials(150));
  EXPECT_GE(tally.counted_moves, trials(5'000));
}

TEST(RandomMapping, MambaTwoBesideWindows) {
  const Network net =
      hybrid("mamba2", {{"heads", 4}, {"head_dim", 2}, {"groups", 2}, {"state", 2}, {"taps", 2}, {"chunk", 2}});
  const Tally tally = run_random(net, hybrid_words, 20'000, 500);
  EXPECT_GE(tally.ran, trials(150));
  EXPECT_GE(tally.counted_moves, trials(3'000));
}

TEST(RandomMapping, LayersOfTwoShapes) {
  const Tally tally = run_random(layers_of_two_shapes(), encoder_words, 40'000, 500);
  EXPECT_GE(tally.ran, trials(150));
  EXPECT_GE(tally.counted_moves, trials(3'000));
}

TEST(RandomMapping, StreamsPredictedFromEachOther) {
  const Tally tally = run_random(predicted_streams(), predicted_words, 45'000, 500);
  EXPECT_GE(tally.ran, trials(150));
  EXPECT_GE(tally.counted_moves, trials(3'000));
}

TEST(RandomMapping, GatedDeltaBesideWindows) {
  const Network net = hybrid("gated-delta",
      {{"key_heads", 2}, {"value_heads", 4}, {"key_dim", 2}, {"value_dim", 2}, {"taps", 2}, {"chunk", 2}});
  const Tally tally = run_random(net, hybrid_words, 30'000, 500);
  EXPECT_GE(tally.ran, trials(150));
  EXPECT_GE(tally.counted_moves, trials(3'000));
}

TEST(RandomMapping, NarrowValuesAndGatesPerHead) {
  const Tally tally = run_random(layers_of_narrow_values(), narrow_words, 80'000, 200);
  EXPECT_GE(tally.ran, trials(60));
}

TEST(RandomMapping, LentKeysAndInputsOfLayers) {
  const Tally tally = run_random(layers_that_lend(), lending_words, 130'000, 400);
  EXPECT_GE(tally.ran, trials(100));
  EXPECT_GE(tally.counted_moves, trials(2'000));
}

TEST(RandomMapping, LatentAndPickedKeys) {
  int ran = 0;
  unsigned seed = 90'000;
  for (const bool latent : {true, false})
    for (const bool picks : {true, false})
      if (latent || picks) ran += run_random(picked_keys(latent, picks), picked_words, seed += 1'000, 100).ran;
  EXPECT_GE(ran, trials(100));
}

TEST(RandomMapping, CompressedKeysAndStreams) {
  const Tally all = run_random(compressed_keys(false), compressed_words, 100'000, 100),
              picked = run_random(compressed_keys(true), compressed_words, 110'000, 100);
  EXPECT_GE(all.ran + picked.ran, trials(60));
}

/// Queries on four ranks, or two ranks of them and two of heads: what compresses keys makes those of its own positions.
TEST(RandomMapping, PositionsOfCompressedAndMaskedRowsAreSplit) {
  for (const Network& net : {compressed_keys(false), masked_words()}) {
    const GivenValues given = some_values(net, 1);
    const Executed one = execute(net, placed_of(net, "mesh one:1"), given);
    for (const char* mapping : {"mesh x:2\npar s on x", "mesh x:2 y:2\npar s on x\npar g*r on y\npar f on y"}) {
      const Executed ranks = execute(net, placed_of(net, mapping), given);
      EXPECT_EQ(ranks.error, "") << mapping;
      EXPECT_EQ(difference(net, one, ranks), "") << mapping;
    }
  }
}

TEST(RandomMapping, MaskedWords) {
  EXPECT_GE(run_random(masked_words(), masked_words_of, 120'000, 100).ran, trials(40));
}

TEST(RandomMapping, TwoLayerProducts) {
  const Tally tally = run_random(two_layer_products(), product_words, 9000, 400);
  EXPECT_GE(tally.ran, trials(250));
  EXPECT_GE(tally.counted_moves, trials(2'000));
}

TEST(RandomMapping, AttentionOverAnEncoder) {
  const Tally fused = run_random(encoder_and_decoder(AttentionForm::fused), crossing_words, 60'000, 400);
  EXPECT_GE(fused.ran, trials(100));
  EXPECT_GE(fused.counted_moves, trials(2'000));
  const Tally unfused = run_random(encoder_and_decoder(AttentionForm::unfused), crossing_words, 70'000, 200);
  EXPECT_GE(unfused.ran, trials(40));
}

}  // namespace
}  // namespace stepcast::dataflow
