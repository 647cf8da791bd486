// Keys by which a class has other layers than its family: read, or refused by name. And classes whose layers are
// missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/network/hf/config.h"

namespace stepcast {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

json small(const char* architecture, const json& more) {
  json file = {{"architectures", {architecture}}, {"hidden_size", 64}, {"intermediate_size", 96},
      {"num_hidden_layers", 8}, {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"vocab_size", 100},
      {"max_position_embeddings", 128}};
  file.update(more);
  return file;
}

std::string error_of(const json& file) {
  const auto config = read_hf_config(file.dump(), "config.json");
  return config ? "accepted" : to_text(config.error());
}

NetworkSpec network_of(const json& file) {
  const auto config = read_hf_config(file.dump(), "config.json");
  EXPECT_TRUE(config) << to_text(config.error());
  return config ? config->network : NetworkSpec{};
}

/// Each was taken to leave the layers alone once.
TEST(HfOtherLayers, KeysThatChangeThemAreRefused) {
  const json grok = {{"num_local_experts", 4}, {"num_experts_per_tok", 2}, {"head_dim", 16}};
  json windowed = grok;
  windowed["sliding_window_size"] = 1024;
  EXPECT_THAT(error_of(small("Grok1ForCausalLM", windowed)), HasSubstr("sliding_window_size 1024"));
  windowed["sliding_window_size"] = -1;
  EXPECT_EQ(error_of(small("Grok1ForCausalLM", windowed)), "accepted");

  const json h1 = {{"mamba_n_heads", 8}, {"mamba_d_head", 16}, {"mamba_d_ssm", 128}, {"head_dim", 16}};
  EXPECT_EQ(error_of(small("FalconH1ForCausalLM", h1)), "accepted");
  json biased = h1;
  biased["projectors_bias"] = true;
  EXPECT_THAT(error_of(small("FalconH1ForCausalLM", biased)), HasSubstr("projectors_bias true"));

  const json mpt = {{"architectures", {"MPTForCausalLM"}}, {"d_model", 64}, {"n_heads", 4}, {"n_layers", 2},
      {"max_seq_len", 128}, {"vocab_size", 100}, {"no_bias", true}};
  json gated = mpt;
  gated["ffn_config"] = {{"ffn_type", "mptglu"}};
  EXPECT_THAT(error_of(gated), AllOf(HasSubstr("/ffn_config/ffn_type"), HasSubstr("'mptglu'")));
  json normed = mpt;
  normed["norm_type"] = "groupnorm";
  EXPECT_THAT(error_of(normed), HasSubstr("/norm_type"));
}

/// "gated" would add layers to PixArt's.
TEST(HfOtherLayers, OneKindOfAttentionOfPixArt) {
  json file = {{"_class_name", "PixArtTransformer2DModel"}, {"num_layers", 2}, {"caption_channels", 12},
      {"cross_attention_dim", 16}, {"norm_type", "ada_norm_single"}, {"sample_size", 64}, {"attention_head_dim", 8},
      {"num_attention_heads", 2}, {"in_channels", 4}, {"patch_size", 2}, {"attention_type", "default"}};
  EXPECT_EQ(error_of(file), "accepted");
  file["attention_type"] = "gated";
  EXPECT_THAT(error_of(file), HasSubstr("attention_type \"gated\""));
}

/// PixArt's files named the class of several networks first, which the norms tell apart.
TEST(HfOtherLayers, FirstFilesOfPixArt) {
  json file = {{"_class_name", "Transformer2DModel"}, {"num_layers", 2}, {"caption_channels", 12},
      {"cross_attention_dim", 16}, {"norm_type", "ada_norm_single"}, {"sample_size", 64}, {"attention_head_dim", 8},
      {"num_attention_heads", 2}, {"in_channels", 4}, {"patch_size", 2}, {"double_self_attention", false},
      {"num_vector_embeds", nullptr}, {"use_linear_projection", false}};
  const NetworkSpec first = network_of(file);
  file["_class_name"] = "PixArtTransformer2DModel";
  EXPECT_EQ(parameter_count(first), parameter_count(network_of(file)));
  file["_class_name"] = "Transformer2DModel";
  file["norm_type"] = "layer_norm";
  EXPECT_THAT(error_of(file), HasSubstr("'layer_norm' is none of its kinds"));
  file.erase("norm_type");
  EXPECT_THAT(error_of(file), HasSubstr("told by the kind of their norms"));
}

/// Chunks change how positions turn; a part of the keys would be other attention.
TEST(HfOtherLayers, PositionsThatTurnChunkByChunk) {
  json file = small("Qwen2ForCausalLM", {{"dual_chunk_attention_config", {{"chunk_size", 64}, {"local_size", 8}}}});
  EXPECT_EQ(error_of(file), "accepted");
  file["dual_chunk_attention_config"]["sparse_attention_enabled"] = true;
  EXPECT_THAT(error_of(file), HasSubstr("/dual_chunk_attention_config/sparse_attention_enabled"));
}

TEST(HfOtherLayers, FilesOfTimmTellNoSizes) {
  EXPECT_TRUE(looks_like_hf_config(R"({"architecture": "vit_base_patch16_224", "pretrained_cfg": {}})"));
  EXPECT_THAT(
      error_of({{"architecture", "vit_base_patch16_224"}, {"num_classes", 1000}, {"pretrained_cfg", json::object()}}),
      HasSubstr("a file of timm names an architecture and no sizes"));
}

TEST(HfOtherLayers, NormsAndWindowsOfMptAreRead) {
  const NetworkSpec n = network_of({{"architectures", {"MPTForCausalLM"}}, {"d_model", 64}, {"n_heads", 4},
      {"n_layers", 2}, {"max_seq_len", 128}, {"vocab_size", 100}, {"no_bias", true}, {"norm_type", "rmsnorm"},
      {"attn_config", {{"alibi", true}, {"sliding_window_size", 32}}}});
  EXPECT_EQ(n.norm, Norm::rmsnorm);
  EXPECT_EQ(n.window.positions, 32);
}

/// Every eighth layer sees all keys in PLaMo 3; in Muse Glimmer every fourth from the last one backward.
TEST(HfOtherLayers, LayersThatSeeAllKeys) {
  const NetworkSpec plamo = network_of(small("Plamo3ForCausalLM", {{"sliding_window", 32}, {"head_dim", 16}}));
  EXPECT_EQ(plamo.window.pattern, "wwwwwwwf");
  EXPECT_EQ(plamo.norm_place, NormPlace::both);
  const NetworkSpec muse =
      network_of(small("MuseGlimmerForCausalLM", {{"sliding_window", 32}, {"head_dim", 16}, {"num_hidden_layers", 5}}));
  EXPECT_EQ(muse.window.pattern, "fwww");  // and again: the fifth sees all
  EXPECT_TRUE(muse.attention_gate && muse.logit_softcap && !muse.qk_norm);
}

TEST(HfOtherLayers, MlpsBetweenExperts) {
  const json experts = {{"head_dim", 16}, {"num_experts", 4}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 32},
      {"decoder_sparse_step", 2}, {"mlp_only_layers", {3}}};
  // layers 1, 5 and 7 have experts
  const NetworkSpec n = network_of(small("Qwen3MoeForCausalLM", experts));
  ASSERT_EQ(n.pattern.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(n.pattern[i].feed == Feed::experts, i == 1 || i == 5 || i == 7) << i;
  json windowed = experts;
  windowed.update({{"use_sliding_window", true}, {"sliding_window", 32}, {"max_window_layers", 0}});
  EXPECT_THAT(error_of(small("Qwen3MoeForCausalLM", windowed)), HasSubstr("/mlp_only_layers"));
}

/// Gemma 3n of 10 layers, the last four of which borrow keys: the borrowers' own shapes go where all of their MLPs are
/// twice as wide.
TEST(HfOtherLayers, ShapesThatAllLayersLeftAreDropped) {
  const json file = {{"architectures", {"Gemma3nForCausalLM"}}, {"hidden_size", 64}, {"num_hidden_layers", 10},
      {"intermediate_size", {96, 96, 96, 96, 96, 96, 192, 192, 192, 192}}, {"num_attention_heads", 4},
      {"num_key_value_heads", 2}, {"head_dim", 16}, {"vocab_size", 100}, {"vocab_size_per_layer_input", 100},
      {"hidden_size_per_layer_input", 8}, {"num_kv_shared_layers", 4}, {"sliding_window", 32},
      {"activation_sparsity_pattern", {0.9, 0.9, 0, 0, 0, 0, 0, 0, 0, 0}}, {"max_position_embeddings", 128}};
  const NetworkSpec n = network_of(file);
  std::vector<std::string> names;
  for (const LayerShape& shape : n.shapes) names.push_back(shape.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("window-lent", "window-borrowed-whole-mlp192", "full-lent",
                         "full-borrowed-whole-mlp192", "cut"));
  json narrow = file;
  narrow["intermediate_size"] = 96;
  EXPECT_EQ(parameter_count(n) - parameter_count(network_of(narrow)), 4 * 3 * 64 * 96);
}

/// A dense layer in front sees all positions by a period of its own, behind it every fourth does; the norm is RMS where
/// the file has a constant for it.
TEST(HfOtherLayers, ExpertsBesideAttention) {
  const json experts = {{"num_experts", 8}, {"num_experts_per_tok", 2}, {"num_shared_experts", 2}, {"head_dim", 16},
      {"first_k_dense_replace", 1}, {"prefix_dense_intermediate_size", 128}, {"sliding_window", 32}};
  const NetworkSpec n = network_of(small("Cohere2MoeForCausalLM", experts));
  EXPECT_TRUE(n.parallel_block && n.norms_per_layer == 1 && n.tied_embeddings);
  EXPECT_EQ(n.norm, Norm::layernorm_scale);
  EXPECT_EQ(n.window.pattern, "fwww");
  EXPECT_EQ(n.ffn_hidden, 128);
  EXPECT_EQ(n.experts.ffn_hidden, 96);
  EXPECT_EQ(n.experts.shared_ffn_hidden, 192);
  json listed = experts;
  listed.erase("first_k_dense_replace");
  listed.update({{"rms_norm_eps", 1e-6},
      {"mlp_layer_types", {"dense", "dense", "sparse", "sparse", "sparse", "sparse", "sparse", "sparse"}}});
  const NetworkSpec two = network_of(small("Cohere2MoeForCausalLM", listed));
  EXPECT_EQ(two.norm, Norm::rmsnorm);
  EXPECT_EQ(two.experts.dense_layers, 2);
  EXPECT_EQ(two.window.pattern, "ffwwwfww");
  listed["first_k_dense_replace"] = 1;
  EXPECT_THAT(error_of(small("Cohere2MoeForCausalLM", listed)), HasSubstr("mlp_layer_types names 2 dense layers"));
  listed.erase("first_k_dense_replace");
  listed["mlp_layer_types"][7] = "dense";
  EXPECT_THAT(error_of(small("Cohere2MoeForCausalLM", listed)), HasSubstr("/mlp_layer_types"));
}

/// Without a width of their own, or with null, dense layers are as wide as an expert.
TEST(HfOtherLayers, DenseLayersAsWideAsExperts) {
  json file = small("Cohere2MoeForCausalLM",
      {{"num_experts", 4}, {"num_experts_per_tok", 2}, {"head_dim", 16}, {"first_k_dense_replace", 2}});
  EXPECT_EQ(network_of(file).ffn_hidden, 96);
  file["prefix_dense_intermediate_size"] = nullptr;
  EXPECT_EQ(network_of(file).ffn_hidden, 96);
  file["prefix_dense_intermediate_size"] = 200;
  EXPECT_EQ(network_of(file).ffn_hidden, 200);
}

/// As transformers writes the class: layer_types and half of local_attention stand in the file.
TEST(HfOtherLayers, WindowsOfModernBertDecoder) {
  json file = small("ModernBertDecoderForCausalLM", {{"num_hidden_layers", 4}, {"local_attention", 100}});
  file.erase("num_key_value_heads");
  const auto windows = [&] {
    std::string letters;
    const NetworkSpec n = network_of(file);
    for (const LayerKind& kind : n.pattern) letters += kind.windowed ? 'w' : 'f';
    return letters + " " + std::to_string(n.window.positions);
  };
  EXPECT_EQ(windows(), "fwwf 50");
  file["sliding_window"] = 50;
  file["layer_types"] = {"full_attention", "sliding_attention", "sliding_attention", "full_attention"};
  EXPECT_EQ(windows(), "fwwf 50");
  file["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention", "full_attention"};
  EXPECT_EQ(windows(), "wfwf 50") << "the list counts";
  file["sliding_window"] = 100;
  EXPECT_THAT(error_of(file), HasSubstr("/sliding_window"));
}

/// Three of four layers have the window, the first of them none; all have sinks.
TEST(HfOtherLayers, WindowsAndSinksOfGranite) {
  const NetworkSpec n = network_of(small("GraniteSWAForCausalLM", {{"layer_rope_theta", nullptr}}));
  EXPECT_EQ(n.window.pattern, "fwww");
  EXPECT_EQ(n.window.positions, 128);
  EXPECT_TRUE(n.attention_sinks);
}

/// transformers writes DeepSeek V3.2's dense layers as a list alone.
TEST(HfOtherLayers, DenseLayersByAListAlone) {
  json file = {{"num_key_value_heads", 4}, {"q_lora_rank", 32}, {"kv_lora_rank", 16}, {"qk_nope_head_dim", 8},
      {"qk_rope_head_dim", 8}, {"v_head_dim", 16}, {"n_routed_experts", 8}, {"num_experts_per_tok", 2},
      {"moe_intermediate_size", 32}, {"index_topk", 16}, {"index_n_heads", 2}, {"index_head_dim", 16},
      {"mlp_layer_types", {"dense", "dense", "dense", "sparse", "sparse", "sparse", "sparse", "sparse"}}};
  EXPECT_EQ(network_of(small("DeepseekV32ForCausalLM", file)).experts.dense_layers, 3);
  file["mlp_layer_types"].erase(0);
  EXPECT_THAT(error_of(small("DeepseekV32ForCausalLM", file)), HasSubstr("/mlp_layer_types"));
}

json latent_experts() {
  return {{"num_key_value_heads", 4}, {"q_lora_rank", 32}, {"kv_lora_rank", 16}, {"qk_nope_head_dim", 8},
      {"qk_rope_head_dim", 8}, {"v_head_dim", 16}, {"n_routed_experts", 8}, {"num_experts_per_tok", 2},
      {"moe_intermediate_size", 32}};
}

json picked_experts() {
  json file = latent_experts();
  file.update({{"index_topk", 16}, {"index_n_heads", 2}, {"index_head_dim", 16}});
  return file;
}

/// A file may leave out how many of its first layers have an MLP: its class has a number of its own.
TEST(HfOtherLayers, DenseLayersThatNoKeyTells) {
  const struct {
    const char* architecture;
    json more;
    std::int64_t dense;
  } rows[] = {{"AXK1ForCausalLM", latent_experts(), 1}, {"AXK2ForCausalLM", picked_experts(), 1},
      {"DeepseekV2ForCausalLM", latent_experts(), 0}, {"DeepseekV3ForCausalLM", latent_experts(), 3},
      {"DeepseekV32ForCausalLM", picked_experts(), 3}, {"Glm4MoeLiteForCausalLM", latent_experts(), 1},
      {"GlmMoeDsaForCausalLM", picked_experts(), 3}};
  for (const auto& row : rows) {
    json file = small(row.architecture, row.more);
    EXPECT_EQ(network_of(file).experts.dense_layers, row.dense) << row.architecture;
    file["first_k_dense_replace"] = 2;
    EXPECT_EQ(network_of(file).experts.dense_layers, 2) << row.architecture;
  }
  json by_type = small("", picked_experts());
  by_type.erase("architectures");
  by_type["model_type"] = "axk2";
  const auto named = read_hf_config(by_type.dump(), "config.json", "axk2");
  ASSERT_TRUE(named) << to_text(named.error());
  EXPECT_EQ(named->network.experts.dense_layers, 1);
}

/// A.X K2 has no key for layers that take over a choice of keys: with it, its dense layers were lost.
TEST(HfOtherLayers, EveryLayerOfAxk2HasAnIndexer) {
  json file = small("AXK2ForCausalLM", picked_experts());
  file["indexer_types"] = json::array({"full", "shared", "full", "shared", "full", "shared", "full", "shared"});
  EXPECT_THAT(error_of(file), HasSubstr("/indexer_types"));
  file["indexer_types"] = nullptr;
  EXPECT_EQ(error_of(file), "accepted");
}

/// The first class is read, as transformers does, and the file's others are said.
TEST(HfOtherLayers, FilesThatNameSeveralClasses) {
  json file = small("LlamaForCausalLM", json::object());
  file["architectures"].push_back("Qwen3ForCausalLM");
  const auto config = read_hf_config(file.dump(), "config.json");
  ASSERT_TRUE(config) << to_text(config.error());
  EXPECT_EQ(config->family, "llama");
  EXPECT_THAT(config->notes, testing::Contains("architectures names 2 classes: LlamaForCausalLM is read"));
}

/// Keys of a server, which makes a classifier of the table of words.
TEST(HfOtherLayers, RerankersOfQwen3) {
  const json keys = {{"head_dim", 16}, {"classifier_from_token", {"no", "yes"}}, {"is_original_qwen3_reranker", true}};
  EXPECT_EQ(error_of(small("Qwen3ForSequenceClassification", keys)), "accepted");
  EXPECT_EQ(error_of(small("Qwen3ForCausalLM", keys)), "accepted");
}

TEST(HfOtherLayers, FirstNamesOfOlmo) {
  json file = {{"architectures", {"OLMoModelForCausalLM"}}, {"d_model", 64}, {"n_layers", 2}, {"n_heads", 4},
      {"mlp_hidden_size", 256}, {"vocab_size", 90}, {"embedding_size", 100}, {"max_sequence_length", 128},
      {"weight_tying", true}, {"block_type", "sequential"}, {"activation_type", "swiglu"},
      {"layer_norm_type", "default"}};
  EXPECT_EQ(error_of(file), "accepted");
  file["layer_norm_type"] = "rms";
  EXPECT_THAT(error_of(file), HasSubstr("/layer_norm_type"));
}

/// The refusal says what is missing, by the beginning of a class's name or by its end.
TEST(HfOtherLayers, ClassesWithoutAReaderNameTheirLayers) {
  for (const auto& [name, layers] :
      {std::pair{"LlamaForCausalLMEagle3", "guess its words"}, {"LlamaForCausalLMEagle", "guess its words"},
          {"HunyuanImage3ForCausalMM", "one stream, with experts"}, {"HunyuanImageTransformer2DModel", "two streams"},
          {"Eagle3LlamaForCausalLM", "guess its words"}, {"DFlashDraftModel", "guess its words"},
          {"DeepSeekMTPModel", "guess its words"}, {"InklingForConditionalGeneration", "short convolutions"},
          {"DiffLlamaForCausalLM", "subtracts one softmax"}, {"Qwen2ForRewardModel", "a head of rewards"},
          {"JetNemotronForCausalLM", "words themselves make"}, {"HunyuanVideo15Transformer3DModel", "several texts"},
          {"OpenVLAForActionPrediction", "side by side"}, {"GR00T_N1_5", "denoise actions"},
          {"MoonshineForConditionalGeneration", "raw sound"}, {"WanAnimateTransformer3DModel", "faces and motion"},
          {"FluxControlNetModel", "layers of controls"}, {"WhisperForAudioClassification", "kinds of sounds"}})
    EXPECT_THAT(error_of(small(name, json::object())),
        AllOf(HasSubstr("has layers that are not built here"), HasSubstr(layers)))
        << name;
}

}  // namespace
}  // namespace stepcast
