// Classes around a text of any family: which family reads the text, what its class has for absent keys, what is counted
// beside it, and what is refused.
#include "model/network/hf/wrappers.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/network/hf/config.h"

namespace stepcast {
namespace {

/// A LLaVA of a small Llama and a small CLIP.
nlohmann::json small_llava() {
  return {{"architectures", {"LlavaForConditionalGeneration"}}, {"image_token_index", 32000},
      {"text_config",
          {{"model_type", "llama"}, {"hidden_size", 64}, {"intermediate_size", 128}, {"num_hidden_layers", 2},
              {"num_attention_heads", 4}, {"vocab_size", 100}, {"max_position_embeddings", 512}}},
      {"vision_config",
          {{"model_type", "clip_vision_model"}, {"hidden_size", 32}, {"intermediate_size", 48},
              {"num_attention_heads", 4}, {"num_hidden_layers", 2}, {"image_size", 28}, {"patch_size", 14}}}};
}

Expected<HfConfig> wrapped(const nlohmann::json& file) { return read_hf_config(file.dump(), "config.json"); }

std::string wrapped_error(const nlohmann::json& file) {
  const auto config = wrapped(file);
  return config ? "accepted" : to_text(config.error());
}

TEST(HfWrappers, ReadTheTextAndCountTheRest) {
  const auto config = wrapped(small_llava());
  ASSERT_TRUE(config) << to_text(config.error());
  EXPECT_EQ(config->family, "llama");
  EXPECT_EQ(config->network.hidden, 64);
  // A class token, 4 patches of 3 x 14 x 14 numbers, 5 places, a norm; a layer of attention and an MLP with biases; two
  // matrices. Nobody reads the last layer nor the norm behind it.
  const std::int64_t layer = 4 * 32 * 32 + 4 * 32 + 2 * 32 * 48 + 48 + 32 + 4 * 32;
  ASSERT_EQ(config->network.encoders.size(), 1U);
  EXPECT_EQ(config->network.encoders[0].layers, 1);
  EXPECT_EQ(
      encoder_parameter_count(config->network), 32 + 588 * 32 + 5 * 32 + 2 * 32 + layer + 32 * 64 + 64 + 64 * 64 + 64);
  ASSERT_EQ(config->parts.size(), 1U);
  EXPECT_EQ(config->parts[0].parameters, layer + 2 * 32);
}

/// What an encoder does otherwise than is described is said, and its images are not forecast.
TEST(HfWrappers, SayWhichFeaturesAreNotForecast) {
  const auto unseen = [](const char* key, const nlohmann::json& value) {
    nlohmann::json file = small_llava();
    file[key] = value;
    const auto config = wrapped(file);
    return config ? config->unseen : to_text(config.error());
  };
  EXPECT_EQ(unseen("vision_feature_layer", -1), "");
  EXPECT_EQ(unseen("vision_feature_layer", {-2, -1}), "");
  EXPECT_THAT(unseen("vision_feature_layer", {-2, -4}), testing::HasSubstr("layer -4 of 2"));
  nlohmann::json heads = small_llava()["vision_config"];
  heads["num_attention_heads"] = 5;
  EXPECT_THAT(unseen("vision_config", heads), testing::HasSubstr("5 heads share a width of 32"));
  EXPECT_THAT(unseen("vision_feature_layer", 3), testing::HasSubstr("layer 3 of 2"));
  EXPECT_THAT(
      unseen("vision_feature_select_strategy", "full"), testing::HasSubstr("vision_feature_select_strategy full"));
}

/// Sound beside images is held to the rules of all encoders, though it stands in front of nothing yet.
TEST(HfWrappers, SayWhichSoundIsNotForecast) {
  const auto omni = [](const char* key, const nlohmann::json& value) {
    nlohmann::json audio = {{"d_model", 64}, {"encoder_layers", 2}, {"encoder_attention_heads", 4},
        {"encoder_ffn_dim", 128}, {"num_mel_bins", 16}, {"n_window", 4}, {"output_dim", 128}};
    audio[key] = value;
    return wrapped({{"architectures", {"Qwen2_5OmniForConditionalGeneration"}},
        {"thinker_config",
            {{"text_config",
                 {{"model_type", "qwen2_5_omni_text"}, {"hidden_size", 128}, {"intermediate_size", 256},
                     {"num_attention_heads", 4}, {"num_key_value_heads", 4}, {"num_hidden_layers", 4},
                     {"vocab_size", 1000}, {"max_position_embeddings", 4096}, {"tie_word_embeddings", false}}},
                {"audio_config", audio},
                {"vision_config",
                    {{"depth", 2}, {"hidden_size", 64}, {"embed_dim", 64}, {"intermediate_size", 128}, {"num_heads", 4},
                        {"in_channels", 3}, {"out_hidden_size", 128}, {"patch_size", 14}, {"spatial_merge_size", 2},
                        {"temporal_patch_size", 2}, {"window_size", 112}, {"fullatt_block_indexes", {1}}}}}}});
  };
  const auto good = omni("output_dim", 128);
  ASSERT_TRUE(good) << to_text(good.error());
  EXPECT_TRUE(good->sound.has_value());
  EXPECT_EQ(good->unheard, "");
  const auto unheard = [&](const char* key, const nlohmann::json& value) {
    const auto config = omni(key, value);
    EXPECT_FALSE(config && config->sound) << key;
    EXPECT_TRUE(config && config->network.encoders.size() == 1) << key << ": images are read all the same";
    return config ? config->unheard : to_text(config.error());
  };
  EXPECT_THAT(unheard("output_dim", 64), testing::HasSubstr("64 numbers for a stream of 128"));
  EXPECT_THAT(unheard("d_model", 100'000'000), testing::HasSubstr("parameters in all"));
  EXPECT_THAT(unheard("encoder_layers", 90'000'000), testing::HasSubstr("90000000 layers (up to 10000)"));
  EXPECT_EQ(unheard("activation_function", "relu"), "audio_config has activation_function relu");
}

/// A list of layers: the features of the last but one and of the last, side by side, 2 x 32 wide in front of the first
/// matrix. Both layers run, and nobody reads the norm behind them.
TEST(HfWrappers, PutFeaturesOfSeveralLayersSideBySide) {
  nlohmann::json file = small_llava();
  file["vision_feature_layer"] = {-2, -1};
  const auto config = wrapped(file), usual = wrapped(small_llava());
  ASSERT_TRUE(config && usual);
  const NetworkSpec& encoder = config->network.encoders.at(0);
  EXPECT_EQ(encoder.layers, 2);
  ASSERT_EQ(encoder.projectors.size(), 1U);
  EXPECT_EQ(projector_word(encoder.projectors[0][0]), "layer 1");
  EXPECT_EQ(projector_word(encoder.projectors[0][1]), "beside 2");
  EXPECT_EQ(projector_parameter_count(config->network) - projector_parameter_count(usual->network), 32 * 64);
  EXPECT_EQ(lending_layers(encoder), std::vector<std::int64_t>{1});
  NetworkSpec seeing = config->network;
  seeing.encoders[0].images = 1;
  const Network net = build_network(seeing, {1, 16, 2, 2}, AttentionForm::fused);
  EXPECT_TRUE(check_graph(net));
  const int lent = net.find_tensor("features.1");
  ASSERT_GE(lent, 0);
  const auto projector = std::ranges::find(net.blocks, "encoder_projector", &Block::name);
  ASSERT_NE(projector, net.blocks.end());
  EXPECT_EQ(projector->reads, std::vector<int>{lent}) << "what the first layer gave, not a copy of the last";
}

TEST(HfWrappers, TakeWhatTheTextsClassHas) {
  nlohmann::json file = small_llava();
  file["text_config"] = {{"model_type", "llama"}, {"vocab_size", 32064}};
  const auto config = wrapped(file);
  ASSERT_TRUE(config) << to_text(config.error());
  EXPECT_EQ(config->network.hidden, 4096);
  EXPECT_EQ(config->network.layers, 32);
  EXPECT_EQ(config->network.vocab, 32064);
  EXPECT_THAT(config->notes, testing::Contains("hidden_size 4096 (not in the file)"));
  // A file of that class alone says its sizes.
  EXPECT_THAT(
      to_text(read_hf_config(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama"})", "c.json").error()),
      testing::HasSubstr("num_hidden_layers"));
}

TEST(HfWrappers, GoByTheArchitectureBeforeTheType) {
  nlohmann::json file = small_llava();
  file["text_config"]["architectures"] = {"Qwen2ForCausalLM"};
  const auto config = wrapped(file);
  ASSERT_TRUE(config) << to_text(config.error());
  EXPECT_EQ(config->family, "qwen2");
}

/// The text's keys stand among those of its images: what belongs to the images is left out by name, nothing else is.
TEST(HfWrappers, ReadTextsThatStandAmongTheKeysOfImages) {
  nlohmann::json file = small_llava()["text_config"];
  file["architectures"] = {"LlavaLlamaForCausalLM"};
  file["mm_vision_tower"] = "openai/clip-vit-large-patch14-336";
  file["mm_hidden_size"] = 1024;
  const auto config = wrapped(file);
  ASSERT_TRUE(config) << to_text(config.error());
  EXPECT_EQ(config->family, "llama");
  EXPECT_EQ(config->left_out, std::vector<std::string>{"mm_vision_tower"});
  file["made_up"] = {{"experts", 8}};
  EXPECT_THAT(wrapped_error(file), testing::HasSubstr("made_up {...}"));
  file.erase("made_up");
  file["architectures"] = {"MiniCPMV"};
  file["version"] = 9.5;
  EXPECT_THAT(wrapped_error(file), testing::HasSubstr("the text of version 9.5 is not known"));
}

TEST(HfWrappers, SayWhereATextIsNotKnown) {
  nlohmann::json file = small_llava();
  file["text_config"]["model_type"] = "made_up";
  EXPECT_THAT(wrapped_error(file), testing::HasSubstr("config.json:/text_config/model_type: the text's architecture"));
  file.erase("text_config");
  EXPECT_THAT(wrapped_error(file), testing::HasSubstr("text_config"));
}

TEST(HfWrappers, RefuseKeysThatMayChangeLayersInsideAndAround) {
  nlohmann::json inside = small_llava(), around = small_llava();
  inside["text_config"]["made_up"] = 3;
  EXPECT_THAT(wrapped_error(inside), testing::HasSubstr("/text_config/made_up: llama does not know these keys"));
  around["perceiver_layers"] = 3;
  EXPECT_THAT(wrapped_error(around), testing::HasSubstr("perceiver_layers 3"));
}

TEST(HfWrappers, LeaveOutEncodersThatAreNotKnown) {
  nlohmann::json file = small_llava();
  file["vision_config"]["model_type"] = "made_up";
  const auto config = wrapped(file);
  ASSERT_TRUE(config) << to_text(config.error());
  EXPECT_TRUE(config->parts.empty());
  EXPECT_EQ(config->left_out, std::vector<std::string>{"vision_config"});
}

TEST(HfWrappers, NoteEncodersWhoseConfigLacksSizes) {
  nlohmann::json file = small_llava();
  file["vision_config"].erase("patch_size");
  file["vision_config"]["num_hidden_layers"] = "many";
  const auto config = wrapped(file);
  ASSERT_TRUE(config) << to_text(config.error());
  EXPECT_TRUE(config->parts.empty());
  EXPECT_THAT(
      config->notes, testing::Contains(testing::HasSubstr("vision_config is not read: config.json:/vision_config")));
}

/// The table of types names families that there are.
TEST(HfWrappers, TypesLeadToFamilies) {
  const std::vector<std::string> families = hf_families();
  for (const std::string& type : detail::known_text_types()) {
    JsonObject text(R"({"model_type": ")" + type + "\"}", "c.json");
    EXPECT_THAT(families, testing::Contains(detail::family_of_text(text))) << type;
  }
}

TEST(ReadHfConfig, RefusesMoreLayersThanNetworksHave) {
  nlohmann::json file = small_llava();
  file["text_config"]["num_hidden_layers"] = 100'000'000;
  EXPECT_THAT(wrapped_error(file), testing::HasSubstr("/text_config/num_hidden_layers: 100000000 layers"));
}

TEST(ReadHfConfig, RefusesExpertsInEveryZerothLayer) {
  EXPECT_THAT(
      to_text(read_hf_config(R"({"architectures": ["Llama4ForCausalLM"], "hidden_size": 64, "intermediate_size": 64,
    "intermediate_size_mlp": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "vocab_size": 100, "max_position_embeddings": 512, "num_local_experts": 4, "num_experts_per_tok": 1,
    "interleave_moe_layer_step": 0})",
          "c.json")
                  .error()),
      testing::HasSubstr("/interleave_moe_layer_step"));
}

