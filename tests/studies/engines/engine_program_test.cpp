// The tables of engines' arguments, and what a word calls.
#include <cctype>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/engines/embedded_engine_arguments.h"
#include "studies/engines/engine_line.h"

namespace stepcast::engines {
namespace {

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
    EXPECT_EQ(engine_table(program.table).facts().empty(), routes) << program.words;
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

}  // namespace
}  // namespace stepcast::engines
