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
using testing::Not;
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

/// Types of weights, and what a file leaves wide of them.
TEST(HfNetwork, ShowSaysWhatStaysWide) {
  const std::string file = testing_program::own_path("hf-wide.json");
  std::ofstream(file) << R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 96,
    "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100, "max_position_embeddings": 128,
    "tie_word_embeddings": false,
    "quantization_config": {"quant_method": "fp8", "ignored_layers": ["re:.*self_attn.*"]}})";
  EXPECT_THAT(
      run_line("show network " + file).out, HasSubstr("weights stored as fp8: --weights fp8 (attention left wide)"));
}

/// A checkpoint's folder is taken by its bare name, unless a row of the catalogue has it.
TEST(HfNetwork, AFolderNeedsNoPath) {
  const std::filesystem::path folder = std::filesystem::path(config_file("LlamaForCausalLM")).parent_path(),
                              before = std::filesystem::current_path();
  std::filesystem::current_path(folder.parent_path());
  const auto bare = run_line("predict " + folder.filename().string() + " --gpus 8");
  const auto shown = run_line("show network " + folder.filename().string());
  std::filesystem::current_path(before);
  EXPECT_EQ(bare.code, 0) << bare.err;
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(bare.out, run_line("predict " + folder.string() + " --gpus 8").out);
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

/// DeepSeek-OCR's images are not forecast, and what they cost is said in front.
TEST(HfNetwork, WhatImagesOfDeepSeekOcrCostIsSaid) {
  const std::string file = testing_program::own_path("hf-ocr.json");
  std::ofstream(file) << R"({"architectures": ["DeepseekOCRForCausalLM"], "model_type": "deepseek_vl_v2",
    "language_config": {"architectures": ["DeepseekV2ForCausalLM"], "first_k_dense_replace": 1, "hidden_size": 1280,
    "intermediate_size": 6848, "kv_lora_rank": null, "max_position_embeddings": 8192, "moe_intermediate_size": 896,
    "n_group": 1, "n_routed_experts": 64, "n_shared_experts": 2, "num_attention_heads": 10, "num_experts_per_tok": 6,
    "num_hidden_layers": 12, "num_key_value_heads": 10, "q_lora_rank": null, "qk_nope_head_dim": 0,
    "qk_rope_head_dim": 0, "topk_group": 1, "topk_method": "greedy", "use_mla": false, "v_head_dim": 0,
    "vocab_size": 129280}, "projector_config": {"input_dim": 2048, "model_type": "mlp_projector", "n_embed": 1280,
    "projector_type": "linear"}, "vision_config": {"image_size": 1024, "mlp_ratio": 3.7362, "model_name": "deeplip_b_l",
    "model_type": "vision", "width": {"clip-l-14-224": {"heads": 16, "image_size": 224, "layers": 24, "patch_size": 14,
    "width": 1024}, "sam_vit_b": {"downsample_channels": [512, 1024], "global_attn_indexes": [2, 5, 8, 11],
    "heads": 12, "layers": 12, "width": 768}}}})";
  // 12 layers of 768 over 4096 patches, 4 of them with attention over all, and 24 of 1024 over 257 rows: 1.1e12
  EXPECT_THAT(run_line("predict " + file + " --gpus 8 --seq 4096 --json").out,
      HasSubstr("are not forecast: each takes 1.1 TFLOP forward, as"));
  // Shown and read again, its count has the parts that are left out.
  const std::string shown = testing_program::own_path("hf-ocr-shown.json");
  std::ofstream(shown) << run_line("show network " + file + " --json").out;
  const std::string again = run_line("predict " + shown + " --gpus 8 --seq 4096 --json").out;
  EXPECT_THAT(again, HasSubstr("is left out"));
  EXPECT_THAT(again, Not(HasSubstr("was edited")));
}

/// Files that stand beside a network's say what they are.
TEST(HfNetwork, FilesOfNoNetworkSayWhatTheyAre) {
  const std::string file = testing_program::own_path("hf-foreign.json");
  for (const auto& [text, what] :
      {std::pair{R"({"peft_type": "LORA", "r": 16})", "adapters beside a network"},
          {R"({"dim": 64, "n_layers": 2, "n_heads": 4})", "params.json"}, {R"({"medusa_num_heads": 5})", "guess words"},
          {R"({"made_up": 1})", "of no network that is known"}, {"model:\n  dim: 64\n", "no JSON object"}}) {
    std::ofstream(file) << text;
    const auto run = run_line("predict " + file + " --gpus 8");
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, HasSubstr(what));
  }
}

/// No step of such networks was fitted on: the interval is that of the few that are measured.
TEST(HfNetwork, IntervalsOfNetworksThatNobodyMeasuredAreWide) {
  for (const char* network : {"flux.1-dev", "t5-v1.1-xxl --tp 4", "vit-large", "bert-large --masked-share 0.15"}) {
    const std::string line = std::string("predict ") + network + " --gpus 8";
    const auto json = nlohmann::json::parse(run_line(line + " --json").out);
    const double step = json.at("step_time_s");
    EXPECT_LE(json.at("step_time_interval_s")[0].get<double>(), 0.84 * step) << network;
    EXPECT_GE(json.at("step_time_interval_s")[1].get<double>(), 1.27 * step) << network;
    EXPECT_THAT(run_line(line).out, HasSubstr("widened to that of nine")) << network;
  }
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
  EXPECT_EQ(json.at("run").at("parameters"), 8030261248);
  EXPECT_EQ(json.at("run").at("active_parameters"), 8030261248) << "it has no experts";
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

}  // namespace
}  // namespace stepcast::studies
