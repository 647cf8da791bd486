#include "model/network/hf/config.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/catalog.h"
#include "tests/model/network/hf/config_texts.h"

namespace stepcast {
namespace {

using hf_texts::config_error;
using hf_texts::config_with;
using hf_texts::llama_config;
using hf_texts::llama_with;

/// Whether one of the notes holds the words.
bool noted(const HfConfig& config, const std::string& words) {
  return std::any_of(config.notes.begin(), config.notes.end(),
      [&](const std::string& n) { return n.find(words) != std::string::npos; });
}

TEST(ReadHfConfig, ReadsLlamaPastUnknownKeys) {
  const auto config = read_hf_config(llama_config, "models/Llama-3.1-8B/config.json");
  ASSERT_TRUE(config) << to_text(config.error());
  EXPECT_EQ(config->family, "llama");
  EXPECT_EQ(config->network.id, "llama-3.1-8b") << "from the folder";
  EXPECT_EQ(config->network.head_dim, 128);
  EXPECT_EQ(config->network.sequence, 8192) << "the length of pre-training, not the 131072 it is stretched to";
  EXPECT_EQ(parameter_count(config->network), 8030261248) << "as published";
}

/// A config of each architecture, shortened to the keys that say something, and the catalogue row it describes.
struct ConfigOfRow {
  const char* row;
  const char* text;
};

const ConfigOfRow configs_of_rows[] = {
    {"mistral-7b",
        R"({"architectures": ["MistralForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 32768, "sliding_window": 4096})"},
    {"mixtral-8x7b",
        R"({"architectures": ["MixtralForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 32768, "num_local_experts": 8,
      "num_experts_per_tok": 2, "sliding_window": null})"},
    {"qwen2.5-7b",
        R"({"architectures": ["Qwen2ForCausalLM"], "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
      "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 131072, "sliding_window": 131072,
      "use_sliding_window": false})"},
    {"qwen3-32b",
        R"({"architectures": ["Qwen3ForCausalLM"], "hidden_size": 5120, "intermediate_size": 25600, "num_hidden_layers": 64,
      "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 40960})"},
    {"qwen3-30b-a3b",
        R"({"architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 48,
      "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 40960,
      "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "decoder_sparse_step": 1, "mlp_only_layers": []})"},
    {"qwen1.5-moe-a2.7b", R"({"architectures": ["Qwen2MoeForCausalLM"], "hidden_size": 2048, "intermediate_size": 5632,
      "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 151936, "max_position_embeddings": 8192,
      "num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632,
      "decoder_sparse_step": 1})"},
    {"deepseek-v2-lite",
        R"({"architectures": ["DeepseekV2ForCausalLM"], "hidden_size": 2048, "intermediate_size": 10944,
      "num_hidden_layers": 27, "num_attention_heads": 16, "vocab_size": 102400, "max_position_embeddings": 163840, "q_lora_rank": null,
      "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2,
      "num_experts_per_tok": 6, "moe_intermediate_size": 1408, "first_k_dense_replace": 1, "moe_layer_freq": 1, "topk_method": "greedy",
      "n_group": 8, "topk_group": 3})"},
    {"deepseek-v3", R"({"architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 7168, "intermediate_size": 18432,
      "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "vocab_size": 129280,
      "max_position_embeddings": 163840, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
      "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
      "first_k_dense_replace": 3, "moe_layer_freq": 1, "topk_method": "noaux_tc", "n_group": 8, "topk_group": 4, "num_nextn_predict_layers": 1})"},
    {"gpt-oss-120b",
        R"({"architectures": ["GptOssForCausalLM"], "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 36,
      "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 201088, "max_position_embeddings": 131072,
      "attention_bias": true, "num_local_experts": 128, "experts_per_token": 4, "sliding_window": 128})"},
    {"llama4-maverick",
        R"({"architectures": ["Llama4ForConditionalGeneration"], "vision_config": {"hidden_size": 1408}, "text_config": {
      "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_hidden_layers": 48, "num_attention_heads": 40,
      "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 202048, "max_position_embeddings": 1048576, "num_local_experts": 128,
      "num_experts_per_tok": 1, "interleave_moe_layer_step": 2}})"},
    {"gpt2-1.5b",
        R"({"architectures": ["GPT2LMHeadModel"], "n_embd": 1600, "n_layer": 48, "n_head": 25, "n_positions": 1024,
      "vocab_size": 50257, "activation_function": "gelu_new", "n_inner": null})"},
    {"gpt-neox-20b",
        R"({"architectures": ["GPTNeoXForCausalLM"], "hidden_size": 6144, "intermediate_size": 24576, "num_hidden_layers": 44,
      "num_attention_heads": 64, "vocab_size": 50432, "max_position_embeddings": 2048, "hidden_act": "gelu_fast"})"},
    {"bloom-176b",
        R"({"architectures": ["BloomForCausalLM"], "hidden_size": 14336, "n_layer": 70, "n_head": 112, "vocab_size": 250880})"},
    {"nemotron4-15b",
        R"({"architectures": ["NemotronForCausalLM"], "hidden_size": 6144, "intermediate_size": 24576, "num_hidden_layers": 32,
      "num_attention_heads": 48, "num_key_value_heads": 8, "vocab_size": 256000, "max_position_embeddings": 4096, "hidden_act": "relu2"})"},
    {"phi-3-mini",
        R"({"architectures": ["Phi3ForCausalLM"], "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32064, "max_position_embeddings": 4096, "sliding_window": 2047})"},
    {"gemma-7b",
        R"({"architectures": ["GemmaForCausalLM"], "hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28,
      "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256, "vocab_size": 256000, "max_position_embeddings": 8192})"},
    {"opt-13b", R"({"architectures": ["OPTForCausalLM"], "hidden_size": 5120, "ffn_dim": 20480, "num_hidden_layers": 40,
      "num_attention_heads": 40, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 5120, "dropout": 0.1})"},
};

