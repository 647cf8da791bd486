// How long requests may be: networks of the catalogue by their checkpoints, and launches that ask for longer ones.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/catalog.h"
#include "studies/engines/positions/context_length.h"
#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing_program::run_line;

/// What no config.json of the hub tells: learned positions have rows, state-space layers alone have none, images and
/// the texts that lead them are of one size, and the report of Nemotron-4 15B has no checkpoint; and what was not read
/// in any file.
bool tells_no_length(const NetworkSpec& network) {
  const bool unconfirmed = network.id == "minimax-text-01" || network.id == "step-3.5-flash";
  return network.positions != Positions::rope || network.modulation.frequencies > 0 || network.id == "nemotron4-15b" ||
         unconfirmed;
}

TEST(ContextLength, EveryTextNetworkWithTurnedPositionsHasOne) {
  for (const NetworkSpec& network : built_in().networks)
    EXPECT_TRUE(tells_no_length(network) || published_positions(network.id, network.id) > 0) << network.id;
}

/// A network is pre-trained on no more positions than its checkpoint takes, but for what is trained anew on shorter
/// ones.
TEST(ContextLength, NoNetworkIsTrainedOnMorePositions) {
  for (const NetworkSpec& network : built_in().networks) {
    const std::int64_t positions = published_positions(network.id, network.id);
    EXPECT_TRUE(positions == 0 || positions >= network.sequence) << network.id;
  }
}

TEST(ContextLength, CheckpointsOfOneNetworkDiffer) {
  EXPECT_EQ(context_length("llama2-7b"), 4096);
  EXPECT_EQ(context_length("meta-llama/Meta-Llama-3-8B"), 8192);
  EXPECT_EQ(context_length("meta-llama/Llama-3.1-8B-Instruct"), 131072);
  EXPECT_EQ(published_positions("llama3-8b", "/models/Meta-Llama-3-8B-Instruct"), 8192);
  EXPECT_EQ(published_positions("llama3-70b", "casperhansen/llama-3-70b-instruct-awq"), 8192);
  EXPECT_EQ(published_positions("llama3-8b", "someone/Llama-3.1-8B"), 131072) << "no Llama 3 of 8 B";
  EXPECT_EQ(published_positions("minimax-m2", "nvidia/MiniMax-M2.7-NVFP4"), 196608);
  EXPECT_EQ(published_positions("minimax-m2", "MiniMaxAI/MiniMax-M2.7"), 204800);
  EXPECT_EQ(published_positions("qwen3-4b", "Qwen/Qwen3-4B-Instruct-2507-FP8"), 262144);
  EXPECT_EQ(published_positions("qwen3-4b", "Qwen/Qwen3-4B-FP8"), 40960);
  EXPECT_EQ(published_positions("qwen2.5-7b", "Qwen/Qwen2.5-7B-Instruct-1M"), 1010000) << "the longest name that fits";
  EXPECT_EQ(published_positions("kimi-k2", "moonshotai/Kimi-K2-Instruct-0905"), 0) << "nobody confirmed it: no limit";
  EXPECT_EQ(published_positions("qwen1.5-moe-a2.7b", "Qwen/Qwen1.5-MoE-A2.7B-Chat"), 32768);
  EXPECT_EQ(published_positions("no-such", "x"), 0);
}

TEST(ContextLength, LaunchesOfLongerRequestsDoNotStart) {
  const std::string vllm = "vllm serve meta-llama/Llama-2-7b-chat-hf --max-model-len 32000";
  EXPECT_THAT(
      read(vllm).error, HasSubstr("requests of 32000 positions, and the network has 4096: vLLM does not start"));
  EXPECT_EQ(read("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 " + vllm).asked.longest, 32000);
  EXPECT_EQ(read("export VLLM_ALLOW_LONG_MAX_MODEL_LEN=true\n" + vllm).error, "");
  EXPECT_NE(read("VLLM_ALLOW_LONG_MAX_MODEL_LEN=0 " + vllm).error, "");
  EXPECT_EQ(read("vllm serve meta-llama/Llama-2-7b-chat-hf --max-model-len 4096").asked.longest, 4096);
  const std::string sglang =
      "python -m sglang.launch_server --model-path meta-llama/Meta-Llama-3-70B-Instruct --tp 8 --context-length 32768";
  EXPECT_THAT(read(sglang).error, HasSubstr("the network has 8192: SGLang does not start"));
  EXPECT_EQ(read("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 " + sglang).error, "");
}

