// Which release of an engine a launch is of, by its image's tag or by --engine, and what it changes of that row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/catalog.h"
#include "studies/engines/line/engine_program.h"
#include "tests/studies/engines/asked_launch.h"
#include "tests/studies/run_program.h"

namespace stepcast::engines {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing_program::run_line;

TEST(EngineReleases, TagsOfImagesTellThem) {
  for (const char* image : {"vllm/vllm-openai:v0.19.0", "reg.io/aibrix/llmd-vllm-openai:v0.19.0",
           "localhost:5000/vllm-openai:0.19.0@sha256:0a"})
    EXPECT_EQ(release_of_image(image), "0.19.0") << image;
  // whose tags count something else, or nothing
  for (const char* image : {"ghcr.io/llm-d/llm-d:v0.2.0", "nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.7.0",
           "vllm/vllm-openai:latest", "vllm/vllm-openai", "mysglang:v1.0"})
    EXPECT_EQ(release_of_image(image), "") << image;
}

std::string values(const std::string& image) {
  return "servingEngineSpec:\n  modelSpec:\n  - name: q\n" + image +
         "    modelURL: Qwen/Qwen3-8B\n    replicaCount: 1\n    requestGPU: 1\n    vllmConfig: {tensorParallelSize: "
         "1}\n";
}

std::string served(const std::string& text) {
  return run_line("serve --input 64 --output 8 --concurrency 4 --launch " + written("values.yaml", text)).out;
}

TEST(EngineReleases, ValuesMayKeepTheTagApart) {
  const std::string repository = "    repository: vllm/vllm-openai\n", tag = "    tag: v0.19.0\n";
  EXPECT_THAT(served(values(repository + tag)), HasSubstr("release 0.19.0, as its image says"));
  EXPECT_THAT(served(values(tag + repository)), HasSubstr("release 0.19.0, as its image says"));
  EXPECT_THAT(served(values(repository + "    tag: latest\n")), HasSubstr("its release is not told"));
}

TEST(EngineReleases, NewOnesHaveV1Alone) {
  const auto row = [](const std::string& tag) {
    return read("docker run -e VLLM_USE_V1=0 vllm/vllm-openai:" + tag + " --model Qwen/Qwen3-8B").asked;
  };
  EXPECT_EQ(row("v0.10.2").row.id, "vllm-v0");
  EXPECT_EQ(row("v0.19.0").row.id, "vllm-2026");
  EXPECT_THAT(row("v0.19.0").notes, Contains(HasSubstr("which has V1 alone, whatever VLLM_USE_V1 says")));
}

/// The row that --engine names takes what the launch says, where it is of the launch's engine.
TEST(EngineReleases, AToldOneTakesTheLaunchsChanges) {
  const std::string launch = "vllm serve Qwen/Qwen3-8B --max-num-seqs 64";
  for (const char* told : {"vllm-2026", "vllm-0.14"}) {
    const Read got = read(launch, {{"--engine", told}});
    ASSERT_EQ(got.error, "") << told;
    EXPECT_EQ(got.asked.row.id, "vllm-2026");
    EXPECT_EQ(got.asked.row.most_sequences, 64);
    EXPECT_THAT(got.asked.notes, Not(Contains(HasSubstr("its release is not told"))));
  }
  const std::string line = "serve --input 64 --output 8 --concurrency 4 --engine ";
  const auto ran = run_line(line + "vllm-2026 --launch -- " + launch);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("vLLM 0.14 and later"));
  EXPECT_THAT(ran.out, HasSubstr("most_sequences 64"));
  // a row of one's own, whose id is the engine's
  Engine own = **find_row(built_in().engines, "vllm", "engine");
  own.host_per_request = Seconds(0.5);
  const std::string file = written("mine.json", write_engine(own));
  EXPECT_EQ(read(launch, {{"--engine", file}}).asked.row.host_per_request.value(), 0.5);
  EXPECT_THAT(
      run_line(line + "sglang --launch -- " + launch).err, HasSubstr("another engine beside what the launch says"));
}

/// SGLang adds no prompt to those that come to max_prefill_tokens, cut or not (schedule_policy.py, PrefillAdder).
TEST(EngineReleases, SglangsPromptsTogether) {
  const auto positions = [](const std::string& more) {
    return read("python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B " + more).asked.row.most_positions;
  };
  EXPECT_EQ(positions(""), 8192);
  EXPECT_EQ(positions("--max-prefill-tokens 2048"), 2048);
  EXPECT_EQ(positions("--max-prefill-tokens 32768"), 8192);
  EXPECT_EQ(positions("--chunked-prefill-size 32768"), 16384) << "its default goes with larger pieces";
  EXPECT_EQ(positions("--chunked-prefill-size 32768 --max-prefill-tokens 32768"), 32768);
  EXPECT_EQ(positions("--chunked-prefill-size -1"), 16384);
  EXPECT_EQ(positions("--chunked-prefill-size 1024"), 1024);
  const auto notes = [](const std::string& more) {
    return read("python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B " + more).asked.notes;
  };
  constexpr const char* said = "longer ones are read in pieces of so many here";
  EXPECT_THAT(notes("--chunked-prefill-size 131072"), Contains(HasSubstr(said)));
  EXPECT_THAT(notes("--max-prefill-tokens 32768"), Not(Contains(HasSubstr(said))));
}

/// What is written is read back with iterations as long.
TEST(EngineReleases, SglangsLongPiecesAreWrittenWhole) {
  const auto text =
      run_line("serve qwen3-8b --engine sglang --most-positions 32768 --input 64 --output 8 --concurrency 4 "
               "--emit sglang");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(read(text.out).asked.row.most_positions, 32768);
}

}  // namespace
}  // namespace stepcast::engines