/// Architectures without a row of the catalogue: their configs and the exact counts of their checkpoints.
struct ConfigOfCount {
  std::int64_t parameters;
  const char* text;
};

// clang-format off
const ConfigOfCount configs_of_counts[] = {
    {4619184640, R"({"architectures": ["ArceeForCausalLM"], "hidden_size": 2560, "intermediate_size": 18432,
      "num_hidden_layers": 36, "num_attention_heads": 20, "num_key_value_heads": 4, "head_dim": 128,
      "vocab_size": 128004, "hidden_act": "relu2", "tie_word_embeddings": false,
      "max_position_embeddings": 65536})"},
    {36151104512, R"({"architectures": ["SeedOssForCausalLM"], "hidden_size": 5120, "intermediate_size": 27648,
      "num_hidden_layers": 64, "num_attention_heads": 80, "num_key_value_heads": 8, "head_dim": 128,
      "vocab_size": 155136, "hidden_act": "silu", "attention_bias": true, "attention_out_bias": false,
      "mlp_bias": false, "tie_word_embeddings": false, "max_position_embeddings": 524288})"},
    {3075098624, R"({"architectures": ["SmolLM3ForCausalLM"], "hidden_size": 2048, "intermediate_size": 11008,
      "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 128256,
      "hidden_act": "silu", "no_rope_layer_interval": 4, "tie_word_embeddings": true,
      "max_position_embeddings": 65536, "attention_bias": false, "mlp_bias": false})"},
    {8170864640, R"({"architectures": ["GraniteForCausalLM"], "hidden_size": 4096, "intermediate_size": 12800,
      "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 49159,
      "tie_word_embeddings": true, "hidden_act": "silu", "max_position_embeddings": 131072,
      "attention_multiplier": 0.0078125, "embedding_multiplier": 12.0, "logits_scaling": 16.0,
      "residual_multiplier": 0.22})"},
    {15957889024, R"({"architectures": ["Starcoder2ForCausalLM"], "hidden_size": 6144, "intermediate_size": 24576,
      "num_hidden_layers": 40, "num_attention_heads": 48, "num_key_value_heads": 4, "vocab_size": 49152,
      "hidden_act": "gelu_pytorch_tanh", "use_bias": true, "norm_type": "layer_norm",
      "tie_word_embeddings": false, "max_position_embeddings": 16384, "sliding_window": 4096})"},
    {142774381696, R"({"architectures": ["Dots1ForCausalLM"], "hidden_size": 4096, "intermediate_size": 10944,
      "moe_intermediate_size": 1408, "num_hidden_layers": 62, "num_attention_heads": 32,
      "num_key_value_heads": 32, "head_dim": 128, "n_routed_experts": 128, "num_experts_per_tok": 6,
      "n_shared_experts": 2, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "vocab_size": 152064,
      "hidden_act": "silu", "attention_bias": false, "tie_word_embeddings": false,
      "max_position_embeddings": 32768})"},
    {109227310848, R"({"architectures": ["Glm4MoeForCausalLM"], "hidden_size": 4096, "intermediate_size": 10944,
      "moe_intermediate_size": 1408, "num_hidden_layers": 46, "num_attention_heads": 96,
      "num_key_value_heads": 8, "n_routed_experts": 128, "num_experts_per_tok": 8, "first_k_dense_replace": 1,
      "use_qk_norm": false, "hidden_act": "silu", "attention_bias": true, "n_shared_experts": 1,
      "norm_topk_prob": true, "n_group": 1, "topk_group": 1, "num_nextn_predict_layers": 1,
      "vocab_size": 151552, "tie_word_embeddings": false, "max_position_embeddings": 131072,
      "partial_rotary_factor": 0.5, "head_dim": 128})"},
    {673421089792, R"({"architectures": ["MistralLarge3ForCausalLM"], "hidden_size": 7168, "intermediate_size": 16384,
      "moe_intermediate_size": 4096, "num_hidden_layers": 61, "num_attention_heads": 128,
      "num_key_value_heads": 128, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
      "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 128, "num_experts_per_tok": 4,
      "n_shared_experts": 1, "first_k_dense_replace": 3, "vocab_size": 131072, "hidden_act": "silu",
      "tie_word_embeddings": false, "max_position_embeddings": 294912})"},
};
// clang-format on

