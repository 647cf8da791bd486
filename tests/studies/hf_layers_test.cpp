// Layers that a config.json describes, as predict, show and serve count them: windows, picked blocks, experts.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::studies {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_program::run_line;

/// Gemma 4's small form: two layers take over keys, and all have inputs of their own.
TEST(HfLayers, LayersTakeOverKeysAndHaveInputs) {
  const std::string file = testing_program::own_path("small-gemma4.json");
  const auto write = [&](int sharing, int inputs) {
    std::ofstream(file) << R"({"architectures": ["Gemma4ForCausalLM"], "hidden_size": 128, "intermediate_size": 256,
      "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 32, "global_head_dim": 64,
      "sliding_window": 512, "vocab_size": 1024, "vocab_size_per_layer_input": 1024, "max_position_embeddings": 4096,
      "use_double_wide_mlp": true, "num_kv_shared_layers": )"
                        << sharing << R"(, "hidden_size_per_layer_input": )" << inputs
                        << R"(, "layer_types": ["sliding_attention", "full_attention", "sliding_attention",
      "full_attention"]})";
  };
  write(2, 16);
  const auto json = nlohmann::json::parse(run_line("show network " + file + " --json").out);
  EXPECT_FALSE(json.contains("not_forecast"));
  const int window = 2 * 128 * 128 + 32, full = 2 * 128 * 256 + 64, keys = 2 * 128 * 32 + 32 + 2 * 128 * 64 + 64;
  const int mlps = 2 * 3 * 128 * 256 + 2 * 3 * 128 * 512, own = 1024 * 16 + 3 * 128 * 16 + 128;
  EXPECT_EQ(json.at("parameters"), 1024 * 128 + 128 + 2 * (window + full) + keys + mlps + 4 * (own + 4 * 128 + 1) + 16);
  const std::string line = "predict " + file + " --machine dgx-h100 --gpus 8 --tp 2 --seq 2048";
  EXPECT_EQ(run_line(line).code, 0) << run_line(line).err;
  EXPECT_EQ(run_line(line + " --zero 3 --recompute full").code, 0);
  EXPECT_THAT(run_line(line + " --pp 2").err, HasSubstr("what others embedded or made of keys"));
  // keys and values of two layers are kept: 2 x 32 and 2 x 64 numbers of two bytes; the other two read them
  const auto decode = run_line("infer " + file + " --machine dgx-h100 --gpus 1 --phase decode --context 256 --json");
  ASSERT_EQ(decode.code, 0) << decode.err;
  const auto iteration = nlohmann::json::parse(decode.out);
  EXPECT_EQ(iteration.at("memory").at("cache_bytes_per_position"), 2 * 2 * (32 + 64));
  int attended = 0, kept = 0;
  for (const auto& part : iteration.at("parts")) {
    if (part.at("label") == "attn.core") attended += part.at("calls").get<int>();
    if (part.at("label") == "attn.cache") kept += part.at("calls").get<int>();
  }
  EXPECT_EQ(attended, 4);
  EXPECT_EQ(kept, 2);
  write(4, 16);
  EXPECT_THAT(run_line("show network " + file).err, HasSubstr("num_kv_shared_layers"));
}

/// MiniCPM 4.1: below dense_len all keys are seen, from it on picked blocks are, in training; -1: in all sequences.
TEST(HfLayers, LongerSequencesOfMiniCpmSeePickedBlocks) {
  const std::string file = testing_program::own_path("hf-minicpm.json");
  const auto write = [&](const char* dense) {
    std::ofstream(file) << R"({"architectures": ["MiniCPMForCausalLM"], "hidden_size": 1024, "intermediate_size": 4096,
    "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1024, "hidden_act": "silu",
    "max_position_embeddings": 8192, "scale_emb": 12, "dim_model_base": 256, "scale_depth": 1.4,
    "sparse_config": {"kernel_size": 32, "kernel_stride": 16, "init_blocks": 1, "block_size": 64, "window_size": 256,
    "topk": 4, "use_nope": false, "dense_len": )"
                        << dense << "}}";
  };
  const auto warned = [&](const std::string& line) { return run_line("predict " + file + " --gpus 8 " + line); };
  write("2048");
  EXPECT_EQ(warned("--seq 2047").code, 0);
  EXPECT_EQ(warned("--seq 2048 --tp 2").code, 0);
  EXPECT_THAT(warned("--seq 4096 --cp 2 --cp-kind ring").err, HasSubstr("chosen keys does not go round a ring"));
  EXPECT_EQ(warned("--seq 2046 --cp 2 --cp-kind ring --global-batch 16").code, 2) << "no multiple of 4";
  EXPECT_EQ(warned("--seq 2044 --cp 2 --cp-kind ring --global-batch 16").code, 0) << "all keys are seen";
  EXPECT_EQ(run_line("sweep " + file + " --gpus 8 --global-batch 64 --seq 4096").code, 0);
  EXPECT_THAT(run_line("show network " + file).out, HasSubstr("beyond 2047 positions queries see 512 picked keys"));
  write("-1");
  EXPECT_THAT(run_line("show network " + file).out, HasSubstr("queries see 512 picked keys"));
  EXPECT_EQ(warned("--seq 2047").code, 0);
}

