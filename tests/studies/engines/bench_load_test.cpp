// Loads of benchmarks as flags of serve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/engines/bench_load.h"
#include "studies/engines/read_arguments.h"
#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using testing::HasSubstr;

struct Loaded {
  std::map<std::string, std::string, std::less<>> flags;
  std::size_t open = 0;
  std::string error;
};
Loaded loaded(const std::string& command) {
  const auto lines = shell_lines(command, "run.sh", {});
  EXPECT_TRUE(lines && lines->size() == 1) << command;
  auto said = said_arguments(lines->at(0), {"."});
  if (!said) return {{}, 0, to_text(said.error())};
  EXPECT_TRUE(said->unknown.empty()) << said->unknown.front();
  const auto load = bench_load(*said);
  if (!load) return {{}, 0, to_text(load.error())};
  return {load->flags, load->open.size(), ""};
}

TEST(BenchLoad, VllmDrawsLengthsAroundTheNominalOne) {
  // 1000 x (1 +- 0.25): from 750 to 1250, whose share is 0.6
  const auto load = loaded("vllm bench serve --model m --random-input-len 1000 --random-output-len 200 "
                           "--random-range-ratio 0.25 --request-rate 4 --burstiness 0.5 --num-prompts 100");
  EXPECT_EQ(load.flags.at("--input"), "1250");
  EXPECT_EQ(load.flags.at("--output"), "250");
  EXPECT_EQ(load.flags.at("--shortest"), "0.6");
  EXPECT_EQ(load.flags.at("--rate"), "4");
  EXPECT_EQ(load.flags.at("--burstiness"), "0.5");
  EXPECT_EQ(load.flags.at("--requests"), "100");
}

TEST(BenchLoad, TensorRtLlmsBenchmarkIsVllms) {
  const auto load = loaded("python -m tensorrt_llm.serve.scripts.benchmark_serving --model m --backend openai "
                           "--dataset-name random --random-input-len 1000 --random-output-len 2000 --random-ids "
                           "--tokenize-on-client --no-test-input --num-prompts 320 --max-concurrency 32");
  EXPECT_EQ(load.flags.at("--input"), "1000");
  EXPECT_EQ(load.flags.at("--output"), "2000");
  EXPECT_EQ(load.flags.at("--concurrency"), "32");
  EXPECT_EQ(load.flags.at("--requests"), "320");
}

/// What stands behind "--" is perf_analyzer's.
TEST(BenchLoad, GenAiPerfGivesOptionsOn) {
  const auto load = loaded("genai-perf profile -m m --synthetic-input-tokens-mean 3000 --output-tokens-mean 150 "
                           "--concurrency 16 --request-count 160 -- -v --max-threads 256");
  EXPECT_EQ(load.error, "");
  EXPECT_EQ(load.flags.at("--input"), "3000");
  EXPECT_EQ(load.flags.at("--output"), "150");
  EXPECT_EQ(load.flags.at("--concurrency"), "16");
}

TEST(BenchLoad, HeadsStandInFrontOfPrompts) {
  const auto load = loaded("vllm bench serve --random-prefix-len 500 --random-input-len 100 --max-concurrency 4");
  EXPECT_EQ(load.flags.at("--input"), "600");
  EXPECT_EQ(load.flags.at("--shared"), "500");
  EXPECT_EQ(load.flags.at("--output"), "128");
}

TEST(BenchLoad, WithoutABoundAllComeAtOnce) {
  const auto load = loaded("vllm bench serve --random-input-len 10 --num-prompts 50");
  EXPECT_EQ(load.flags.at("--concurrency"), "50");
  const auto all = loaded("vllm bench throughput --model m --input-len 10 --output-len 20 --num-prompts 7");
  EXPECT_EQ(all.flags.at("--concurrency"), "7");
  EXPECT_EQ(all.flags.at("--requests"), "7");
}

TEST(BenchLoad, SglangDrawsLengthsUpToTheNominalOne) {
  const auto load = loaded("python -m sglang.bench_serving --dataset-name random --random-input 1024 "
                           "--random-output 512 --random-range-ratio 0.8 --num-prompts 200 --max-concurrency 16");
  EXPECT_EQ(load.flags.at("--input"), "1024");
  EXPECT_EQ(load.flags.at("--shortest"), "0.8");
  EXPECT_EQ(load.flags.at("--concurrency"), "16");
  EXPECT_EQ(loaded("python -m sglang.bench_serving --num-prompts 200").open, 1u);  // ShareGPT
}

TEST(BenchLoad, OptionsTellLengthsOfOtherDataSets) {
  const std::string serve = "vllm bench serve --num-prompts 10 --max-concurrency 2 --dataset-name ";
  const auto talks = loaded(serve + "sharegpt --sharegpt-output-len 1");
  EXPECT_EQ(talks.flags.at("--output"), "1");
  EXPECT_FALSE(talks.flags.contains("--input"));
  EXPECT_EQ(talks.open, 1u);
  const auto heads = loaded(serve + "prefix_repetition --prefix-repetition-prefix-len 500 "
                                    "--prefix-repetition-suffix-len 100 --prefix-repetition-output-len 50");
  EXPECT_EQ(heads.flags.at("--output"), "50");
  EXPECT_FALSE(heads.flags.contains("--input"));  // which of them share a head is not followed
  EXPECT_EQ(heads.open, 1u);
  // -1: as the file's rows have it; another data set's option says nothing
  EXPECT_FALSE(loaded(serve + "custom --custom-output-len -1").flags.contains("--output"));
  EXPECT_FALSE(loaded(serve + "sharegpt --sonnet-output-len 7").flags.contains("--output"));
  EXPECT_THAT(loaded(serve + "sharegpt --sharegpt-output-len many").error, HasSubstr("'many' is no whole number"));
}