TEST(ReadHfConfig, GivesTheCountOfCheckpointsThatTheCatalogueLacks) {
  for (const ConfigOfCount& config : configs_of_counts) {
    const auto read = read_hf_config(config.text, "config.json");
    ASSERT_TRUE(read) << to_text(read.error());
    EXPECT_EQ(parameter_count(read->network), config.parameters) << read->family;
  }
}

/// Keys of attention drop its weights, the others the stream; T5's one key drops both.
TEST(ReadHfConfig, EitherDropoutIsReadAlone) {
  const auto drops = [](const std::string& text) {
    const auto read = read_hf_config(text, "config.json");
    if (!read) return to_text(read.error());
    const NetworkSpec& n = read->network;
    return fmt::format("{}{}{}", n.dropout ? "drops" : "none", n.no_attention_dropout ? ", not scores" : "",
        n.no_hidden_dropout ? ", not the stream" : "");
  };
  EXPECT_EQ(drops(llama_with("\"attention_dropout\": 0.0")), "none");
  EXPECT_EQ(drops(llama_with("\"attention_dropout\": 0.1")), "drops, not the stream");
  const std::string gpt2 = R"({"architectures": ["GPT2LMHeadModel"], "n_embd": 768, "n_layer": 12, "n_head": 12,
      "vocab_size": 50257, "n_positions": 1024)";
  EXPECT_EQ(drops(gpt2 + "}"), "drops") << "its class has 0.1 for all three";
  EXPECT_EQ(drops(gpt2 + R"(, "attn_pdrop": 0.0})"), "drops, not scores");
  EXPECT_EQ(drops(gpt2 + R"(, "resid_pdrop": 0, "embd_pdrop": 0})"), "drops, not the stream");
  EXPECT_EQ(drops(gpt2 + R"(, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0})"), "none");
}

/// Apart from names and lengths, which a config does not hold. Where no layer is plain, the plain width says nothing.
std::string shape_of(NetworkSpec n) {
  n.id = n.name = "same";
  n.source.clear(), n.aliases.clear(), n.family.clear(), n.published_parameters_billion.clear();
  n.published_parameters = 0, n.sequence = 1;
  if (n.experts.count > 0 && n.experts.dense_layers == 0 && n.experts.every == 1) n.ffn_hidden = 1;
  return write_network(n);
}