/// SGLang keeps means of keys beside them, one for every 16 and one for every 64 positions, and picks in sequences from
/// dense_len on; vLLM runs such layers over all keys.
TEST(HfLayers, PickedBlocksAreServedByEnginesThatHaveThem) {
  const std::string file = testing_program::own_path("hf-minicpm-served.json");
  std::ofstream(file) << R"({"architectures": ["MiniCPMForCausalLM"], "hidden_size": 1024, "intermediate_size": 4096,
    "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1024, "hidden_act": "silu",
    "max_position_embeddings": 131072, "scale_emb": 12, "dim_model_base": 256, "scale_depth": 1.4,
    "sparse_config": {"kernel_size": 32, "kernel_stride": 16, "init_blocks": 1, "block_size": 64, "window_size": 256,
    "topk": 4, "use_nope": false, "dense_len": 2048}})";
  const auto infer = [&](const std::string& more) {
    const auto run = run_line("infer " + file + " --gpus 1 --json " + more);
    EXPECT_EQ(run.code, 0) << run.err;
    return nlohmann::json::parse(run.out);
  };
  const auto time_of = [](const nlohmann::json& iteration, const std::string& kernel) {
    double time = 0;
    for (const auto& part : iteration.at("parts"))
      if (part.at("label").get<std::string>().starts_with(kernel)) time += part.at("time_s").get<double>();
    return time;
  };
  const auto short_one = infer("--engine sglang --context 2046"), first = infer("--engine sglang --context 2047"),
             longer = infer("--engine sglang --context 65536"), dense = infer("--engine vllm --context 65536");
  EXPECT_EQ(time_of(short_one, "index.scores"), 0);
  EXPECT_GT(time_of(first, "index.scores"), 0);
  EXPECT_GT(time_of(longer, "index.scores"), 0);
  EXPECT_GT(time_of(longer, "index.means"), 0);
  EXPECT_EQ(time_of(dense, "index."), 0);
  EXPECT_LT(time_of(longer, "attn.core"), time_of(dense, "attn.core") / 2) << "of 65536 keys 512 are seen";
  // keys and values of 4 layers x 2 heads of 128 in two bytes, and means of the keys
  const double keys = 4 * 2 * 128 * 2.0;
  EXPECT_DOUBLE_EQ(longer.at("memory").at("cache_bytes_per_position").get<double>(), 2 * keys + keys / 16 + keys / 64);
  EXPECT_DOUBLE_EQ(dense.at("memory").at("cache_bytes_per_position").get<double>(), 2 * keys);
  EXPECT_THAT(dense.dump(), HasSubstr("every query sees all keys"));
  EXPECT_EQ(run_line("serve " + file + " --engine sglang --gpus 1 --input 4000 --output 49 --concurrency 4").code, 0);
}

/// Layers that no operator describes are counted and named, and not forecast.
TEST(HfLayers, ShowCountsLayersThatPredictRefuses) {
  const std::string file = testing_program::own_path("hf-bert.json");
  std::ofstream(file) << R"({"architectures": ["BertModel"], "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100, "max_position_embeddings": 32,
    "type_vocab_size": 2, "hidden_act": "gelu"})";
  const auto shown = run_line("show network " + file + " --json");
  ASSERT_EQ(shown.code, 0) << shown.err;
  const auto json = nlohmann::json::parse(shown.out);
  EXPECT_GT(json.at("parameters_by_part").at("language"), 2 * (4 * 64 * 64 + 2 * 64 * 128));
  EXPECT_THAT(json.at("not_forecast")[0].get<std::string>(), HasSubstr("a loss"));
  EXPECT_THAT(run_line("show network " + file).out, HasSubstr("not forecast: a loss"));
  const auto refused = run_line("predict " + file + " --gpus 8");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("these layers are not forecast: a loss"));
  EXPECT_THAT(refused.err, HasSubstr("stepcast show network"));
}

/// Heads and widths of every shape divide over tp.
TEST(HfLayers, LayersOfTheirOwnShapeAreSplitAsTheOthers) {
  const std::string file = testing_program::own_path("shaped.json");
  std::ofstream(file) << R"({"id": "shaped", "layers": 4, "hidden": 512, "ffn_hidden": 1024, "heads": 8, "vocab": 1000,
    "sequence": 1024, "norm": "rmsnorm", "activation": "swiglu", "positions": "rope", "pattern": "*- *-:narrow", "shapes": [{"name": "narrow", "heads": 4, "kv_heads": 4, "ffn_hidden": 768}]})";
  EXPECT_EQ(run_line("predict " + file + " --machine dgx-h100 --gpus 8 --tp 4").code, 0);
  const auto refused = run_line("predict " + file + " --machine dgx-h100 --gpus 8 --tp 8");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("1, 2, 4"));
}

