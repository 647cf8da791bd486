#include "model/network/hf/vision_encoders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/network/hf/config.h"
#include "tests/model/network/hf/config_texts.h"

namespace stepcast {
namespace {

using hf_texts::config_error;
using hf_texts::config_with;

/// Layers over what a tower makes of tiles of 28 x 28 pixels.
const std::string seeing_llama = R"({"architectures": ["MllamaForConditionalGeneration"], "text_config": {
    "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 96, "vocab_size": 100, "max_position_embeddings": 512, "cross_attention_layers": [1, 3],
    "tie_word_embeddings": false}, "vision_config": {"vision_output_dim": 16, "image_size": 28, "patch_size": 14,
    "max_num_tiles": 2, "hidden_size": 8, "intermediate_size": 24, "num_hidden_layers": 2, "num_global_layers": 1,
    "attention_heads": 2, "intermediate_layers_indices": [0]}})";

/// Llama 3.2 Vision: layers over what a tower makes of an image's tiles, of which it has tables of positions.
TEST(HfImages, ReadsLayersOverFeaturesOfImages) {
  const auto read = read_hf_config(seeing_llama, "config.json");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_TRUE(read->left_out.empty());
  EXPECT_EQ(read->network.encoders.front().sequence, 2 * 8) << "a class and 4 patches of each tile, padded to 8";
  // Attention and MLP of each layer; two layers with norms of heads of 16 and two gates; 8 words more.
  const std::int64_t text = 4 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96 + 2 * 64) + 2 * (2 * 16 + 2) + 208 * 64 + 64;
  // Patches; a class; 5 positions, alone and in 4 arrangements of 2 tiles, and twice the tiles; 3 layers, one gated.
  const std::int64_t tower =
      588 * 8 + 8 + 5 * 8 * (1 + 4 * 2) + 2 * 4 * 2 * 8 + 3 + 3 * (4 * 8 * 8 + 2 * 8 * 24 + 24 + 8 + 2 * 16) + 2 + 16;
  EXPECT_EQ(parameter_count(read->network), text + tower + 16 + 2 * 8 * 64 + 64);
  EXPECT_EQ(layer_word(read->network, read->network.pattern.at(1)), "x-:image");
  EXPECT_THAT(config_error(R"({"architectures": ["MllamaForConditionalGeneration"], "text_config": {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 100,
    "max_position_embeddings": 512, "cross_attention_layers": [1]}, "vision_config": {"max_num_tiles": 2}})"),
      testing::HasSubstr("vision_config/hidden_size"));
}

/// Layers that look at an encoder cannot do without it, so that a key that its reader does not know is an error.
TEST(HfImages, NamesKeysOfAnEncoderThatLayersLookAt) {
  EXPECT_EQ(config_error(config_with(seeing_llama, "\"max_num_tiles\": 2", "\"max_num_tiles\": 2, \"foo\": 1")),
      "config.json:/vision_config: llama-vision does not know these keys, which may change layers: foo 1 (leave out "
      "those that change no layer; other layers go into a file of stepcast's own form: stepcast show network llama3-8b "
      "prints one)");
}