TEST(ReadHfConfig, GivesTheCatalogueRowOfEachArchitecture) {
  for (const ConfigOfRow& config : configs_of_rows) {
    const auto read = read_hf_config(config.text, "config.json");
    ASSERT_TRUE(read) << config.row << ": " << to_text(read.error());
    const auto row = find_row(built_in().networks, config.row, "network");
    ASSERT_TRUE(row) << config.row;
    EXPECT_EQ(shape_of(read->network), shape_of(**row)) << config.row;
    EXPECT_EQ(parameter_count(read->network), parameter_count(**row)) << config.row;
  }
}

TEST(ReadHfConfig, CoversEveryFamily) {
  std::vector<std::string> missing = hf_families();
  std::erase(missing, "llama");
  for (const ConfigOfRow& config : configs_of_rows)
    if (const auto read = read_hf_config(config.text, "config.json")) std::erase(missing, read->family);
  for (const ConfigOfCount& config : configs_of_counts)
    if (const auto read = read_hf_config(config.text, "config.json")) std::erase(missing, read->family);
  for (const char* name : {"published_counts.jsonl", "hand_counts.jsonl"}) {
    std::ifstream counts(std::string(STEPCAST_SOURCE_DIR "/tests/model/network/hf/") + name);
    for (std::string line; std::getline(counts, line);)
      if (const auto read = read_hf_config(nlohmann::json::parse(line)["config"].dump(), "config.json"))
        std::erase(missing, read->family);
  }
  EXPECT_TRUE(missing.empty()) << (missing.empty() ? "" : missing.front());
}

TEST(ReadHfConfig, SaysWhatItTookAndWhatItLeftOut) {
  const std::string bare = config_with(
      config_with(llama_config, "\"num_key_value_heads\": 8, ", ""), ", \"tie_word_embeddings\": false", "");
  const auto config = read_hf_config(bare, "config.json");
  ASSERT_TRUE(config) << to_text(config.error());
  EXPECT_TRUE(noted(*config, "num_key_value_heads 32 (not in the file)"));
  EXPECT_TRUE(noted(*config, "tie_word_embeddings false (not in the file)"));
  EXPECT_TRUE(noted(*config, "sequence 8192, its original_max_position_embeddings"));
  EXPECT_NE(config->network.source.find("LlamaForCausalLM"), std::string::npos);
  for (const ConfigOfRow& row : configs_of_rows) {
    const auto read = read_hf_config(row.text, "config.json");
    ASSERT_TRUE(read) << row.row;
    if (row.row == std::string("gpt-oss-120b")) {
      EXPECT_EQ(read->network.window.positions, 128);
      EXPECT_EQ(read->network.window.pattern, "wf") << "every second";
      EXPECT_TRUE(read->network.attention_sinks);
    }
    if (row.row == std::string("llama4-maverick")) {
      EXPECT_TRUE(noted(*read, "text_config only"));
      EXPECT_EQ(read->left_out, std::vector<std::string>{"vision_config"});
      EXPECT_TRUE(read->network.window.chunks);
      EXPECT_EQ(read->network.window.pattern, "wwwf") << "three of every four layers turn positions and see chunks";
    }
  }
}

TEST(ReadHfConfig, RefusesUnknownKeysOfPartsToo) {
  const std::string config = R"({"architectures": ["MiniMaxM3ForCausalLM"], "hidden_size": 64, "num_hidden_layers": 1,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 100, "dense_intermediate_size": 64,
    "intermediate_size": 32, "num_local_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1,
    "max_position_embeddings": 512, "moe_layer_freq": [1], "sparse_attention_config": {"sparse_attention_freq": [1],
    "sparse_topk_blocks": 2, "sparse_block_size": 16, "sparse_num_index_heads": 2, "sparse_index_dim": 8,
    "sparse_disable_index_value": [1]}})";
  const auto read = read_hf_config(config, "config.json");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->network.sparse.top_k, 32) << "two blocks of 16";
  const auto strange = read_hf_config(
      config_with(config, "\"sparse_topk_blocks\": 2", "\"sparse_topk_blocks\": 2, \"sparse_stride\": 4"),
      "config.json");
  ASSERT_FALSE(strange);
  EXPECT_NE(to_text(strange.error()).find("sparse_stride"), std::string::npos);
}

