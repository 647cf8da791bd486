// Networks straight from a Hugging Face config.json, as a user names them on the command line.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::studies {
namespace {

using testing::HasSubstr;
using testing_program::run_line;

/// Llama 3 8B under the given architecture's name.
std::string config_file(const std::string& architecture) {
  const auto folder = std::filesystem::path(testing_program::own_path("hf-" + architecture));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "config.json").string();
  std::ofstream(path) << R"({"architectures": [")" << architecture
                      << R"("], "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "hidden_act": "silu",
    "max_position_embeddings": 8192, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})";
  return path;
}

TEST(HfNetwork, FromAFileGivesTheForecastOfItsCatalogueRow) {
  const auto own = run_line("predict " + config_file("LlamaForCausalLM") + " --tp 2 --gpus 16 --json");
  const auto row = run_line("predict llama3-8b --tp 2 --gpus 16 --json");
  ASSERT_EQ(own.code, 0) << own.err;
  ASSERT_EQ(row.code, 0) << row.err;
  EXPECT_EQ(nlohmann::json::parse(own.out).at("step_time_s"), nlohmann::json::parse(row.out).at("step_time_s"));
}

TEST(HfNetwork, PrintsWhatTheConfigLeftOpen) {
  const auto ran = run_line("predict " + config_file("LlamaForCausalLM") + " --gpus 8");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("config: sequence 8192, its max_position_embeddings, as it has no training length"));
}

TEST(HfNetwork, ExplainsAnUnknownArchitectureAndTriesItAsALlama) {
  const std::string file = config_file("NewThingForCausalLM");
  const auto refused = run_line("predict " + file + " --gpus 8");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("the architecture 'NewThingForCausalLM' is not known"));
  EXPECT_THAT(refused.err, HasSubstr("--as llama"));
  const auto tried = run_line("predict " + file + " --as llama --gpus 8");
  ASSERT_EQ(tried.code, 0) << tried.err;
  EXPECT_THAT(tried.out, HasSubstr("config: NewThingForCausalLM read as llama"));
}

/// Layers of two kinds, an image encoder beside them, a prediction module.
TEST(HfNetwork, ShowSaysWhatWasRead) {
  const std::string file = testing_program::own_path("hf-show.json");
  std::ofstream(file) << R"({"architectures": ["Qwen3_5ForConditionalGeneration"], "tie_word_embeddings": false,
    "text_config": {"hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 256, "vocab_size": 1000, "max_position_embeddings": 4096, "hidden_act": "silu",
      "linear_num_key_heads": 4, "linear_num_value_heads": 8, "linear_key_head_dim": 64, "linear_value_head_dim": 64,
      "linear_conv_kernel_dim": 4, "full_attention_interval": 4, "attention_bias": false, "attn_output_gate": true,
      "mtp_num_hidden_layers": 1},
    "vision_config": {"depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 4, "in_channels": 3,
      "num_position_embeddings": 100, "out_hidden_size": 512, "patch_size": 16, "spatial_merge_size": 2,
      "temporal_patch_size": 2, "deepstack_visual_indexes": []}})";
  const auto shown = run_line("show network " + file + " --json");
  ASSERT_EQ(shown.code, 0) << shown.err;
  const auto json = nlohmann::json::parse(shown.out);
  EXPECT_EQ(json.at("layers_by_kind"),
      nlohmann::json::parse(R"([{"kind": "*-", "layers": 2}, {"kind": "M-", "layers": 6}])"));
  EXPECT_EQ(json.at("vision_layers_by_kind"), nlohmann::json::parse(R"([{"kind": "*-", "layers": 2}])"));
  const auto& parts = json.at("parameters_by_part");
  std::int64_t sum = 0;
  for (const char* part : {"language", "vision", "projector"}) sum += parts.at(part).get<std::int64_t>();
  EXPECT_EQ(json.at("parameters"), sum) << "all but multi-token prediction";
  // patches, positions, two layers: norms, queries, keys and values, output, MLP
  EXPECT_EQ(
      parts.at("vision"), 3 * 2 * 256 * 64 + 64 + 100 * 64 +
                              2 * (4 * 64 + (64 * 192 + 192) + (64 * 64 + 64) + (64 * 128 + 128) + (128 * 64 + 64)));
  EXPECT_EQ(parts.at("projector"), 2 * 64 + (256 * 256 + 256) + (256 * 512 + 512));
  EXPECT_GT(parts.at("multi_token_prediction").get<std::int64_t>(), 0);
  EXPECT_THAT(run_line("show network " + file).out, HasSubstr("multi token prediction"));
  EXPECT_THAT(run_line("predict " + file + " --gpus 8").out, HasSubstr("text alone"));
  const auto unread = run_line("show network " + config_file("NewThingForCausalLM"));
  EXPECT_EQ(unread.code, 2);
  EXPECT_EQ(run_line("show network " + config_file("NewThingForCausalLM") + " --as llama").code, 0);
}

