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

}  // namespace
}  // namespace stepcast::studies