/// The last projection writes whole patches.
TEST(ReadHfConfig, CountsTheNumbersOfAPatch) {
  const std::string config = R"({"_class_name": "FluxTransformer2DModel", "attention_head_dim": 16, "in_channels": 8,
    "joint_attention_dim": 32, "num_attention_heads": 2, "num_layers": 1, "num_single_layers": 1, "patch_size": 1,
    "pooled_projection_dim": 16})";
  const auto count = [](const std::string& text) { return parameter_count(read_hf_config(text, "c.json")->network); };
  EXPECT_EQ(count(config_with(config, "\"patch_size\": 1", "\"patch_size\": 2")) - count(config), 3 * 8 * (32 + 1));
}

TEST(ReadHfConfig, ExplainsAnUnknownArchitecture) {
  const std::string other = config_with(llama_config, "LlamaForCausalLM", "NewThingForCausalLM");
  const std::string text = config_error(other);
  EXPECT_NE(
      text.find("config.json:/architectures: the architecture 'NewThingForCausalLM' is not known"), std::string::npos)
      << text;
  EXPECT_NE(text.find("DeepseekV3ForCausalLM"), std::string::npos) << text;
  EXPECT_NE(text.find("--as llama"), std::string::npos) << text;
  const auto forced = read_hf_config(other, "config.json", "llama");
  ASSERT_TRUE(forced) << to_text(forced.error());
  EXPECT_EQ(parameter_count(forced->network), 8030261248);
  EXPECT_TRUE(noted(*forced, "NewThingForCausalLM read as llama"));
  EXPECT_EQ(config_error(other, "lama"), "--as: unknown family 'lama' (did you mean 'llama'?)");
}

TEST(ReadHfConfig, RefusesKeysThatMayChangeLayersAllAtOnce) {
  const std::string odd = llama_with(
      R"("num_local_experts": 8, "layer_types": ["full_attention"], "vision_config": {"depth": 2}, "made_up": 1)");
  EXPECT_EQ(config_error(odd),
      "config.json:/num_local_experts: llama does not know these keys, which may change layers: num_local_experts 8, "
      "layer_types [\"full_attention\"], vision_config {...}, made_up 1 (leave out those that change no layer; other "
      "layers go into a file of stepcast's own form: stepcast show network llama3-8b prints one)");
  EXPECT_THAT(config_error(config_with(llama_config, "\"num_key_value_heads\"", "\"num_key_value_head\"")),
      testing::HasSubstr("did you mean 'num_key_value_heads'?"));
  const auto listed = read_hf_config(odd, "config.json", "", UnknownKeys::listed);
  ASSERT_TRUE(listed) << to_text(listed.error());
  EXPECT_EQ(listed->unknown.size(), 4U);
}

TEST(ReadHfConfig, ReadsKeysWhoseValueSaysThatThePartIsNotThere) {
  for (const char* keys : {"\"num_local_experts\": 0", "\"num_local_experts\": null", "\"vision_config\": null",
           "\"use_sliding_window\": false, \"max_window_layers\": 0", "\"layer_types\": []"})
    EXPECT_EQ(config_error(llama_with(keys)), "accepted") << keys;
}

TEST(ReadHfConfig, KeysOfWindowsSayNothingBesideTheSwitchThatIsOff) {
  const std::string keys = R"("sliding_window": 4096, "max_window_layers": 8)";
  EXPECT_EQ(config_error(llama_with("\"use_sliding_window\": false, " + keys)), "accepted");
  EXPECT_THAT(config_error(llama_with(keys)), testing::HasSubstr("sliding_window 4096, max_window_layers 8"));
}

TEST(ReadHfConfig, GoesByTheTypeWhereNoArchitectureIsNamed) {
  const std::string bare = config_with(llama_config, "\"architectures\": [\"LlamaForCausalLM\"], ", "");
  const auto read = read_hf_config(bare, "config.json");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(parameter_count(read->network), 8030261248);
  EXPECT_TRUE(noted(*read, "no architecture: its model_type is read as llama"));
  EXPECT_THAT(config_error(config_with(bare, "\"llama\"", "\"made_up\"")),
      testing::HasSubstr("the config names no architecture"));
}