/// 4 layers of text 128 wide behind 2 layers of patches 64 wide, of which 4 become one row.
TEST(HfNetwork, ImagesStandInPlaceOfWords) {
  const std::string file = testing_program::own_path("hf-vl.json");
  const auto write = [&](const std::string& more) {
    std::ofstream(file) << R"({"architectures": ["Qwen3VLForConditionalGeneration"], "text_config": {"hidden_size": 128,
      "intermediate_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 32,
      "vocab_size": 1000, "max_position_embeddings": 4096}, "vision_config": {"hidden_size": 64, "depth": 2, "num_heads": 4,
      "intermediate_size": 128, "patch_size": 16, "num_position_embeddings": 64, "out_hidden_size": 128)" +
                               more + "}}";
  };
  write("");
  const auto json = nlohmann::json::parse(run_line("show network " + file + " --json").out);
  const int layer = 4 * (64 * 64 + 64) + 64 * 128 + 128 + 128 * 64 + 64 + 4 * 64;
  EXPECT_EQ(json.at("parameters_by_part").at("vision"), 2 * 3 * 256 * 64 + 64 + 64 * 64 + 2 * layer);
  EXPECT_EQ(json.at("parameters_by_part").at("projector"), 2 * 64 + 256 * 256 + 256 + 256 * 128 + 128);
  const std::string line = "predict " + file + " --machine dgx-h100 --gpus 8 --seq 2048 --tp 2";
  const auto time = [](const std::string& run) {
    const auto answer = run_line(run + " --json");
    EXPECT_EQ(answer.code, 0) << answer.err;
    return nlohmann::json::parse(answer.out).at("step_time_s").get<double>();
  };
  const std::string seeing = line + " --images 4 --encoder-seq 1024";
  EXPECT_THAT(run_line(line).out, HasSubstr("text alone, without the network's encoder"));
  EXPECT_THAT(run_line(seeing).out, HasSubstr("4 images of 1024 patches"));
  EXPECT_LT(time(line), time(seeing + " --freeze encoder"));
  EXPECT_LT(time(seeing + " --freeze encoder"), time(seeing));
  EXPECT_LT(time(seeing + " --freeze encoder,language"), time(seeing + " --freeze encoder"));
  EXPECT_GT(time(line.substr(0, line.size() - 1) + "1 --pp 2 --images 4 --encoder-seq 1024"), 0)
      << "the first stage has the images";
  const std::string again = testing_program::own_path("vl-scenario.json");
  std::ofstream(again) << run_line(seeing + " --freeze encoder,language --print-scenario").out;
  EXPECT_EQ(time("predict " + again), time(seeing + " --freeze encoder,language"));
  const auto refused = [](const std::string& run, const char* why) { EXPECT_THAT(run_line(run).err, HasSubstr(why)); };
  refused(line + " --encoder-seq 64", "how many images");
  refused(line + " --freeze projector", "how many images");
  refused(line + " --images 4", "of how many patches its images are");
  refused(line + " --images 4 --encoder-seq 1022", "of which 4 make one row");
  refused(line + " --images 9 --encoder-seq 1024", "do not fit into a sequence of 2048");
  refused(seeing + " --freeze encoder,projector,language", "nothing of the network is trained");
  refused(seeing + " --freeze eyes", "encoder,projector,language");
  refused(seeing + " --emit megatron", "an encoder of images");
  refused("predict llama3-8b --gpus 8 --images 2", "no encoder of images");
  write(R"(, "num_experts": 8)");
  EXPECT_THAT(run_line("show network " + file).out, HasSubstr("vision_config has num_experts 8"));
  refused(seeing, "is not read: vision_config has num_experts 8");
}