/// HunyuanVL: the text's keys stand among those of the images, or apart as transformers writes them.
TEST(HfWrappers, TextsThatStandAmongTheImagesOrApart) {
  const nlohmann::json text = {{"hidden_size", 64}, {"intermediate_size", 128}, {"num_hidden_layers", 2},
      {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"head_dim", 16}, {"vocab_size", 100},
      {"max_position_embeddings", 512}, {"tie_word_embeddings", true}};
  nlohmann::json among = text,
                 apart = {{"architectures", {"HunYuanVLForConditionalGeneration"}}, {"text_config", text}};
  among["architectures"] = {"HunYuanVLForConditionalGeneration"};
  among["vision_config"] = apart["vision_config"] = {{"hidden_size", 32}, {"model_type", "hunyuan_vl_vision"}};
  const auto first = wrapped(among), second = wrapped(apart);
  ASSERT_TRUE(first && second) << to_text((first ? second : first).error());
  EXPECT_EQ(parameter_count(first->network), parameter_count(second->network));
  // one table; queries and outputs as wide as the stream, keys and values half so; norms of heads and of the stream
  EXPECT_EQ(parameter_count(first->network),
      100 * 64 + 2 * (2 * 64 * 64 + 2 * 64 * 32 + 2 * 16 + 3 * 64 * 128 + 2 * 64) + 64);
}

/// Cosmos 3 Edge: a plain MLP of squared ReLU in Llama's place.
TEST(HfWrappers, TextsWithPlainMlps) {
  nlohmann::json file = small_llava();
  file["architectures"] = {"Cosmos3EdgeForConditionalGeneration"};
  file["projector_hidden_size"] = 96;
  nlohmann::json& text = file["text_config"];
  text["model_type"] = "cosmos3_edge_text", text["hidden_act"] = "relu2";
  const auto config = wrapped(file);
  ASSERT_TRUE(config) << to_text(config.error());
  EXPECT_EQ(config->network.activation, Activation::squared_relu);
}

/// An image has whole patches: 384 pixels are 27 patches of 14, not 27.4.
TEST(HfWrappers, CountWholePatches) {
  nlohmann::json file = small_llava();
  const auto whole = wrapped(file);
  file["vision_config"]["image_size"] = 41;
  const auto rest = wrapped(file);
  ASSERT_TRUE(whole && rest);
  EXPECT_EQ(whole->parts[0].parameters, rest->parts[0].parameters);
}

}  // namespace
}  // namespace stepcast