/// A model_type that several classes have, one whose layers are missing, and one that nobody knows.
TEST(ReadHfConfig, SaysWhatAModelTypeAloneTells) {
  EXPECT_THAT(config_error(R"({"model_type": "deberta-v2", "hidden_size": 64})"),
      testing::AllOf(testing::HasSubstr("'deberta-v2' tells none of several classes"),
          testing::HasSubstr("--as deberta-model, --as deberta-masked")));
  EXPECT_THAT(config_error(R"({"model_type": "t5", "d_model": 64})"), testing::HasSubstr("--as t5"));
  EXPECT_THAT(
      config_error(R"({"model_type": "gla", "hidden_size": 64})"), testing::HasSubstr("gated linear attention"));
  EXPECT_THAT(config_error(R"({"model_type": "hgrn2", "hidden_size": 64})"), testing::HasSubstr("linear recurrences"));
  EXPECT_THAT(config_error(R"({"model_type": "made_up"})"), testing::HasSubstr("model_type 'made_up' is not known"));
}

/// GPT-Neo: layers in a window by the list of them, biases on outputs and the MLP alone.
TEST(ReadHfConfig, LayersOfGptNeoAreForecast) {
  const auto read = [](const char* layers) {
    return read_hf_config(std::string(R"({"architectures": ["GPTNeoForCausalLM"], "hidden_size": 64, "num_heads": 4,
        "num_layers": 4, "vocab_size": 100, "max_position_embeddings": 512, "window_size": 32, "attention_layers": )") +
                              layers + "}",
        "config.json");
  };
  const auto turns = read(R"(["global", "local", "global", "local"])");
  ASSERT_TRUE(turns) << to_text(turns.error());
  EXPECT_TRUE(turns->missing.empty());
  EXPECT_EQ(turns->network.window.pattern, "fw");
  EXPECT_EQ(turns->network.window.positions, 32);
  EXPECT_TRUE(turns->network.mlp_bias && turns->network.out_bias && !turns->network.linear_bias);
  EXPECT_FALSE(read(R"(["global", "local", "global"])"));
  EXPECT_FALSE(read(R"(["global", "far", "global", "local"])"));
}

TEST(ReadHfConfig, NamesTheLayersOfClassesThatItCannotBuild) {
  const auto named = [](const char* name) { return config_error(config_with(llama_config, "LlamaForCausalLM", name)); };
  EXPECT_THAT(named("RWKV7ForCausalLM"), testing::HasSubstr("not built here: time mixing"));
  EXPECT_THAT(named("ResNetForImageClassification"), testing::HasSubstr("not built here: convolutions"));
  EXPECT_THAT(named("AuraFlowTransformer2DModel"), testing::HasSubstr("not built here: two streams with gated MLPs"));
}

TEST(ReadHfConfig, AnotherFamilyIsRefusedWhereTheFileHasLayersThatItDoesNotKnow) {
  const std::string hybrid = config_with(llama_with("\"linear_num_value_heads\": 32"), "LlamaFor", "HybridFor");
  EXPECT_THAT(config_error(hybrid, "llama"), testing::HasSubstr("linear_num_value_heads 32"));
}

TEST(ReadHfConfig, OffersAFamilyOnlyWhereItReadsTheFile) {
  const std::string other = config_with(llama_config, "LlamaFor", "NewThingFor");
  EXPECT_THAT(config_error(other), testing::HasSubstr("--as llama reads it as llama"));
  EXPECT_THAT(config_error(config_with(other, "\"model_type\"", "\"ssm_state\": 128, \"model_type\"")),
      testing::HasSubstr("none of these families knows all of its keys"));
}

TEST(ReadHfConfig, ReadsWindowsOfQwenLayers) {
  const std::string qwen = config_with(llama_config, "LlamaFor", "Qwen2For");
  const auto with = [&](const std::string& keys) {
    return read_hf_config(config_with(qwen, "\"model_type\"", keys + ", \"model_type\""), "config.json");
  };
  const auto some = with("\"use_sliding_window\": true, \"sliding_window\": 4096, \"max_window_layers\": 24");
  ASSERT_TRUE(some) << to_text(some.error());
  EXPECT_EQ(some->network.window.pattern, std::string(24, 'f') + "wwwwwwww") << "those behind the first 24 of 32";
  const auto unused = with("\"use_sliding_window\": false, \"sliding_window\": 4096, \"max_window_layers\": 24");
  ASSERT_TRUE(unused);
  EXPECT_EQ(unused->network.window.positions, 0);
  const auto other = with("\"layer_types\": [\"linear_attention\"]");
  ASSERT_FALSE(other);
  EXPECT_THAT(to_text(other.error()), testing::HasSubstr("'linear_attention' are none of our forms"));
}