/// 3 layers of text 64 wide that hear: clips of 10 to 16 positions or more of which two become one row, in pieces of 4.
/// The same text sees, too, and a run says which of the two it has.
TEST(HfNetwork, SoundStandsInPlaceOfWords) {
  const std::string file = testing_program::own_path("hf-omni.json");
  std::ofstream(file) << R"({"architectures": ["Qwen2_5OmniForConditionalGeneration"], "thinker_config": {
    "text_config": {"hidden_size": 128, "intermediate_size": 256, "num_attention_heads": 4, "num_key_value_heads": 4,
      "num_hidden_layers": 4, "vocab_size": 1000, "max_position_embeddings": 4096, "tie_word_embeddings": false,
      "use_sliding_window": false, "model_type": "qwen2_5_omni_text"},
    "audio_config": {"d_model": 64, "encoder_layers": 2, "encoder_attention_heads": 4, "encoder_ffn_dim": 128,
      "num_mel_bins": 16, "n_window": 4, "output_dim": 128, "model_type": "qwen2_5_omni_audio_encoder"},
    "vision_config": {"depth": 2, "hidden_size": 64, "embed_dim": 64, "intermediate_size": 128, "num_heads": 4,
      "in_channels": 3, "out_hidden_size": 128, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2,
      "window_size": 112, "fullatt_block_indexes": [1]}}})";
  const std::string line = "predict " + file + " --machine dgx-h100 --gpus 8 --seq 1024";
  const auto time = [](const std::string& run) {
    const auto answer = run_line(run + " --json");
    EXPECT_EQ(answer.code, 0) << answer.err;
    return nlohmann::json::parse(answer.out).at("step_time_s").get<double>();
  };
  const std::string hearing = line + " --clips 2 --encoder-seq 512";
  EXPECT_THAT(run_line(hearing).out, HasSubstr("2 clips of 512 positions"));
  EXPECT_THAT(run_line(line + " --images 2 --encoder-seq 256").out, HasSubstr("2 images of 256 patches"));
  EXPECT_LT(time(line), time(hearing + " --freeze encoder"));
  EXPECT_LT(time(hearing + " --freeze encoder"), time(hearing));
  const std::string again = testing_program::own_path("omni-scenario.json");
  std::ofstream(again) << run_line(hearing + " --print-scenario").out;
  EXPECT_EQ(time("predict " + again), time(hearing));
  const auto refused = [](const std::string& run, const char* why) { EXPECT_THAT(run_line(run).err, HasSubstr(why)); };
  refused(line + " --clips 2", "of how many positions its clips are");
  refused(line + " --clips 2 --encoder-seq 511", "of which 2 make one row");
  refused(line + " --clips 5 --encoder-seq 512", "5 clips of 256 rows do not fit");
  refused(hearing + " --images 1", "images and sound in one sequence");
  refused("predict llama3-8b --gpus 8 --clips 2", "no encoder of sound");
  const auto json = nlohmann::json::parse(run_line("show network " + file + " --json").out);
  const auto& parts = json.at("parameters_by_part");
  EXPECT_EQ(parts.at("audio_projector"), 2 * 64 + 64 * 128 + 128);
  EXPECT_GT(parts.at("vision").get<std::int64_t>(), 0);
}

