// Encoders of images in front of text: what operators do against the closed counts, what is trained, and what a file of
// one's own may not say.
#include <gtest/gtest.h>

#include "model/catalog.h"

namespace stepcast::images_test {
namespace {

double operator_flops(const NetworkSpec& n) {
  const Network net = build_network(n, {1, n.sequence, 2, 2}, AttentionForm::fused);
  EXPECT_TRUE(check_graph(net)) << n.id;
  double total = 0;
  for (const Block& block : net.blocks)
    for (const Operator& op : block.operators)
      total += static_cast<double>(block.repeat) * forward_flops(op, net.dims, true);
  return total;
}

std::int64_t weights_of(const NetworkSpec& n) {
  const Network net = build_network(n, {1, n.sequence, 2, 2}, AttentionForm::fused);
  double total = 0;
  std::vector<char> seen(net.tensors.size(), 0);
  for (const Block& block : net.blocks)
    for (const Operator& op : block.operators)
      for (const Access& input : op.inputs) {
        if (net.tensors[input.tensor].role != TensorRole::weight || seen[input.tensor] != 0) continue;
        seen[input.tensor] = 1;
        total += static_cast<double>(block.repeat) * net.elements(input.tensor);
      }
  return static_cast<std::int64_t>(total);
}

TEST(Images, OperatorsDoWhatTheFormulasCount) {
  for (const char* id : {"gemma3-4b", "qwen2.5-vl-7b", "qwen3.5-27b", "llama3.2-11b-vision"}) {
    NetworkSpec n = **find_row(built_in().networks, id, "network");
    n.sequence = 4096, n.mtp_layers = 0, n.mtp_pattern.clear();
    NetworkSpec& encoder = n.encoders.front();
    if (encoder.sequence == 0) encoder.sequence = 1024;
    encoder.images = 3;
    const double counted = model_flops(n, 4096, 4096, true) / 3;
    EXPECT_NEAR(operator_flops(n) / counted, 1, 1e-3) << id;
    EXPECT_EQ(weights_of(n), parameter_count(n)) << id;
  }
}

/// 3 images of 8 patches of 6 numbers, 4 wide in one layer of 2 heads; 4 patches side by side become one row of the
/// text's 16.
NetworkSpec by_hand() {
  NetworkSpec n;
  n.id = "seeing", n.layers = 1, n.hidden = 16, n.ffn_hidden = 32, n.heads = n.kv_heads = 2, n.head_dim = 4;
  n.vocab = 10, n.sequence = 32, n.positions = Positions::none;
  NetworkSpec encoder;
  encoder.layers = 1, encoder.hidden = 4, encoder.ffn_hidden = 8, encoder.heads = encoder.kv_heads = 2;
  encoder.head_dim = 2, encoder.features = 6, encoder.sequence = 8, encoder.causal = false, encoder.images = 3;
  encoder.activation = Activation::gelu, encoder.positions = Positions::none;
  encoder.projectors = {{*projector_step("merge 4"), *projector_step("matrix 16 bias")}};
  n.encoders = {encoder};
  return n;
}

/// Elements of weights that are trained where projections have adapters of rank 2, those of a repeated layer once.
double adapted_elements(const NetworkSpec& n, const char* projections = "all") {
  BatchShape batch{1, n.sequence, 2, 2};
  batch.lora_rank = 2;
  batch.adapted = *AdaptedProjections::parse(projections, "--lora-on");
  const Network net = build_network(n, batch, AttentionForm::fused);
  EXPECT_TRUE(check_graph(net)) << n.id;
  double total = 0;
  for (std::size_t i = 0; i < net.tensors.size(); ++i)
    if (net.tensors[i].role == TensorRole::weight && !net.tensors[i].frozen) total += net.elements(static_cast<int>(i));
  return total;
}

/// Rank x (in + out) of each projection. Text: q, k, v, out 16 + 8, gate, up, down 16 + 32. Encoder: q, k, v, out 4 +
/// 4, up and down 4 + 8. What leads from one to the other, 16 + 16, is named by all alone.
TEST(Images, AdaptersStandOnTextAndOnAnEncoderThatIsNotFrozen) {
  NetworkSpec n = by_hand();
  const double text = 2 * (4 * 24 + 3 * 48), encoder = 2 * (4 * 8 + 2 * 12);
  const double projector = 2 * (16 + 16);
  EXPECT_EQ(adapted_elements(n), text + encoder + projector);
  EXPECT_EQ(adapted_elements(n, "q,v"), 2 * (2 * 24) + 2 * (2 * 8));
  EXPECT_EQ(adapted_elements(n, "down"), 2 * 48 + 2 * 12);
  n.encoders.front().frozen = true;
  EXPECT_EQ(adapted_elements(n), text + projector);
  n.encoders.front().frozen_projectors = true;
  EXPECT_EQ(adapted_elements(n), text);
  EXPECT_EQ(adapted_elements(n, "q,v"), 2 * (2 * 24));
}

/// Qwen2.5-VL 7B with its encoder and projector frozen, as LLaMA-Factory has it: q and out 3584 + 3584, k and v 3584 +
/// 512, gate, up and down 3584 + 18944.
TEST(Images, AdaptersOfAKnownNetworkAreThoseOfItsText) {
  NetworkSpec n = **find_row(built_in().networks, "qwen2.5-vl-7b", "network");
  n.sequence = 4096;
  NetworkSpec& encoder = n.encoders.front();
  encoder.sequence = 1024, encoder.images = 1;
  encoder.frozen = encoder.frozen_projectors = true;
  EXPECT_EQ(adapted_elements(n), 2.0 * (2 * 7168 + 2 * 4096 + 3 * 22528));
  // Four patches of 1280 side by side, by a matrix as wide as they, and one to the text's width.
  encoder.frozen_projectors = false;
  EXPECT_EQ(adapted_elements(n), 2.0 * (2 * 7168 + 2 * 4096 + 3 * 22528 + 2 * 5120 + 5120 + 3584));
  encoder.frozen = false;
  EXPECT_GT(adapted_elements(n), 2.0 * (2 * 7168 + 2 * 4096 + 3 * 22528 + 2 * 5120 + 5120 + 3584));
}

TEST(Images, EachSeesItselfAlone) {
  const NetworkSpec n = by_hand();
  NetworkSpec text = n;
  text.encoders.clear();
  const double patches = 3 * 8, rows = 3 * 2;
  const double seen = 2 * patches * (6 * 4 + 4 * 16 + 2 * 4 * 8) + 4 * patches * 8 * 4, placed = 2 * rows * 16 * 16;
  const auto flops = [](const NetworkSpec& spec) { return model_flops(spec, 32, 32, false); };
  EXPECT_DOUBLE_EQ(flops(n) - flops(text), 3 * (seen + placed));
  EXPECT_EQ(parameter_count(n) - parameter_count(text), (6 * 4) + (4 * 16 + 2 * 4 * 8 + 2 * 4) + (16 * 16 + 16));
  EXPECT_EQ(image_positions(n), 6);
  EXPECT_DOUBLE_EQ(operator_flops(n) - operator_flops(text), seen + placed);

  NetworkSpec frozen = n;
  frozen.encoders.front().frozen = true;
  EXPECT_DOUBLE_EQ(flops(frozen) - flops(text), seen + 3 * placed) << "forward of the patches, all of the projector";
  frozen.frozen = true;
  // of text that passes gradients back the core of attention, 32 x 32 points of 2 heads of 4, has all three passes
  const double core = 4.0 * 32 * 32 * 2 * 4, language = (flops(text) - 3 * core) * 2 / 3 + 3 * core;
  EXPECT_DOUBLE_EQ(flops(frozen), language + seen + 3 * placed);
  frozen.encoders.front().frozen = false, frozen.encoders.front().frozen_projectors = true;
  EXPECT_DOUBLE_EQ(flops(frozen), language + 3 * seen + 2 * placed);
}

/// Clips of sound in place of images: 16 frames each, of which a convolution of three taps makes as many rows and a
/// second one half of them.
TEST(Images, ClipsOfSoundGoThroughTwoConvolutions) {
  NetworkSpec n = by_hand(), text = n;
  text.encoders.clear();
  n.encoders.front().sound = true, n.encoders.front().intake = Intake::convolutions;
  const double positions = 3 * 8, rows = 3 * 2;
  const double heard = 2 * positions * (2 * 3 * 6 * 4 + 3 * 4 * 4 + 4 * 16 + 2 * 4 * 8) + 4 * positions * 8 * 4,
               placed = 2 * rows * 16 * 16;
  EXPECT_DOUBLE_EQ(model_flops(n, 32, 32, false) - model_flops(text, 32, 32, false), 3 * (heard + placed));
  EXPECT_EQ(parameter_count(n) - parameter_count(text),
      (3 * 6 * 4 + 4 + 3 * 4 * 4 + 4) + (4 * 16 + 2 * 4 * 8 + 2 * 4) + (16 * 16 + 16));
  EXPECT_DOUBLE_EQ(operator_flops(n) - operator_flops(text), heard + placed);
  EXPECT_EQ(image_positions(n), 6);
}

/// An encoder as wide as the text has a matrix like any other: 16 x 16 for each of 24 rows.
TEST(Images, AnEncoderMayBeAsWideAsTheText) {
  NetworkSpec n = by_hand();
  NetworkSpec& encoder = n.encoders.front();
  encoder.hidden = 16, encoder.head_dim = 8;
  encoder.projectors = {{*projector_step("matrix 16")}};
  const double counted = model_flops(n, 32, 32, false) / 3, without = [&] {
    NetworkSpec text = n;
    text.encoders.clear();
    return model_flops(text, 32, 32, false) / 3 - operator_flops(text);
  }();
  EXPECT_DOUBLE_EQ(operator_flops(n), counted - without);
  EXPECT_EQ(weights_of(n), parameter_count(n));
}

/// The 24 patches, 16 wide, are what the layer's 2 heads of 4 look at: four matrices of 16 x 8, two of them over the
/// text's 32 positions and two over the patches.
TEST(Images, LayersLookAtWhatAProjectorGives) {
  NetworkSpec n = by_hand();
  n.encoders.front().projectors = {{*projector_step("matrix 16")}};
  NetworkSpec alone = n;
  n.pattern = {*layer_of_word("*x-")};
  const double patches = 3 * 8, stream = 32;
  const double crossing = 2 * (stream + patches) * 2 * 16 * 8 + 4 * stream * patches * 8;
  const auto flops = [](const NetworkSpec& spec) { return model_flops(spec, 32, 32, false); };
  EXPECT_DOUBLE_EQ(flops(n) - flops(alone), 3 * crossing);
  EXPECT_EQ(parameter_count(n) - parameter_count(alone), 4 * 16 * 8 + 16) << "and a norm";
  EXPECT_EQ(image_positions(n), 0) << "no word gives way";
  EXPECT_TRUE(looks_at_encoder(n) && reads_beside_stream(n));
  n.encoders.front().frozen = true;
  const double half_frozen = flops(n);
  n.encoders.front().frozen_projectors = true;
  EXPECT_DOUBLE_EQ(half_frozen - flops(n), 2 * 2 * patches * 2 * 16 * 8 / 2 + 2 * 2 * patches * 4 * 16)
      << "no gradients of what keys and values were made of, and two of three passes of the projector";
}

/// 24 patches in windows of 4, in tiles and not around each of them.
TEST(Images, WindowsOfImagesAreTiles) {
  EXPECT_EQ(mean_keys(Domain::tile, 4, 24), 4);
  EXPECT_EQ(mean_keys(Domain::tile, 32, 24), 24);
  NetworkSpec n = by_hand();
  n.encoders.front().window = {4, "w", true};
  const Network net = build_network(n, {1, 32, 2, 2}, AttentionForm::fused);
  for (const Block& block : net.blocks)
    for (const Operator& op : block.operators) {
      if (op.kind != OperatorKind::attention || block.place != Block::Place::first) continue;
      EXPECT_TRUE(op.domain == Domain::tile && op.reach == 4);
    }
}

TEST(Images, StepsAreWords) {
  for (const char* word : {"layernorm", "rmsnorm", "merge 4", "mean 16", "matrix 16", "matrix 16 bias",
           "matrix 16 gelu", "matrix 16 bias gelu", "layernorm gelu", "layer 9", "beside 30", "gated 4096"}) {
    ASSERT_TRUE(projector_step(word)) << word;
    EXPECT_EQ(projector_word(*projector_step(word)), word);
  }
  for (const char* word : {"", "norm", "merge", "merge 0", "merge 4 bias gelu bias", "matrix 16 gelu bias", "matrix x",
           "mean 2.5", "matrix -4", "layernorm 4", "merge 4 gelu", "gated 8 bias", "layers"})
    EXPECT_FALSE(projector_step(word)) << word;
}

std::string error_of(const std::string& more, const std::string& beside = "") {
  const auto read = read_network(
      R"({"id": "own", "name": "own", "source": "test", "layers": 2, "hidden": 64,
    "ffn_hidden": 128, "heads": 4, "vocab": 100, "sequence": 32, "norm": "rmsnorm", "activation": "gelu",
    "positions": "rope", )" +
          beside + R"("encoder": {"layers": 2, "hidden": 8, "ffn_hidden": 16, "heads": 2, "norm": "rmsnorm",
    "activation": "gelu", "positions": "none", )" +
          more + "}}",
      "own.json");
  return read ? "" : to_text(read.error());
}