TEST(HfLayers, WindowsTakeTheirOwnTimeAndRefuseWhatIsNotBuilt) {
  const std::string far = "predict mistral-7b --gpus 8 --seq 32k --zero 3 --recompute full";
  const auto ran = run_line(far);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("attention in 32 of 32 layers sees the last 4096 positions"));
  EXPECT_THAT(run_line("predict mistral-7b --gpus 8").out, testing::Not(HasSubstr("sees the last")));
  const auto ring = run_line(far + " --cp 2");
  EXPECT_EQ(ring.code, 2);
  EXPECT_THAT(ring.err, HasSubstr("attention in a window of 4096 positions does not go round a ring of cp 2"));
  EXPECT_THAT(ring.err, HasSubstr("--cp-kind gather"));
  EXPECT_EQ(run_line(far + " --cp 2 --cp-kind gather").code, 0);
  EXPECT_EQ(run_line(far + " --cp 2 --cp-kind ulysses").code, 0);
  const auto slices = run_line("predict mistral-7b --gpus 8 --pp 2 --seq 32k --schedule seq-1f1b --seq-splits 4");
  EXPECT_EQ(slices.code, 2);
  EXPECT_THAT(slices.err, HasSubstr("the window of 4096 positions ends in earlier slices"));
}

/// InternVL3's files name experts that its encoder does not have.
TEST(HfLayers, ExpertsThatAConfigSwitchesOffAreNone) {
  const std::string file = testing_program::own_path("hf-internvl.json");
  const auto write = [&](const std::string& used) {
    std::ofstream(file) << R"({"architectures": ["InternVLChatModel"], "model_type": "internvl_chat",
      "downsample_ratio": 0.5, "select_layer": -1, "llm_config": {"architectures": ["Qwen2ForCausalLM"],
      "model_type": "qwen2", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
      "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 1000, "max_position_embeddings": 4096},
      "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
      "image_size": 448, "patch_size": 14, "norm_type": "layer_norm", "qkv_bias": true, "qk_normalization": false,
      "num_experts": 8, "num_routed_experts": 4, "num_shared_experts": 4, "capacity_factor": 1.2,
      "eval_capacity_factor": 1.4, "laux_allreduce": "all_nodes", "moe_coeff_ratio": 0.5, "moe_intermediate_size": 768,
      "moe_output_scale": 4.0, "noisy_gate_policy": "RSample_before", "use_residual": true, "use_rts": false,
      "use_weighted_residual": false, "use_moe": )" +
                               used + "}}";
  };
  const std::string line = "predict " + file + " --machine dgx-h100 --gpus 8 --seq 2048 --images 2";
  write("false");
  EXPECT_THAT(run_line(line).out, HasSubstr("2 images of 1025 patches"));
  write("true");
  const auto run = run_line(line);
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("num_experts 8"));
}

/// Qwen3 30B-A3B: 48 layers, 8 of whose 128 experts, three matrices of 2048 x 768 each, a token meets.
TEST(HfLayers, ActiveParametersLeaveOutExpertsThatATokenDoesNotChoose) {
  constexpr std::int64_t all = 30'532'122'624, idle = 48LL * (128 - 8) * 3 * 2048 * 768;
  const auto run = nlohmann::json::parse(run_line("predict qwen3-30b-a3b --gpus 8 --ep 8 --json").out).at("run");
  EXPECT_EQ(run.at("parameters"), all);
  EXPECT_EQ(run.at("active_parameters"), all - idle);
  EXPECT_THAT(run_line("show network qwen3-30b-a3b").out,
      HasSubstr("30,532,122,624 parameters\n3,353,032,704 of them are met by a token"));

  // Biases go with their experts.
  const auto own = run_line("show network gpt-oss-20b --json");
  const std::string file = testing_program::own_path("hf-own-experts.json");
  std::ofstream(file) << own.out;
  const auto shown = nlohmann::json::parse(run_line("show network " + file + " --json").out);
  constexpr std::int64_t expert = 3 * 2880 * 2880 + 2 * 2880 + 2880;
  EXPECT_EQ(shown.at("parameters").get<std::int64_t>() - shown.at("active_parameters").get<std::int64_t>(),
      24 * (32 - 4) * expert);
  EXPECT_THAT(run_line("predict " + file + " --gpus 8").out, HasSubstr("parameters, of which a token meets"));
}

}  // namespace
}  // namespace stepcast::studies