/// InternVL3's files name experts that its encoder does not have.
TEST(HfNetwork, ExpertsThatAConfigSwitchesOffAreNone) {
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

/// What `show` prints of a config.json is a network, too, with what it counts beside the text.
TEST(HfNetwork, WhatIsShownOfAFileIsForecast) {
  const std::string file = config_file("LlamaForCausalLM"), shown = testing_program::own_path("shown.json");
  std::ofstream(shown) << run_line("show network " + file + " --json").out;
  const auto figures = [](const std::string& network) {
    const auto run = run_line("predict " + network + " --machine dgx-h100 --gpus 8 --json");
    EXPECT_EQ(run.code, 0) << run.err;
    return nlohmann::json::parse(run.out).at("step_time_s").get<double>();
  };
  EXPECT_EQ(figures(shown), figures(file));
  auto json = nlohmann::json::parse(run_line("show network " + shown + " --json").out);
  EXPECT_EQ(
      json.at("parameters"), nlohmann::json::parse(run_line("show network " + file + " --json").out)["parameters"]);
  json["parameters_by_part"]["vision"] = 1000;
  std::ofstream(shown) << json;
  EXPECT_THAT(run_line("predict " + shown + " --machine dgx-h100 --gpus 8").out, HasSubstr("vision of"));
  json["network"]["layers"] = 0;
  std::ofstream(shown) << json;
  EXPECT_THAT(run_line("predict " + shown + " --gpus 8").err, HasSubstr("shown.json:/network/layers"));
}

/// Llama 3.2 Vision: rows of images are in no sequence, and what makes them may be frozen.
TEST(HfNetwork, LayersLookAtImages) {
  const std::string line = "predict llama3.2-11b-vision --machine dgx-h100 --gpus 16 --tp 8 --seq 2048";
  const auto time = [](const std::string& run) {
    const auto answer = run_line(run + " --json");
    EXPECT_EQ(answer.code, 0) << answer.err;
    return nlohmann::json::parse(answer.out).at("step_time_s").get<double>();
  };
  EXPECT_LT(time(line + " --images 1 --freeze encoder"), time(line + " --images 1"));
  EXPECT_LT(time(line + " --images 1"), time(line + " --images 2"));
  EXPECT_THAT(run_line(line).err, HasSubstr("--images 1"));
  EXPECT_THAT(run_line(line + " --images 1 --pp 2").err, HasSubstr("does not go from stage to stage"));
  const auto json = nlohmann::json::parse(run_line("show network llama3.2-11b-vision --json").out);
  EXPECT_EQ(json.at("encoder").at("layers"), 40);
}

/// Gemma 4's small form: two layers take over keys, and all have inputs of their own.
TEST(HfNetwork, LayersTakeOverKeysAndHaveInputs) {
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
  EXPECT_THAT(run_line("infer " + file + " --prompt 512").err, HasSubstr("what others embedded or made of keys"));
  write(4, 16);
  EXPECT_THAT(run_line("show network " + file).err, HasSubstr("num_kv_shared_layers"));
}

/// An encoder and a decoder, part by part; neither says how long its sequences are.
TEST(HfNetwork, EncodersStandInFrontOfDecoders) {
  const std::string file = testing_program::own_path("hf-t5.json");
  std::ofstream(file) << R"({"architectures": ["T5ForConditionalGeneration"], "d_model": 64, "d_ff": 128, "d_kv": 16,
    "num_heads": 4, "num_layers": 2, "num_decoder_layers": 3, "vocab_size": 128, "feed_forward_proj": "gated-gelu",
    "relative_attention_num_buckets": 32, "tie_word_embeddings": false})";
  const auto shown = run_line("show network " + file + " --json");
  ASSERT_EQ(shown.code, 0) << shown.err;
  const auto json = nlohmann::json::parse(shown.out);
  const int attention = 4 * 64 * 64, mlp = 3 * 64 * 128, distances = 32 * 4, tables = 2 * 128 * 64;
  EXPECT_EQ(json.at("parameters_by_part").at("encoder"), 2 * (attention + mlp + 2 * 64) + 64 + distances);
  EXPECT_EQ(json.at("parameters_by_part").at("decoder"), 3 * (2 * attention + mlp + 3 * 64) + 64 + distances + tables);
  const std::string line = "predict " + file + " --machine dgx-h100 --gpus 8";
  EXPECT_THAT(run_line(line).err, HasSubstr("--encoder-seq"));
  EXPECT_THAT(run_line(line + " --encoder-seq 512").err, HasSubstr("does not say how long its sequences are"));
  const std::string told = line + " --encoder-seq 512 --seq 128 --tp 2";
  const auto some = run_line(told + " --json"), twice = run_line(line + " --encoder-seq 1024 --seq 128 --tp 2 --json");
  ASSERT_EQ(some.code, 0) << some.err;
  EXPECT_LT(nlohmann::json::parse(some.out).at("step_time_s").get<double>(),
      nlohmann::json::parse(twice.out).at("step_time_s").get<double>());
  const std::string again = testing_program::own_path("t5-scenario.json");
  std::ofstream(again) << run_line(told + " --print-scenario").out;
  const auto repeated = run_line("predict " + again + " --json");
  ASSERT_EQ(repeated.code, 0) << repeated.err;
  EXPECT_EQ(nlohmann::json::parse(repeated.out).at("step_time_s"), nlohmann::json::parse(some.out).at("step_time_s"));
  EXPECT_THAT(run_line(told).out, HasSubstr("encoder of 512 positions"));
  EXPECT_THAT(run_line("predict t5-v1.1-xxl --gpus 8 --pp 2").err, HasSubstr("does not go from stage to stage"));
  EXPECT_THAT(run_line(line + " --encoder-seq 512 --seq 128 --tp 8").err, HasSubstr("heads"));
  EXPECT_THAT(
      run_line(line + " --encoder-seq 511 --seq 128 --tp 2 --sp on").err, HasSubstr("511 positions of the enc"));
  EXPECT_THAT(run_line("predict llama3-8b --gpus 8 --encoder-seq 5").err, HasSubstr("has no encoder"));
  EXPECT_THAT(run_line("predict whisper-large-v3 --gpus 8 --encoder-seq 3000").err, HasSubstr("at most 1500"));
  EXPECT_THAT(run_line(told + " --emit megatron").err, HasSubstr("an encoder, and layers that look at it"));
}

