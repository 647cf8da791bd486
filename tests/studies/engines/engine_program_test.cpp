// The tables of engines' arguments, and what a word calls.
#include <cctype>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/engines/embedded_engine_arguments.h"
#include "studies/engines/line/engine_line.h"
#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Pair;

std::vector<ShellWord> words(std::initializer_list<const char*> texts) {
  std::vector<ShellWord> out;
  for (const char* text : texts) out.push_back({.text = text, .unset = {}});
  return out;
}

TEST(EngineArguments, EveryFileIsRight) {
  const auto tables = launch::read_argument_tables(embedded_engine_arguments());
  ASSERT_TRUE(tables) << to_text(tables.error());
  for (const EngineProgram& program : engine_programs()) {
    const bool routes = !program.prompts_at.empty() && !program.tokens_at.empty();
    EXPECT_EQ(engine_table(program.table).facts().empty(), routes || program.writes_requests) << program.words;
  }
}

/// Where each row stands in its program; a source that is not of the right form is refused in reading.
TEST(EngineArguments, EveryRowHasASource) {
  const auto tables = launch::read_argument_tables(embedded_engine_arguments());
  ASSERT_TRUE(tables);
  for (const auto& [program, table] : *tables)
    for (const launch::ArgumentFact& fact : table.facts())
      EXPECT_FALSE(fact.source.empty()) << program << " " << fact.name;
}

TEST(EngineArguments, EveryRowSaysSomethingOfItsOwn) {
  const auto tables = launch::read_argument_tables(embedded_engine_arguments());
  ASSERT_TRUE(tables);
  for (const auto& [program, table] : *tables) {
    std::map<std::string, std::string> said;
    for (const launch::ArgumentFact& fact : table.facts()) {
      EXPECT_EQ(fact.name.find_first_of("- ="), std::string::npos) << program << " " << fact.name;
      EXPECT_GT(fact.what.size(), 10u) << program << " " << fact.name;
      EXPECT_EQ(std::islower(static_cast<unsigned char>(fact.what.front())), 0) << program << ": " << fact.what;
      const auto [first, own] = said.emplace(fact.what, fact.name);
      EXPECT_TRUE(own) << program << ": " << fact.name << " says what " << first->second << " says";
      // another name leads to one row, and no further
      const std::string_view counted = counted_name(table, fact.name);
      EXPECT_EQ(counted_name(table, counted), counted) << program << " " << fact.name;
    }
  }
}

TEST(EngineArguments, NestedNamesAreTakenWhole) {
  const launch::ArgumentTable& table = engine_table("tensorrt-llm");
  ASSERT_NE(fact_of(table, "kv_cache_config.dtype"), nullptr);
  EXPECT_EQ(fact_of(table, "kv_cache_config.dtype")->name, "kv_cache_config.dtype");
  EXPECT_EQ(fact_of(table, "moe_config.some_new_key")->name, "moe_config.*");
  // there is a "dtype", and no "cache.dtype"
  EXPECT_EQ(fact_of(table, "cache.dtype"), nullptr);
  EXPECT_EQ(counted_name(engine_table("sglang"), "tp"), "tensor_parallel_size");
  // other names hold for programs that take another's arguments, too
  EXPECT_EQ(counted_name(engine_table("trtllm-bench"), "kv_cache_free_gpu_mem_fraction"), "free_gpu_memory_fraction");
  EXPECT_EQ(counted_name(engine_table("dynamo-vllm"), "tp"), "tensor_parallel_size");
}

TEST(EngineLines, TheProgramIsFoundWhereverItStands) {
  const auto called = [](std::initializer_list<const char*> texts) {
    const EngineLine line = line_of_words(words(texts), "here");
    return line.program == nullptr ? std::string("none")
                                   : std::string(line.program->words) + " " + std::to_string(line.words.size());
  };
  EXPECT_EQ(called({"vllm", "serve", "m", "--port", "1"}), "vllm serve 3");
  EXPECT_EQ(called({"/opt/bin/vllm", "serve", "m"}), "vllm serve 1");
  EXPECT_EQ(called({"vllm", "bench", "serve", "--model", "m"}), "vllm bench serve 2");
  EXPECT_EQ(called({"python3", "-m", "sglang.launch_server", "--tp", "8"}), "sglang.launch_server 2");
  EXPECT_EQ(called({"mpirun", "-n", "1", "trtllm-serve", "m", "--tp_size", "2"}), "trtllm-serve 3");
  EXPECT_EQ(called({"trtllm-serve", "disaggregated", "-c", "x.yaml"}), "trtllm-serve disaggregated 2");
  EXPECT_EQ(called({"python", "bench/benchmark_serving.py", "--model", "m"}), "benchmark_serving.py 2");
  // an image that runs vLLM by itself, and one that is told what to run
  EXPECT_EQ(called({"docker", "run", "--gpus", "all", "vllm/vllm-openai:v0.10.0", "--model", "m"}), "vllm serve 2");
  EXPECT_EQ(called({"docker", "run", "lmsysorg/sglang:latest", "python3", "-m", "sglang.launch_server"}),
      "sglang.launch_server 0");
  EXPECT_EQ(called({"vllm", "chat", "m"}), "none");
  EXPECT_EQ(called({"pip", "install", "vllm"}), "none");
}