/// Values over config.json stretch positions; TensorRT-LLM takes the network's.
TEST(ContextLength, StretchedAndClippedRequests) {
  const Read stretched =
      read("vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --max-model-len 131072 --hf-overrides "
           R"('{"rope_scaling": {"rope_type": "yarn", "factor": 4.0,)"
           R"( "original_max_position_embeddings": 32768}}')");
  EXPECT_EQ(stretched.error, "");
  EXPECT_EQ(stretched.asked.positions, 0);
  const Read clipped = read("trtllm-serve meta-llama/Meta-Llama-3-8B-Instruct --max_seq_len 32768");
  ASSERT_EQ(clipped.error, "");
  EXPECT_EQ(clipped.asked.longest, 8192);
  EXPECT_THAT(clipped.asked.notes, Contains(HasSubstr("the network has 8192 positions")));
  EXPECT_EQ(read("TLLM_ALLOW_LONG_MAX_MODEL_LEN=1 trtllm-serve meta-llama/Meta-Llama-3-8B-Instruct --max_seq_len 32768")
                .asked.longest,
      32768);
  EXPECT_EQ(
      read("TLLM_ALLOW_LONG_MAX_MODEL_LEN=yes trtllm-serve meta-llama/Meta-Llama-3-8B-Instruct --max_seq_len 32768")
          .asked.longest,
      32768);
  EXPECT_THAT(read("trtllm-serve meta-llama/Meta-Llama-3-8B-Instruct --max_seq_len 32768",
                  {{"--input", "9000"}, {"--output", "10"}, {"--concurrency", "1"}})
                  .error,
      HasSubstr("requests of 9000 and 10 positions, and the engine takes 8192"));
}

/// A network of the catalogue in front stands in for the checkpoint, whose positions it does not tell.
TEST(ContextLength, PositionsAreThoseOfTheCheckpoint) {
  const auto longest = [](const char* model) {
    return run_line(fmt::format("infer qwen3-8b --weights bf16 --context 1000 --launch -- vllm serve {} "
                                "--max-model-len 65536",
        model));
  };
  EXPECT_EQ(longest("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B").err.find("the network has"), std::string::npos);
  EXPECT_EQ(longest("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B").code, 0);
  EXPECT_THAT(longest("Qwen/Qwen3-8B").err, HasSubstr("the network has 40960: vLLM does not start"));
}

/// The engine that reads prompts has a longest request of its own.
TEST(ContextLength, PromptsFitTheEngineThatReadsThem) {
  const auto pools = [](const char* longest) {
    return std::string("python -m dynamo.vllm --model Qwen/Qwen3-8B --max-model-len 8192\n"
                       "python -m dynamo.vllm --model Qwen/Qwen3-8B --is-prefill-worker --max-model-len ") +
           longest + "\n";
  };
  const Told load = {{"--input", "2000"}, {"--output", "100"}, {"--concurrency", "4"}};
  EXPECT_THAT(read(pools("2000"), load).error, HasSubstr("the engine that reads them takes 2000"));
  EXPECT_EQ(read(pools("2001"), load).error, "");
  EXPECT_THAT(read(pools("100000"), load).error, HasSubstr("the network has 40960: vLLM does not start"));
  std::string stretched = pools("100000");
  stretched.insert(stretched.size() - 1, R"( --hf-overrides '{"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}')");
  EXPECT_EQ(read(stretched, load).error, "") << "its own arguments stretch them";
}

TEST(ContextLength, CommandsWithoutALaunchAreHeldAgainstIt) {
  for (const char* line : {"serve llama2-7b --input 4000 --output 97 --concurrency 1", "infer llama2-7b --context 4096",
           "infer meta-llama/Llama-2-7b-hf --prompt 4000 --output 97"})
    EXPECT_THAT(run_line(line).err, HasSubstr("and the network has 4096")) << line;
  EXPECT_EQ(run_line("serve llama2-7b --input 4000 --output 96 --concurrency 1").code, 0);
  // OPT has learned positions for 2,050, of which two are an offset
  for (const char* line : {"serve opt-13b --input 2040 --output 20 --concurrency 1", "infer opt-13b --prompt 2060"})
    EXPECT_THAT(run_line(line).err, HasSubstr("at most 2048")) << line;
  EXPECT_EQ(run_line("infer llama2-7b --context 4095").code, 0) << "a step adds one";
  EXPECT_THAT(run_line("infer llama2-7b --phase mixed --context 100 --prompt 5000").err,
      HasSubstr("--prompt: 5000 positions, and the network has 4096"));
  EXPECT_THAT(run_line("infer llama2-7b --phase mixed --context 4096 --prompt 100").err,
      HasSubstr("--context: 4097 positions, and the network has 4096"));
  const auto swept = run_line("serve-sweep llama2-7b --gpus 1 --input 4000 --output 97 --concurrency 1");
  EXPECT_THAT(swept.out, HasSubstr("4097 positions, and the network has 4096"));
  EXPECT_THAT(swept.out, HasSubstr("Nothing is left"));
}

/// vLLM takes requests as long as the network's where nothing is said, and its cache has to hold one.
TEST(ContextLength, AnUnsaidLongestRequestThatTheCacheDoesNotHoldIsAWarning) {
  const std::string line = "serve --input 1000 --output 100 --concurrency 1 --launch -- vllm serve "
                           "meta-llama/Llama-3.1-70B-Instruct --quantization fp8 --tensor-parallel-size ";
  const auto small = run_line(line + "1"), large = run_line(line + "4");
  ASSERT_EQ(small.code, 0) << small.err;
  for (const char* fitting : {" --max-model-len auto", " --max-model-len -1"})
    EXPECT_EQ(run_line(line + "1" + fitting).out.find("nothing says the longest request"), std::string::npos);
  EXPECT_THAT(small.out, HasSubstr("nothing says the longest request, so that it is one of the network: 131072"));
  EXPECT_EQ(large.out.find("nothing says the longest request"), std::string::npos);
}

}  // namespace
}  // namespace stepcast::engines