/// Layers that no operator describes are counted and named, and not forecast.
TEST(HfNetwork, ShowCountsLayersThatPredictRefuses) {
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

/// Numbers in place of words: patches sorted into classes, latents that give numbers, positions that join.
TEST(HfNetwork, NetworksOfNumbersAreAskedForTheirLengths) {
  const std::string flux = testing_program::own_path("hf-flux.json");
  std::ofstream(flux)
      << R"({"_class_name": "FluxTransformer2DModel", "attention_head_dim": 16, "num_attention_heads": 4,
    "num_layers": 1, "num_single_layers": 2, "in_channels": 64, "joint_attention_dim": 32, "pooled_projection_dim": 24,
    "guidance_embeds": true})";
  const std::string line = "predict " + flux + " --machine dgx-h100 --gpus 8";
  EXPECT_THAT(run_line(line).err, HasSubstr("--encoder-seq"));
  EXPECT_THAT(run_line(line + " --encoder-seq 64").err, HasSubstr("of how many patches its samples are"));
  EXPECT_EQ(run_line(line + " --encoder-seq 64 --seq 128 --tp 2 --cp 2").code, 0);
  EXPECT_THAT(run_line(line + " --encoder-seq 64 --seq 128 --flops nvidia").err, HasSubstr("counts no encoders"));
  EXPECT_THAT(run_line(line + " --encoder-seq 64 --seq 128 --emit megatron").err, HasSubstr("in place of words"));
  EXPECT_THAT(run_line("predict dit-xl-2 --gpus 8 --pp 2").err, HasSubstr("look at a sample's vectors"));
  EXPECT_THAT(run_line("predict vit-large --gpus 8 --seq 400").err, HasSubstr("learned positions for 197"));
}