TEST(BenchLoad, GenAiPerfAndAiPerf) {
  const auto load =
      loaded("aiperf profile --model m --isl 550 --osl 256 --request-rate 10 --request-rate-mode constant "
             "--request-count 500 --goodput \"time_to_first_token:500 inter_token_latency:30\"");
  EXPECT_EQ(load.flags.at("--input"), "550");
  EXPECT_EQ(load.flags.at("--output"), "256");
  EXPECT_EQ(load.flags.at("--burstiness"), "1e6");
  EXPECT_EQ(load.flags.at("--slo"), "ttft<500ms tpot<30ms");
  const auto perf =
      loaded("genai-perf profile -m m --synthetic-input-tokens-mean 100 --output-tokens-mean 10 --concurrency 8");
  EXPECT_EQ(perf.flags.at("--concurrency"), "8");
}

TEST(BenchLoad, WhatIsNotForecastIsAnError) {
  EXPECT_THAT(
      loaded("genai-perf profile -m m --isl 100 --synthetic-input-tokens-stddev 20").error, HasSubstr("normal law"));
  EXPECT_THAT(loaded("vllm bench serve --random-input-len 8 --request-rate 4 --max-concurrency 8").error,
      HasSubstr("no more than so many at once"));
  EXPECT_THAT(loaded("python benchmark_serving.py --random-input-len 8 --random-range-ratio 0.5").error,
      HasSubstr("older releases"));
  EXPECT_THAT(loaded("vllm bench serve --random-input-len abc").error, HasSubstr("'abc' is no whole number"));
  EXPECT_THAT(loaded("vllm bench serve --random-input-len").error, HasSubstr("takes a value"));
}

/// What vllm/benchmarks has where nothing is said: random prompts of `serve`, and one batch of `latency`.
TEST(BenchLoad, DefaultsOfVllmsBenchmarks) {
  const auto serve = loaded("vllm bench serve --model m");
  EXPECT_EQ(serve.flags.at("--input"), "1024");
  EXPECT_EQ(serve.flags.at("--output"), "128");
  EXPECT_EQ(serve.open, 0u);
  EXPECT_EQ(loaded("python benchmark_serving.py --model m").open, 1u);  // ShareGPT
  EXPECT_EQ(loaded("vllm bench serve --model m --dataset-name sharegpt").open, 1u);
  const auto latency = loaded("vllm bench latency --model m");
  EXPECT_EQ(latency.flags.at("--input"), "32");
  EXPECT_EQ(latency.flags.at("--output"), "128");
  EXPECT_EQ(latency.flags.at("--concurrency"), "8");
}

constexpr const char* made_up = "token-norm-dist --num-requests 300 --input-mean 1024 --output-mean 128 ";

/// A file that a command of the same script writes.
TEST(BenchLoad, RequestsThatTheScriptMakes) {
  const std::string by_file = std::string("python benchmarks/cpp/prepare_dataset.py --stdout ") + made_up,
                    by_command =
                        std::string("trtllm-bench --model Qwen/Qwen3-8B prepare-dataset --output f ") + made_up;
  const std::string even = "--input-stdev 0 --output-stdev=0\n",
                    bench = "trtllm-bench --model Qwen/Qwen3-8B throughput --dataset f --tp 2 --concurrency 32\n";
  for (const std::string& first : {by_file, by_command}) {
    const Read got = read(first + even + bench);
    ASSERT_EQ(got.error, "") << first;
    EXPECT_EQ(got.asked.flags.at("--input"), "1024");
    EXPECT_EQ(got.asked.flags.at("--output"), "128");
    EXPECT_EQ(got.asked.flags.at("--requests"), "300");
    EXPECT_EQ(got.asked.flags.at("--concurrency"), "32");
    EXPECT_EQ(got.asked.flags.at("--tp"), "2");
    EXPECT_FALSE(read(first + "--input-stdev 10 --output-stdev 0\n" + bench).asked.flags.contains("--input"));
    EXPECT_FALSE(read(by_command + even + "trtllm-bench --model Qwen/Qwen3-8B throughput --dataset other.txt --tp 2\n")
                     .asked.flags.contains("--input"));
    EXPECT_FALSE(read(first + even + by_file + "--input-stdev 10\n" + bench).asked.flags.contains("--input"));
  }
}

/// Of several files the one that the benchmark reads, also where the shell writes what is printed.
TEST(BenchLoad, RequestsOfTheFileThatIsRead) {
  const auto made = [](int input, const std::string& file) {
    return "python prepare_dataset.py --stdout token-norm-dist --num-requests 100 --input-mean " +
           std::to_string(input) + " --output-mean 64 --input-stdev 0 --output-stdev 0 " + file + "\n";
  };
  const std::string bench = "trtllm-bench --model Qwen/Qwen3-8B throughput --concurrency 8 --dataset ";
  const std::string both = "OUT=/data\n" + made(128, "> $OUT/short.txt 2> errors.log") + made(2048, ">/data/long.txt");
  EXPECT_EQ(read(both + bench + "/data/short.txt\n").asked.flags.at("--input"), "128");
  EXPECT_EQ(read(both + bench + "${OUT}/long.txt\n").asked.flags.at("--input"), "2048");
  EXPECT_FALSE(read(both + bench + "/data/other.txt\n").asked.flags.contains("--input"));
  EXPECT_FALSE(read(made(128, "2> a.txt") + made(256, "> b.txt") + bench + "a.txt\n").asked.flags.contains("--input"))
      << "what is written there are errors";
  EXPECT_FALSE(read(made(128, "> a.txt") + bench + "b.txt\n").asked.flags.contains("--input"));
}

}  // namespace
}  // namespace stepcast::engines
