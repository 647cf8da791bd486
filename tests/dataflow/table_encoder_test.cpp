// Attention over an encoder under tensor, sequence and context parallelism, to the byte.
//
// Decoder: one sequence of s 512 positions, h 1024, 16 heads of 64. Encoder: m 1024 positions, 768 wide. Every element
// has two bytes. q is h x h of the stream, k and v are 768 x h each of what the encoder made.
#include <gtest/gtest.h>

#include "tests/dataflow/ledger.h"

namespace stepcast::dataflow::table_encoder_test {
namespace {

constexpr double s = 512, m = 1024, h = 1024, e = 768, heads = 16, bytes = 2;
constexpr double stream = bytes * s * h, memory = bytes * m * e, keys = bytes * m * h;

NetworkSpec spec() {
  NetworkSpec spec;
  spec.id = "crossing";
  spec.layers = 2;
  spec.hidden = 1024;
  spec.ffn_hidden = 4096;
  spec.heads = spec.kv_heads = 16;
  spec.head_dim = 64;
  spec.vocab = 32'000;
  spec.sequence = 512;
  spec.positions = Positions::none;
  NetworkSpec encoder = spec;
  encoder.hidden = 768;
  encoder.sequence = 1024;
  encoder.vocab = 0;
  encoder.features = 128;
  encoder.causal = false;
  spec.encoders = {encoder};
  spec.pattern = {*layer_of_word("x")};
  return spec;
}
Network crossing() { return build_network(spec(), {1, 512, 2, 2}, AttentionForm::fused); }

MovedBytes moved(const std::string& mapping) {
  const Network net = crossing();
  return moved_bytes(net, placed_of(net, mapping), "cross");
}

TEST(TableEncoder, NothingMovesOnOneRank) { EXPECT_TRUE(moved("mesh one:1").empty()); }

TEST(TableEncoder, TensorParallelismSumsWhatTheStreamAndTheEncoderGet) {
  // Each rank's heads give a part of Y; its q, k and v give a part of the gradients of X and of the encoder's output.
  for (const double tp : {2.0, 8.0}) {
    const MovedBytes rows = moved("mesh tp:" + std::to_string(static_cast<int>(tp)) + "\nuse tp");
    const double twice = 2 * (tp - 1) / tp;
    EXPECT_EQ(rows.at("forward all_reduce"), twice * stream);
    EXPECT_EQ(rows.at("backward all_reduce"), twice * (stream + memory));
    EXPECT_EQ(rows.size(), 2U);
  }
}

TEST(TableEncoder, SequenceParallelismGathersBothSequences) {
  const MovedBytes rows = moved("mesh tp:8\nuse tp, sp");
  const double part = 7.0 / 8;
  EXPECT_EQ(rows.at("forward all_gather"), part * (stream + memory)) << "what q reads, and what k and v read";
  EXPECT_EQ(rows.at("forward reduce_scatter"), part * stream);
  EXPECT_EQ(rows.at("backward all_gather"), part * stream) << "dY";
  EXPECT_EQ(rows.at("backward all_gather again"), part * (stream + memory)) << "for the weights of q, and of k and v";
  EXPECT_EQ(rows.at("backward reduce_scatter"), part * (stream + memory));
}

TEST(TableEncoder, ContextParallelismGathersKeysAndValues) {
  for (const char* cp : {"\nuse cp", "\nuse cp_gather"}) {
    const MovedBytes rows = moved(std::string("mesh cp:4") + cp);
    EXPECT_EQ(rows.at("forward all_gather"), 3.0 / 4 * 2 * keys) << "every query sees all of the encoder's positions";
    EXPECT_EQ(rows.at("backward all_gather again"), 3.0 / 4 * 2 * keys);
    EXPECT_EQ(rows.at("backward reduce_scatter"), 3.0 / 4 * 2 * keys) << "dK and dV";
    EXPECT_EQ(rows.count("forward all_reduce"), 0U);
  }
}

TEST(TableEncoder, HeadsExchangeUnderUlysses) {
  // Q and O change places once each, K and V go to their heads.
  const MovedBytes rows = moved("mesh cp:4\nuse ulysses");
  const double part = 3.0 / 4 / 4;
  EXPECT_EQ(rows.at("forward all_to_all"), part * (2 * stream + 2 * keys));
  EXPECT_EQ(rows.at("backward all_to_all"), part * (2 * stream + 2 * keys));
}

TEST(TableEncoder, LayersKeepTheirOwnTensorsAndNotTheEncoders) {
  const auto saved = [](const std::string& mapping) {
    const Network net = crossing();
    return saved_bytes(net, placed_of(net, mapping), "cross");
  };
  for (const auto& [mapping, tp, sp] :
      {std::tuple{"mesh tp:1", 1.0, 1.0}, {"mesh tp:8\nuse tp", 8.0, 1.0}, {"mesh tp:8\nuse tp, sp", 8.0, 8.0}}) {
    auto kept = saved(mapping);
    EXPECT_EQ(kept["X"] + kept["norm.cross.y"], 2 * stream / sp) << mapping;
    EXPECT_EQ(kept["cross.Q"] + kept["cross.O"], 2 * stream / tp) << mapping;
    EXPECT_EQ(kept["cross.K"] + kept["cross.V"], 2 * keys / tp) << mapping;
    EXPECT_EQ(kept["cross.core side"], 4 * s * heads / tp) << "the log of each row's sum, in fp32";
    EXPECT_EQ(kept.count("memory"), 0U) << "all layers read one";
  }
}

/// Two kinds of positions, 512 and 1024, in one sequence of a width of h: each has weights of its own.
Network joint(bool second = false) {
  NetworkSpec n = spec();
  n.vocab = 0, n.features = 64, n.outputs = 64;
  n.causal = false, n.linear_bias = true;
  n.modulation.frequencies = 16;
  n.shapes = {{.name = "double", .joint = true, .second = second}};
  n.pattern = {*layer_of_word("*-")};
  n.pattern.front().shape = 1;
  NetworkSpec& text = n.encoders.front();
  text.layers = 0, text.hidden = 1024, text.joins = text.linear_bias = true;
  return build_network(n, {1, 512, 2, 2}, AttentionForm::fused);
}

TEST(TableEncoder, PositionsOfTwoKindsMoveAsTwoLayersWould) {
  const Network net = joint();
  const double both = bytes * (s + m) * h;
  const MovedBytes plain = moved_bytes(net, placed_of(net, "mesh tp:8\nuse tp"), "layer_double");
  EXPECT_EQ(plain.at("forward all_reduce"), 2 * 7.0 / 8 * 2 * both) << "behind attention and behind the MLP";
  EXPECT_EQ(plain.count("forward all_gather"), 0U) << "parts of a sequence lie where they lie";
  const MovedBytes split = moved_bytes(net, placed_of(net, "mesh tp:8\nuse tp, sp"), "layer_double");
  EXPECT_EQ(split.at("forward all_gather"), 7.0 / 8 * 2 * both);
  EXPECT_EQ(split.at("forward reduce_scatter"), 7.0 / 8 * 2 * both);
  const MovedBytes ring = moved_bytes(net, placed_of(net, "mesh cp:4\nuse cp_gather"), "layer_double");
  EXPECT_EQ(ring.at("forward all_gather"), 3.0 / 4 * 2 * both) << "K and V of both";
  EXPECT_EQ(ring.count("forward all_to_all"), 0U);
}

/// A second attention of the network's own 512 positions: its sums move as the first one's do, its keys and values are
/// those of 512 positions.
TEST(TableEncoder, ASecondAttentionMovesItsOwnPositions) {
  const Network once = joint(), twice = joint(true);
  const auto more = [&](const std::string& mapping, const char* move) {
    return moved_bytes(twice, placed_of(twice, mapping), "layer_double").at(move) -
           moved_bytes(once, placed_of(once, mapping), "layer_double").at(move);
  };
  const double own = bytes * 512 * h;
  EXPECT_EQ(more("mesh tp:8\nuse tp", "forward all_reduce"), 2 * 7.0 / 8 * own);
  EXPECT_EQ(more("mesh tp:8\nuse tp, sp", "forward reduce_scatter"), 7.0 / 8 * own);
  EXPECT_EQ(more("mesh tp:8\nuse tp, sp", "forward all_gather"), 7.0 / 8 * own);
  EXPECT_EQ(more("mesh cp:4\nuse cp_gather", "forward all_gather"), 3.0 / 4 * 2 * own) << "K and V";
}

/// 4 images of 256 patches, 256 wide; 4 patches become one row, by a matrix to 2048 and one to h: 256 rows among the
/// 512 of the text.
MovedBytes moved_images(const std::string& mapping, const char* block, bool frozen = false) {
  NetworkSpec n = spec();
  n.pattern.clear();
  NetworkSpec& images = n.encoders.front();
  images.layers = 2, images.hidden = 256, images.ffn_hidden = 1024, images.heads = images.kv_heads = 8;
  images.head_dim = 32, images.features = 48, images.sequence = 256, images.images = 4, images.frozen = frozen;
  images.projectors = {
      {*projector_step("merge 4"), *projector_step("matrix 2048 gelu"), *projector_step("matrix 1024 bias")}};
  const Network net = build_network(n, {1, 512, 2, 2}, AttentionForm::fused);
  return moved_bytes(net, placed_of(net, mapping), block);
}

TEST(TableEncoder, ImagesAreProjectedAsAnMlpIsSplit) {
  constexpr double rows = 256, patches = 1024, wide = 1024, made = bytes * rows * h, read = bytes * rows * wide;
  const MovedBytes tp = moved_images("mesh tp:8\nuse tp", "encoder_projector");
  EXPECT_EQ(tp.at("forward all_reduce"), 2 * 7.0 / 8 * made) << "each rank has a part of 2048";
  EXPECT_EQ(tp.at("backward all_reduce"), 2 * 7.0 / 8 * read);
  EXPECT_EQ(tp.size(), 2U);
  const MovedBytes frozen = moved_images("mesh tp:8\nuse tp", "encoder_projector", true);
  EXPECT_EQ(frozen.count("backward all_reduce"), 0U) << "nothing goes back to the patches";
  const MovedBytes sp = moved_images("mesh tp:8\nuse tp, sp", "encoder_projector");
  EXPECT_EQ(sp.at("forward all_gather"), 7.0 / 8 * read);
  EXPECT_EQ(sp.at("forward reduce_scatter"), 7.0 / 8 * made);
  const MovedBytes layers = moved_images("mesh tp:8\nuse tp", "encoder_layer");
  EXPECT_EQ(layers.at("forward all_reduce"), 2 * 7.0 / 8 * 2 * bytes * patches * 256);
  const MovedBytes cp = moved_images("mesh cp:4\nuse cp_gather", "encoder_projector");
  EXPECT_EQ(cp.count("last use all_reduce"), cp.size()) << "rows lie where the words are in whose place they stand";
}

}  // namespace
}  // namespace stepcast::dataflow::table_encoder_test