TEST(HfNetwork, AFrozenEncoderHasNoBackwardAndNoOptimizer) {
  const std::string line = "predict whisper-large-v3 --machine dgx-h100 --gpus 8 --micro-batch 8";
  const auto all = nlohmann::json::parse(run_line(line + " --json").out),
             some = nlohmann::json::parse(run_line(line + " --freeze encoder --json").out);
  const auto part = [](const nlohmann::json& json, const char* what) {
    return json.at("memory").at("by_lifetime_bytes").at(what).get<double>();
  };
  // The encoder has 636,968,960 of 1,543,490,560 parameters; with zero 1 an eighth of 12 bytes for each trained one.
  EXPECT_EQ(part(all, "weights"), part(some, "weights"));
  EXPECT_NEAR(part(some, "optimizer") / part(all, "optimizer"), 906521600.0 / 1543490560, 1e-3);
  EXPECT_LT(part(some, "activations"), 0.6 * part(all, "activations"));
  EXPECT_NEAR(some.at("phases_s").at("forward").get<double>() / all.at("phases_s").at("forward").get<double>(), 1, 0.03)
      << "fewer weights are gathered beside it";
  EXPECT_LT(some.at("phases_s").at("backward").get<double>(), 0.6 * all.at("phases_s").at("backward").get<double>());
  EXPECT_LT(some.at("mfu").get<double>(), 1.3 * all.at("mfu").get<double>()) << "its backward is not counted either";
  EXPECT_THAT(run_line(line + " --freeze encoder").out, HasSubstr("frozen encoder of 1500 positions"));
  EXPECT_THAT(run_line("predict llama3-8b --gpus 8 --freeze encoder").err, HasSubstr("has no encoder"));
  EXPECT_THAT(run_line("predict t5-v1.1-xxl --gpus 8 --freeze encoder").err,
      HasSubstr("table of words that its decoder trains"));
  EXPECT_THAT(run_line("predict t5-v1.1-xxl --gpus 8 --freeze encoder,language").err,
      HasSubstr("the encoder of t5-v1.1-xxl is not of images"));
  EXPECT_THAT(run_line(line + " --freeze all").err, HasSubstr("encoder"));
  const std::string again = testing_program::own_path("frozen.json");
  std::ofstream(again) << run_line(line + " --freeze encoder --print-scenario").out;
  EXPECT_EQ(
      nlohmann::json::parse(run_line("predict " + again + " --json").out).at("step_time_s"), some.at("step_time_s"));
}

/// Every framework's file says what it does not hold.
TEST(HfNetwork, NetworksOfNumbersAreWrittenWithWhatTheFilesLack) {
  for (const char* network : {"flux.1-dev", "t5-v1.1-xxl", "vit-large", "dit-xl-2", "wan2.1-14b", "whisper-large-v3"})
    for (const char* target : {"megatron", "nemo", "deepspeed", "torchtitan", "accelerate", "llm-foundry"}) {
      const auto run = run_line(std::string("predict ") + network + " --gpus 8 --emit " + target);
      EXPECT_EQ(run.err.find("fault of stepcast"), std::string::npos) << network << " " << target << run.err;
    }
}

/// No step of such networks was fitted on: the interval is that of the few that are measured.
TEST(HfNetwork, IntervalsOfNetworksThatNobodyMeasuredAreWide) {
  for (const char* network : {"flux.1-dev", "t5-v1.1-xxl --tp 4", "vit-large", "bert-large --masked-share 0.15"}) {
    const std::string line = std::string("predict ") + network + " --gpus 8";
    const auto json = nlohmann::json::parse(run_line(line + " --json").out);
    const double step = json.at("step_time_s");
    EXPECT_LE(json.at("step_time_interval_s")[0].get<double>(), 0.66 * step) << network;
    EXPECT_GE(json.at("step_time_interval_s")[1].get<double>(), 1.27 * step) << network;
    EXPECT_THAT(run_line(line).out, HasSubstr("widened to that of nine")) << network;
  }
}