TEST(Images, AFileOfOnesOwnSaysWhatIsWrong) {
  const auto says = [](const std::string& more, const std::string& part, const std::string& beside = "") {
    const std::string error = error_of(more, beside);
    EXPECT_NE(error.find(part), std::string::npos) << part << ": " << error;
  };
  EXPECT_EQ(error_of(R"("features": 12, "projectors": ["merge 4, matrix 64"])"), "");
  says(R"("features": 12, "projectors": ["merge 4; matrix 64"])", "is no step of a projector");
  says(R"("features": 12, "projectors": ["merge 4, matrix 32"])", "matrix 64");
  says(R"("features": 12, "projectors": [""])", "is no step");
  says(R"("features": 12, "projectors": ["matrix 64", "merge 4, matrix 64"])", "different numbers of rows");
  says(R"("features": 12, "sequence": 10, "projectors": ["merge 4, matrix 64"])", "no multiple");
  says(R"("features": 12, "sequence": 10, "sound": true, "projectors": ["merge 4, matrix 64"])", "of a clip");
  says(R"("features": 12, "projectors": ["layer 1, matrix 64"])", "projectors read what the first 1 give");
  EXPECT_EQ(error_of(R"("features": 12, "projectors": ["layer 1, matrix 64", "matrix 64"])"), "");
  says(R"("features": 12, "images": 2)", "no layer looks at the encoder");
  says(R"("vocab": 12, "projectors": ["matrix 64"])", "reads patches");
  says(R"("features": 12, "projectors": ["merge 4, matrix 64"])", "in one stream", R"("streams": 4, )");
}

}  // namespace
}  // namespace stepcast::images_test