TEST(EngineLines, ContainersHandVariablesOn) {
  const EngineLine line = line_of_words(
      words({"docker", "run", "-e", "VLLM_USE_V1=0", "--env=A=b", "vllm/vllm-openai", "--model", "m"}), "here");
  EXPECT_EQ(line.environment.at("VLLM_USE_V1"), "0");
  EXPECT_EQ(line.environment.at("A"), "b");
}

std::string head_of_ray(const std::string& words) {
  return "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata:\n  name: r1\nspec:\n  headGroupSpec:\n    template:\n"
         "      spec:\n        containers:\n        - name: head\n          command: [\"/bin/bash\", " +
         words +
         "]\n          args: [\"ulimit -n 65536; vllm serve deepseek-ai/DeepSeek-R1 --tensor-parallel-size 16\"]\n";
}

TEST(EngineArguments, ShellsEndTheirOptionsByTwoDashes) {
  for (const char* words : {"\"-lc\", \"--\"", "\"-c\""}) {
    const auto got = read(head_of_ray(words));
    ASSERT_EQ(got.error, "") << words;
    EXPECT_EQ(got.asked.network, "deepseek-v3");
    EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--tp", "16"), Pair("--weights", "fp8-block")}));
  }
}

TEST(EngineArguments, ScriptsMayStandInQuotes) {
  for (const char* shell : {"bash -c", "sh -c", "nohup bash -lc --"}) {
    const auto got = read(std::string(shell) + " 'vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2'\n");
    ASSERT_EQ(got.error, "") << shell;
    EXPECT_EQ(got.asked.flags.at("--tp"), "2");
  }
}

/// Before --all2all-backend a variable said how rows travel.
TEST(EngineArguments, AVariableSaysHowRowsTravel) {
  const std::string serve = "vllm serve deepseek-ai/DeepSeek-R1 --data-parallel-size 8 --enable-expert-parallel";
  EXPECT_EQ(read("VLLM_ALL2ALL_BACKEND=deepep_low_latency " + serve).asked.flags.at("--exchange"), "rows");
  EXPECT_EQ(
      read("VLLM_ALL2ALL_BACKEND=pplx " + serve + " --all2all-backend naive").asked.flags.at("--exchange"), "gather");
  EXPECT_FALSE(read(serve).asked.flags.contains("--exchange"));
  EXPECT_THAT(read("VLLM_ALL2ALL_BACKEND=deepest " + serve).error,
      AllOf(HasSubstr("VLLM_ALL2ALL_BACKEND"), HasSubstr("unknown exchange 'deepest'")));
}

/// One machine has no more ranks than GPUs that it may use; several do, and flags go over the launch.
TEST(EngineArguments, RanksAreNoMoreThanVisibleGpus) {
  const std::string serve = "CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen3-32B --tensor-parallel-size ";
  EXPECT_EQ(read(serve + "2").error, "");
  EXPECT_THAT(read(serve + "4").error,
      AllOf(HasSubstr("tp 4 x pp 1 on one machine, where CUDA_VISIBLE_DEVICES 0,1"), HasSubstr("--tp N")));
  EXPECT_THAT(read(serve + "2 --pipeline-parallel-size 2").error, HasSubstr("tp 2 x pp 2"));
  EXPECT_EQ(read(serve + "4 --distributed-executor-backend ray").error, "");
  EXPECT_EQ(read(serve + "4", {{"--tp", "2"}}).error, "");
  EXPECT_EQ(read("ray start --head\n" + serve + "4").error, "") << "other machines may join";
  EXPECT_THAT(read("# ray start --head\n" + serve + "4").error, HasSubstr("tp 4 x pp 1 on one machine"));
}

/// An FP8 file of a network that is stored in blocks by itself is that one; other makers' names keep their habits.
TEST(EngineArguments, NamesOfFilesInEightBits) {
  const auto weights = [](const std::string& model, const std::string& network = "") {
    const auto got = read("vllm serve " + model + " --tensor-parallel-size 8\n", {}, network);
    return got.error.empty() ? got.asked.flags.at("--weights") : got.error;
  };
  EXPECT_EQ(weights("/models/deepseek-r1-fp8"), "fp8-block");
  EXPECT_EQ(weights("/models/dsr1-fp8", "deepseek-v3"), "fp8-block");
  EXPECT_EQ(weights("zai-org/GLM-5-FP8"), "fp8-block");
  EXPECT_EQ(weights("RedHatAI/Llama-3.3-70B-Instruct-FP8"), "fp8");
  EXPECT_EQ(weights("cognitivecomputations/DeepSeek-R1-AWQ --quantization moe_wna16"), "int4");
}

TEST(EngineArguments, AnglesOverTheConfigurationMakeNoOtherNetwork) {
  const std::string serve = "vllm serve Qwen/Qwen3-32B --hf-overrides ";
  EXPECT_EQ(read(serve + R"('{"rope_scaling":{"rope_type":"yarn","factor":4.0}}')").error, "");
  EXPECT_THAT(read(serve + R"('{"num_hidden_layers":4}')").error, HasSubstr("another network"));
}

}  // namespace
}  // namespace stepcast::engines