/// A double block's positions have weights of their own: a sample of 256 and 256 positions is 20.4 TFLOP of training
/// (MLPerf v5.1 counts 20.3).
TEST(HfNetwork, FluxCountsBothKindsOfPositions) {
  const auto run = run_line("predict flux.1-dev --gpus 8 --seq 256 --encoder-seq 256 --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  const double samples = json.at("run").at("global_batch").get<double>();
  const double flops = json.at("model_flops_per_s_per_gpu").get<double>() * 8 * json.at("step_time_s").get<double>();
  EXPECT_NEAR(flops / samples, 20.4e12, 0.05e12);
}

/// Heads and widths of every shape divide over tp.
TEST(HfNetwork, LayersOfTheirOwnShapeAreSplitAsTheOthers) {
  const std::string file = testing_program::own_path("shaped.json");
  std::ofstream(file) << R"({"id": "shaped", "layers": 4, "hidden": 512, "ffn_hidden": 1024, "heads": 8, "vocab": 1000,
    "sequence": 1024, "norm": "rmsnorm", "activation": "swiglu", "positions": "rope", "pattern": "*- *-:narrow", "shapes": [{"name": "narrow", "heads": 4, "kv_heads": 4, "ffn_hidden": 768}]})";
  EXPECT_EQ(run_line("predict " + file + " --machine dgx-h100 --gpus 8 --tp 4").code, 0);
  const auto refused = run_line("predict " + file + " --machine dgx-h100 --gpus 8 --tp 8");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("1, 2, 4"));
}

/// An encoder is asked of how many positions it makes logits; other networks are not.
TEST(HfNetwork, AnEncoderIsAskedForItsMaskedShare) {
  const std::string line = "predict bert-large --machine dgx-h100 --gpus 8 --micro-batch 4 --global-batch 256";
  EXPECT_THAT(run_line(line).err, HasSubstr("does not say of how many positions it makes logits"));
  for (const char* wrong : {"0", "1.5", "15%", "-1", "x", "nan"})
    EXPECT_THAT(run_line(line + " --masked-share " + wrong).err, HasSubstr("is no share of the positions")) << wrong;
  EXPECT_THAT(run_line("predict llama3-8b --gpus 8 --masked-share 0.5").err, HasSubstr("predicts no masked tokens"));
  const auto few = run_line(line + " --masked-share 0.15 --json"), all = run_line(line + " --masked-share 1 --json");
  ASSERT_EQ(few.code, 0) << few.err;
  const auto time = [](const auto& ran) {
    return nlohmann::json::parse(ran.out).at("step_time_s").template get<double>();
  };
  EXPECT_LT(time(few), time(all));
  EXPECT_THAT(run_line(line + " --masked-share 0.15").out, HasSubstr("attention counted full"));
  const std::string again = testing_program::own_path("masked.json");
  std::ofstream(again) << run_line(line + " --masked-share 0.15 --print-scenario").out;
  EXPECT_EQ(nlohmann::json::parse(run_line("predict " + again + " --json").out).at("step_time_s"), time(few));
  const auto written = run_line(line + " --masked-share 0.15 --emit deepspeed");
  EXPECT_THAT(written.out + written.err, HasSubstr("--masked-share 0.15"));
  for (const char* split :
      {"--tp 4", "--tp 2 --cp 2", "--tp 2 --cp 2 --cp-kind gather", "--pp 4 --tp 2", "--tp 2 --sp off"})
    EXPECT_EQ(run_line(line + " --masked-share 0.15 " + split).code, 0) << split;
}

TEST(HfNetwork, ANetworkWithoutALengthIsAskedForOne) {
  const std::string file = testing_program::own_path("hf-mamba2.json");
  std::ofstream(file) << R"({"architectures": ["Mamba2ForCausalLM"], "hidden_size": 256, "num_hidden_layers": 4,
    "num_heads": 8, "head_dim": 64, "state_size": 64, "n_groups": 1, "vocab_size": 1000, "tie_word_embeddings": true})";
  EXPECT_THAT(run_line("predict " + file + " --gpus 8").err, HasSubstr("does not say how long its sequences are"));
  EXPECT_EQ(run_line("predict " + file + " --gpus 8 --seq 2048").code, 0);
}