TEST(ReadHfConfig, ReadsNumbersThatPythonWrites) {
  EXPECT_EQ(
      config_error(llama_with("\"rope_scaling_limits\": [0, Infinity]"), "llama").find("syntax"), std::string::npos);
  EXPECT_EQ(config_error(llama_with("\"initializer_range\": Infinity, \"init_std\": -Infinity")), "accepted");
  EXPECT_EQ(config_error(llama_with("\"initializer_range\": NaN, \"prefix\": \"a NaN \\\" Infinity\"")), "accepted");
  EXPECT_THAT(config_error(config_with(llama_config, "\"hidden_size\": 4096", "\"hidden_size\": Infinity")),
      testing::HasSubstr("/hidden_size: found 'Infinity'"));
}

TEST(ReadHfConfig, NamesTheKeysOfTheFile) {
  EXPECT_THAT(config_error(config_with(llama_config, "\"num_key_value_heads\": 8", "\"num_key_value_heads\": 5")),
      testing::HasSubstr("config.json:/num_key_value_heads: 5 key-value heads do not divide 32 heads"));
}

TEST(ReadHfConfig, RefusesWhatItCannotSay) {
  EXPECT_NE(
      config_error(config_with(llama_config, "\"hidden_size\": 4096,", "")).find("/hidden_size"), std::string::npos);
  EXPECT_NE(
      config_error(config_with(llama_config, "\"num_hidden_layers\": 32", "\"num_hidden_layers\": 0")), "accepted");
  EXPECT_NE(
      config_error(config_with(llama_config, "\"silu\"", "\"relu2\"")).find("activation 'relu2'"), std::string::npos);
  EXPECT_NE(config_error(config_with(llama_config, "\"num_key_value_heads\": 8", "\"num_key_value_heads\": 5"))
                .find("do not divide"),
      std::string::npos);
  EXPECT_NE(config_error(config_with(llama_config, "\"num_key_value_heads\": 8", "\"num_key_value_heads\": 0"))
                .find("/num_key_value_heads"),
      std::string::npos);
  EXPECT_NE(
      config_error(config_with(llama_config, "[\"LlamaForCausalLM\"]", "\"LlamaForCausalLM\"")).find("/architectures"),
      std::string::npos);
  EXPECT_NE(config_error("[]"), "accepted");
  EXPECT_NE(config_error("{}").find("names no architecture"), std::string::npos);
}

TEST(ReadHfConfig, RefusesOffsetsBeyondThePeriod) {
  // One of eight layers attends, the first to the eighth; of two layers the first or the second has experts.
  const std::string jamba = R"({"architectures": ["JambaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
      "num_hidden_layers": 16, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1024,
      "attn_layer_period": 8, "attn_layer_offset": 7, "expert_layer_period": 2, "expert_layer_offset": 1,
      "max_position_embeddings": 4096})";
  EXPECT_EQ(config_error(jamba), "accepted");
  EXPECT_NE(config_error(config_with(jamba, "offset\": 7", "offset\": 9")).find("9 in a period of 8 layers"),
      std::string::npos);
  EXPECT_NE(config_error(config_with(jamba, "offset\": 1", "offset\": 2")).find("2 in a period of 2 layers"),
      std::string::npos);
}

TEST(LooksLikeHfConfig, TellsConfigsFromOurFiles) {
  EXPECT_TRUE(looks_like_hf_config(llama_config));
  EXPECT_TRUE(looks_like_hf_config(R"({"model_type": "llama"})"));
  EXPECT_FALSE(looks_like_hf_config("no JSON"));
  for (const NetworkSpec& row : built_in().networks) EXPECT_FALSE(looks_like_hf_config(write_network(row))) << row.id;
}

}  // namespace
}  // namespace stepcast