/// Counts go layer by layer, and a layer's features are read once.
TEST(HfImages, BoundsLayersBeforeItCountsThem) {
  EXPECT_THAT(config_error(config_with(seeing_llama, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 90000000")),
      testing::HasSubstr("config.json:/vision_config: 90000000 layers (up to 10000)"));
  EXPECT_THAT(config_error(config_with(seeing_llama, "_indices\": [0]", "_indices\": [0, 0]")),
      testing::HasSubstr("intermediate_layers_indices: layer 0 of 2, once more (0, 1, ..., each once)"));
}

/// Two sides of each, or one number for both; an image holds a patch.
TEST(HfImages, RefusesSizesOfImagesThatAreNone) {
  const auto sized = [](const std::string& image, const std::string& patch) {
    return config_error(config_with(seeing_llama, R"("image_size": 28, "patch_size": 14)",
        "\"image_size\": " + image + ", \"patch_size\": " + patch));
  };
  EXPECT_EQ(sized("[28, 28]", "[14, 14]"), "accepted");
  EXPECT_EQ(sized("14", "14"), "accepted");
  EXPECT_EQ(sized("8", "14"),
      "config.json:/vision_config/image_size: 8 pixels hold no patch of 14 (at least patch_size, 14)");
  EXPECT_EQ(sized("[28, 8]", "14"),
      "config.json:/vision_config/image_size: 8 pixels hold no patch of 14 (at least patch_size, 14)");
  EXPECT_EQ(sized("[28]", "[14]"),
      "config.json:/vision_config/patch_size: 1 numbers for two sides (one number, or one for each side)");
  EXPECT_EQ(sized("[28, 28, 28]", "14"),
      "config.json:/vision_config/image_size: 3 numbers for two sides (one number, or one for each side)");
}

/// InternVL: half of each side is 2 x 2 patches in one row; 0.4 and 0.7 of it are no whole number of them.
TEST(HfImages, RefusesShufflesOfNoWholeNumberOfPatches) {
  const auto read = [](const std::string& ratio) {
    return read_hf_config(R"({"architectures": ["InternVLForConditionalGeneration"], "downsample_ratio": )" + ratio +
                              R"(, "model_type": "internvl", "text_config": {"architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 100, "max_position_embeddings": 512, "hidden_act": "silu",
    "tie_word_embeddings": false}, "vision_config": {"hidden_size": 8, "intermediate_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 2, "image_size": 56, "patch_size": 14, "attention_bias": true, "norm_type": "layer_norm", "use_qk_norm": false}})",
        "config.json");
  };
  const auto half = read("0.5");
  ASSERT_TRUE(half) << to_text(half.error());
  ASSERT_EQ(half->network.encoders.size(), 1U);
  EXPECT_EQ(positions_merged(half->network.encoders.front().projectors.front()), 4);
  for (const auto& [ratio, side] : {std::pair{"0.4", "3"}, std::pair{"0.7", "1"}}) {
    const auto odd = read(ratio);
    ASSERT_TRUE(odd) << to_text(odd.error());
    EXPECT_TRUE(odd->network.encoders.empty());
    EXPECT_THAT(
        odd->notes, testing::Contains(testing::HasSubstr(std::string("config.json:/downsample_ratio: ") + ratio +
                                                         " of a side merges no whole number of patches (1 / " + side)));
  }
}

/// MiniCPM-V: 64 learned queries look at the patches of each slice, in a width of 64 here.
TEST(HfImages, QueriesOfMiniCpmVAttendOverPatches) {
  const auto read = read_hf_config(R"({"architectures": ["MiniCPMV"], "version": 2.6, "hidden_size": 64,
    "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": 512, "vocab_size": 100, "tie_word_embeddings": false, "hidden_act": "silu",
    "drop_vision_last_layer": false, "query_num": 64, "slice_config": {"max_slice_nums": 9, "patch_size": 14,
    "model_type": "minicpmv"}, "vision_config": {"hidden_size": 32, "image_size": 980, "intermediate_size": 48,
    "model_type": "siglip", "num_attention_heads": 2, "num_hidden_layers": 3, "patch_size": 14}})",
      "config.json");
  ASSERT_TRUE(read) << to_text(read.error());
  ASSERT_EQ(read->network.encoders.size(), 1U);
  EXPECT_TRUE(read->left_out.empty());
  NetworkSpec network = read->network;
  NetworkSpec& encoder = network.encoders.front();
  EXPECT_EQ(encoder.sequence, 32 * 32);
  EXPECT_EQ(encoder.max_positions, 70 * 70);
  // norms before and behind, to 64 numbers, of queries; queries, four matrices with biases, and the last matrix
  EXPECT_EQ(projector_parameter_count(network),
      2 * 32 + 32 * 64 + 2 * 64 + (64 * 64 + 2 * 64 + 4 * (64 * 64 + 64)) + 2 * 64 + 64 * 64);
  const double text = model_flops(network, 1, 512, true) * 512;
  encoder.images = 3;
  EXPECT_EQ(image_positions(network), 3 * 64);
  const double layers = 3 * (2.0 * (4 * 32 * 32 + 2 * 32 * 48) + 4.0 * 1024 * 32), patches = 2.0 * 3 * 14 * 14 * 32,
               queries = 2.0 * 1024 * 32 * 64 + 4.0 * 64 * 64 * (1024 + 64) + 4.0 * 64 * 1024 * 64 + 2.0 * 64 * 64 * 64;
  const double images = 3 * 3 * (1024 * (layers + patches) + queries);
  EXPECT_NEAR(model_flops(network, 1, 512, true) * 512 - text, images, 1e-9 * images);
}

}  // namespace
}  // namespace stepcast