/// As a program counts in the words of its maker.
TEST(HfNetwork, FlopsAsNvidiaPrintsThem) {
  EXPECT_THAT(run_line("predict nemotron-3-nano --gpus 8 --ep 8 --flops nvidia").out, HasSubstr("NVIDIA's count"));
  EXPECT_THAT(run_line("predict deepseek-v4-flash --gpus 64 --ep 8 --flops torchtitan").out,
      HasSubstr("92,762,352,876 FLOPs per token"));
  EXPECT_THAT(run_line("predict nemotron-3-nano --gpus 8 --ep 8 --flops nvdia").err, HasSubstr("no way to count"));
}

TEST(HfNetwork, AsIsRefusedWhereNothingIsToBeRead) {
  EXPECT_THAT(run_line("predict llama3-8b --as llama").err, HasSubstr("is a catalogue network"));
  EXPECT_THAT(
      run_line("predict " + config_file("LlamaForCausalLM") + " --as lama").err, HasSubstr("unknown value 'lama'"));
  const std::string scenario = testing_program::own_path("hf-scenario.json");
  std::ofstream(scenario) << R"({"network": "llama3-8b", "machine": "dgx-h100"})";
  const auto ran = run_line("predict " + scenario + " --as llama");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("is a scenario file"));
}

TEST(HfNetwork, ScenarioFilesNameConfigsToo) {
  const std::string scenario = testing_program::own_path("hf-scenario-of-config.json");
  std::ofstream(scenario) << R"({"network": ")" << config_file("LlamaForCausalLM")
                          << R"(", "machine": "dgx-h100", "gpus": 8})";
  const auto ran = run_line("predict " + scenario);
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST(HfNetwork, PrintsItsParametersAndTheRowThatItIs) {
  const std::string file = config_file("LlamaForCausalLM");
  const auto text = run_line("predict " + file + " --gpus 8");
  EXPECT_THAT(text.out, HasSubstr("8,030,261,248 parameters: the layers of Llama 3 8B (llama3-8b)"));
  const auto json = nlohmann::json::parse(run_line("predict " + file + " --gpus 8 --json").out);
  EXPECT_EQ(json.at("network_read").at("parameters"), 8030261248);
  EXPECT_EQ(json.at("network_read").at("same_as"), "llama3-8b");
  EXPECT_THAT(run_line("predict llama3-8b --gpus 8").out, testing::Not(HasSubstr(" parameters")));
}

TEST(HfNetwork, FolderStandsForItsConfig) {
  const std::string file = config_file("LlamaForCausalLM");
  const std::string folder = std::filesystem::path(file).parent_path().string();
  EXPECT_EQ(run_line("predict " + folder + " --gpus 8").code, 0);
  std::filesystem::remove(file);
  const auto empty = run_line("predict " + folder + " --gpus 8");
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.err, HasSubstr("is a folder without a config.json"));
}

/// The file of config_file with another value or more keys.
std::string changed_config(const std::string& from, const std::string& to) {
  const std::string file = config_file("LlamaForCausalLM");
  std::ifstream in(file);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  text.replace(text.find(from), from.size(), to);
  std::ofstream(file) << text;
  return file;
}

TEST(HfNetwork, LongSequenceIsAskedFor) {
  const std::string file = changed_config("\"max_position_embeddings\": 8192", "\"max_position_embeddings\": 131072");
  const auto asked = run_line("predict " + file + " --gpus 8");
  EXPECT_EQ(asked.code, 2);
  EXPECT_THAT(asked.err, HasSubstr("--seq: the network's own sequence is 131072"));
  EXPECT_EQ(run_line("predict " + file + " --gpus 8 --seq 8k").code, 0);
  EXPECT_EQ(run_line("predict " + file + " --gpus 8 --tp 8 --seq 131072").code, 0) << "the hint's other way";
}

TEST(HfNetwork, UnknownKeysAreRefused) {
  const auto ran = run_line("predict " + changed_config("\"vocab_size\"", "\"made_up\": 3, \"vocab_size\""));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("made_up 3"));
}

TEST(HfNetwork, WindowsTakeTheirOwnTimeAndRefuseWhatIsNotBuilt) {
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

}  // namespace
}  // namespace stepcast::studies
