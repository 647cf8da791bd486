// Sequences that give way to the host's memory: what the command asks, tells and refuses.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/engines/asked_launch.h"
#include "tests/studies/run_program.h"

namespace stepcast::serve {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_program::run_line;

/// 256 sequences of up to 2,560 positions, where the cache of an H100 has room for some 450,000.
const std::string full = "serve llama3-8b --engine vllm-v0 --input 512 --output 2048 --concurrency 256 --requests 512 ";

json told(const std::string& line) {
  const auto ran = run_line(line + " --json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  return ran.code == 0 ? json::parse(ran.out) : json();
}

/// A block has 2 MiB: 2 x 8 heads of keys x 128 x 2 bytes x 16 positions x 32 layers. Its 64 copies take the host 2.3
/// us each to start, longer than 2 MiB at 63 GB/s.
TEST(Swapping, WhatIsCopiedTakesItsTime) {
  const json swapped = told(full + "--preemption swap --swap-space 64");
  const json swap = swapped.at("swap");
  EXPECT_GT(swap.at("sequences"), 20);
  EXPECT_EQ(swap.at("sequences"), swapped.at("queue").at("preempted"));
  EXPECT_EQ(swap.at("out_bytes_per_gpu"), swap.at("in_bytes_per_gpu"));
  EXPECT_EQ(swap.at("no_room"), 0);
  EXPECT_EQ(swap.at("space_bytes_per_gpu"), 64.0 * 1024 * 1024 * 1024);
  EXPECT_LT(swap.at("most_bytes_per_gpu"), swap.at("space_bytes_per_gpu"));
  const double blocks = 2 * swap.at("out_bytes_per_gpu").get<double>() / (2 << 20);
  EXPECT_NEAR(swap.at("time_s").get<double>() / (blocks * 64 * 2.3e-6), 1, 1e-9);
  EXPECT_NEAR(swap.at("share_of_time").get<double>(),
      swap.at("time_s").get<double>() / swapped.at("span_s").get<double>(),
      0.02 * swap.at("share_of_time").get<double>());
  EXPECT_THAT(run_line(full + "--preemption swap --swap-space 64").out,
      AllOf(HasSubstr("Swapped "), HasSubstr(" out of a GPU and "), HasSubstr("in the host's memory of 64.0 GiB")));
}

TEST(Swapping, SequencesAreReadAgainElse) {
  const json again = told(full), said = told(full + "--preemption recompute");
  EXPECT_FALSE(again.contains("swap"));
  EXPECT_GT(again.at("queue").at("preempted"), 20);
  for (const char* part : {"ttft", "tpot", "queue", "time", "saturation"}) EXPECT_EQ(again.at(part), said.at(part));
  // a cache with room for all swaps nothing, and takes as long
  const std::string few = "serve llama3-8b --engine vllm-v0 --input 512 --output 64 --concurrency 8 ";
  const json none = told(few + "--preemption swap");
  EXPECT_EQ(none.at("swap").at("sequences"), 0);
  EXPECT_EQ(none.at("end_to_end"), told(few).at("end_to_end"));
}

/// vLLM V0 stops where its swap space is full, and the hint says how much is enough.
TEST(Swapping, AFullHostStopsTheEngine) {
  const auto stopped = run_line(full + "--preemption swap --swap-space 0.01");
  EXPECT_EQ(stopped.code, 2);
  EXPECT_THAT(stopped.err, AllOf(HasSubstr("--swap-space: vLLM V0 stops"), HasSubstr("--preemption recompute")));
  const std::size_t at = stopped.err.find("--swap-space ", stopped.err.find('\n'));
  ASSERT_NE(at, std::string::npos) << stopped.err;
  const std::string enough = stopped.err.substr(at, stopped.err.find(',', at) - at);
  EXPECT_EQ(run_line(full + "--preemption swap " + enough).code, 0) << enough;
  const auto less = run_line(full + "--preemption swap --swap-space 0.001");
  EXPECT_THAT(less.err, HasSubstr("--swap-space: vLLM V0 stops")) << "less than a block is no way to read again";
  EXPECT_THAT(less.err, HasSubstr(enough));
}

/// 0.7 of 2 TiB, for each of four tensor ranks: 358 GiB, whatever the stages are.
TEST(Swapping, TheMostSpaceIsThatOfTensorRanks) {
  const std::string line = "serve llama3-70b --machine hgx-h200 --engine vllm-v0 --preemption swap --input 512 "
                           "--output 64 --concurrency 4 --gpus 8 ";
  EXPECT_EQ(run_line(line + "--tp 4 --pp 2 --swap-space 250").code, 0);
  EXPECT_THAT(run_line(line + "--tp 4 --pp 2 --swap-space 400").err, HasSubstr("at most 256"));
  EXPECT_THAT(run_line(line + "--tp 8 --swap-space 250").err, HasSubstr("at most 179"));
}

/// On two stages each block has half of its layers on each of two GPUs, one after the other; on two tensor ranks half
/// of its heads on each, at once.
TEST(Swapping, EachStageCopiesItsPart) {
  const std::string more =
      "serve llama3-8b --engine vllm-v0 --preemption swap --swap-space 200 --input 512 --output 4096 "
      "--concurrency 1000 --requests 1000 --most-sequences 1000 --gpus 2 ";
  constexpr double mebi = 1 << 20;  // of a block on one GPU
  for (const std::string split : {"--pp 2", "--tp 2"}) {
    const json swap = told(more + split).at("swap");
    ASSERT_GT(swap.at("sequences"), 20) << split;
    const double blocks = 2 * swap.at("out_bytes_per_gpu").get<double>() / mebi;
    EXPECT_NEAR(swap.at("time_s").get<double>() / (blocks * 64 * 2.3e-6), 1, 1e-9) << split;
    EXPECT_LE(swap.at("most_bytes_per_gpu"), swap.at("space_bytes_per_gpu")) << split;
  }
}

/// Gaps between tokens hold the wait in the host's memory: of requests that are all as long their mean is that of a
/// request's time behind its first token over its other tokens.
TEST(Swapping, GapsHoldTheWait) {
  const json swapped = told(full + "--preemption swap --swap-space 64");
  const json &gaps = swapped.at("inter_token"), &tokens = swapped.at("tpot");
  EXPECT_NEAR(gaps.at("mean_s").get<double>() / tokens.at("mean_s").get<double>(), 1, 1e-9);
  EXPECT_GT(gaps.at("mean_s"), gaps.at("p50_s")) << "few wait for long";
}

TEST(Swapping, WhatEnginesDoNotDoIsRefused) {
  const std::string load = "--input 512 --output 64 --concurrency 4 ";
  const auto err = [&](const std::string& more) { return run_line("serve llama3-8b " + load + more).err; };
  EXPECT_THAT(err("--preemption swap"), HasSubstr("vLLM V1 keeps no sequences that give way"));
  EXPECT_THAT(err("--engine sglang --preemption swap"), HasSubstr("in pools that decode alone"));
  EXPECT_THAT(err("--engine sglang --prefill-gpus 1 --preemption recompute"), HasSubstr("reads no prompts again"));
  EXPECT_EQ(err("--engine sglang --prefill-gpus 1"), "");
  EXPECT_THAT(err("--engine vllm-v0 --swap-space 4"), HasSubstr("with --preemption swap"));
  EXPECT_THAT(err("--engine vllm-v0 --preemption swap --swap-space 4000"), HasSubstr("more than 70 %"));
  EXPECT_THAT(err("--preemption swop"), HasSubstr("swap or recompute"));
  EXPECT_THAT(err("--engine vllm-v0 --preemption swap --swap-space no"), HasSubstr("GiB for each GPU"));
  EXPECT_THAT(
      run_line("serve nemotron-h-8b --engine vllm-v0 --preemption swap " + load).err, HasSubstr("keep a state"));
}

/// A pool that swaps by itself refuses nothing as long as nobody gives way, and copies what its engine copies: states
/// with the keys, and keys of layers that are guessed for.
TEST(Swapping, PoolsThatSwapByThemselvesRefuseNothingBefore) {
  const std::string load = "--engine sglang --prefill-gpus 1 --input 512 --output 64 --concurrency 4 ";
  for (const std::string first : {"serve nemotron-h-8b ", "serve llama3-8b --draft 1 --accepted 0.8 "}) {
    EXPECT_EQ(run_line(first + load).code, 0) << run_line(first + load).err;
    EXPECT_EQ(run_line(first + load + "--preemption swap").code, 0) << first;
  }
  const json guessed = told("serve llama3-8b --engine sglang --prefill-gpus 1 --input 512 --output 4096 --concurrency "
                            "300 --requests 300 --draft 1 --accepted 0.8");
  EXPECT_GT(guessed.at("swap").at("sequences"), 0);
  EXPECT_GT(guessed.at("swap").at("time_s"), 0);
  const json swept = told("serve-sweep qwen3-next-80b-a3b --engine sglang --pools --gpus 8 --input 1024 --output 1024 "
                          "--concurrency 64");
  EXPECT_GT(swept.at("rows").size(), 0U);
  EXPECT_THAT(swept.at("refused").dump(), Not(HasSubstr("--preemption")));
}

/// What a sequence has in the cache is copied: of a layer with a window no more than that, of latents one tensor, and
/// states beside the keys.
TEST(Swapping, BytesAreThoseOfTheCache) {
  const std::string pools =
      " --engine sglang --prefill-gpus 1 --input 512 --output 2048 --concurrency 900 --requests 900 "
      "--most-sequences 900 ";
  for (const std::string network : {"llama3-8b", "deepseek-v2-lite", "nemotron-h-8b", "gpt-oss-20b"}) {
    const json swap = told("serve " + network + pools).at("swap");
    EXPECT_GT(swap.at("sequences"), 0) << network;
    // bytes at the link's 63 GB/s, out and in
    const double bytes = swap.at("out_bytes_per_gpu").get<double>() + swap.at("in_bytes_per_gpu").get<double>();
    EXPECT_NEAR(swap.at("time_s").get<double>() * 63e9 / bytes, 1, 1e-9) << network;
    // each has its prompt and some words there, as the cache of such a sequence is filled
    const json held = told("infer " + network + " --engine sglang --context 1535");
    const double position = held.at("memory").at("cache_bytes_per_position"),
                 each = bytes / 2 / swap.at("sequences").get<double>();
    EXPECT_GT(each, 512 * position) << network;
    EXPECT_LT(each, 2560 * position) << network;
  }
}

/// The pool that decodes of SGLang has no other way.
TEST(Swapping, APoolThatDecodesOfSglangSwapsByItself) {
  const json pools =
      told("serve llama3-8b --engine sglang --prefill-gpus 1 --input 512 --output 4096 --concurrency 300 "
           "--requests 300");
  EXPECT_GT(pools.at("swap").at("sequences"), 0);
  EXPECT_EQ(pools.at("swap").at("out_bytes_per_gpu"), pools.at("swap").at("in_bytes_per_gpu"));
  // one comes back with 512 positions to spare for each that runs, so that few give way again
  EXPECT_LT(pools.at("swap").at("sequences"), 300);
  EXPECT_THAT(run_line("serve llama3-8b --engine sglang --prefill-gpus 1 --input 512 --output 64 --concurrency 4 "
                       "--preemption swap --swap-space 4000")
                  .err,
      HasSubstr("and the host has"));
}

TEST(Swapping, SweepsSimulateItAndSayItsFlags) {
  const std::string sweep = "serve-sweep llama3-8b --engine vllm-v0 --gpus 1 --tp 1 --input 512 --output 2048 "
                            "--concurrency 256 --preemption swap ";
  const json swept = told(sweep + "--swap-space 64");
  ASSERT_EQ(swept.at("rows").size(), 1U);
  EXPECT_GT(swept.at("rows")[0].at("swapped_sequences"), 0);
  EXPECT_THAT(swept.at("rows")[0].at("mean_field_doubt").dump(), HasSubstr("give"));
  EXPECT_THAT(swept.at("best")[0].at("command"), HasSubstr("--preemption swap --swap-space 64"));
  const json stopped = told(sweep + "--swap-space 0.01");
  EXPECT_EQ(stopped.at("rows").size(), 0U);
  EXPECT_THAT(stopped.at("refused").dump(), HasSubstr("the engine stops"));
}

/// V0 cuts prompts where it is told so, and by itself beyond 32,768 positions.
TEST(Swapping, MixedIterationsAreRefused) {
  const std::string line = "vllm serve meta-llama/Llama-3.1-8B-Instruct --preemption-mode swap";
  for (const char* more : {" --max-model-len 8192 --enable-chunked-prefill", ""}) {
    const engines::Read mixed = engines::read(line + more);
    ASSERT_EQ(mixed.error, "") << more;
    EXPECT_FALSE(mixed.asked.row.prompts_apart) << more;
    EXPECT_FALSE(mixed.asked.row.whole_prompts) << more;
    EXPECT_EQ(mixed.asked.row.most_positions, 2048) << more;
    EXPECT_THAT(run_line("serve --input 512 --output 64 --concurrency 4 --launch -- " + line + more).err,
        HasSubstr("iterations that hold prompts and tokens"))
        << more;
  }
  EXPECT_EQ(engines::read(line + " --max-num-batched-tokens 4096").asked.row.most_positions, 4096);
  for (const char* more : {" --max-model-len 32768", " --max-model-len 40000 --no-enable-chunked-prefill"})
    EXPECT_TRUE(engines::read(line + more).asked.row.prompts_apart) << more;
  // windows and latents keep them apart
  for (const char* model : {"deepseek-ai/DeepSeek-V2-Lite", "google/gemma-2-9b-it"}) {
    const engines::Read apart = engines::read(std::string("VLLM_USE_V1=0 vllm serve ") + model);
    EXPECT_EQ(apart.error, "") << model;
    EXPECT_TRUE(apart.asked.row.prompts_apart) << model;
  }
}

/// vLLM's oracle of 0.8 to 0.10 asks whether a mode is said, not which.
TEST(Swapping, AnyPreemptionModeIsOfV0) {
  const std::string line = "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192 --preemption-mode ";
  for (const std::string mode : {"swap", "recompute"}) {
    EXPECT_EQ(engines::read(line + mode).asked.flags.at("--engine"), "vllm-v0") << mode;
    EXPECT_THAT(engines::read("VLLM_USE_V1=1 " + line + mode).error, HasSubstr("vLLM does not start")) << mode;
  }
  EXPECT_FALSE(engines::read(line + "recompute").asked.flags.contains("--preemption"));
  EXPECT_EQ(engines::read("vllm serve meta-llama/Llama-3.1-8B-Instruct").asked.flags.at("--engine"), "vllm");
}

TEST(Swapping, LaunchesOfV0SayIt) {
  const std::string line = "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192 --preemption-mode swap";
  const engines::Read swap = engines::read(line + " --swap-space 16");
  ASSERT_EQ(swap.error, "");
  EXPECT_EQ(swap.asked.flags.at("--engine"), "vllm-v0");
  EXPECT_EQ(swap.asked.flags.at("--preemption"), "swap");
  EXPECT_EQ(swap.asked.flags.at("--swap-space"), "16");
  EXPECT_FALSE(engines::read(line).asked.flags.contains("--swap-space"));
  const engines::Read again = engines::read(line + " --swap-space 16", {{"--preemption", "recompute"}});
  EXPECT_EQ(again.error, "");
  EXPECT_FALSE(again.asked.flags.contains("--swap-space")) << "the way that is told goes over the launch's";
  EXPECT_EQ(run_line("serve --preemption recompute --input 512 --output 64 --concurrency 4 --launch -- " + line +
                     " --swap-space 16")
                .code,
      0);
  EXPECT_THAT(engines::read(line, {{"--engine", "vllm"}}).error, HasSubstr("reads sequences that give way again"));
  EXPECT_THAT(engines::read(line + " --swap-space 0").error, HasSubstr("no memory of the host"));
  EXPECT_THAT(engines::read("vllm serve meta-llama/Llama-3.1-8B-Instruct --preemption-mode x").error,
      HasSubstr("swap or recompute"));
  // without the mode its space is that of V1, which keeps nothing there
  const engines::Read space = engines::read("vllm serve meta-llama/Llama-3.1-8B-Instruct --swap-space 16");
  EXPECT_EQ(space.error, "");
  EXPECT_FALSE(space.asked.flags.contains("--preemption"));
}

TEST(Swapping, ItIsWrittenAndReadBack) {
  const std::string asked =
      "serve llama3-8b --engine vllm-v0 --preemption swap --swap-space 64 --input 512 --output 2048 "
      "--concurrency 256 --requests 512 ";
  const auto emitted = run_line(asked + "--emit vllm");
  ASSERT_EQ(emitted.code, 0) << emitted.err;
  EXPECT_THAT(emitted.out, AllOf(HasSubstr("--preemption-mode swap"), HasSubstr("--swap-space 64")));
  const std::string file = engines::written("swap.sh", emitted.out);
  EXPECT_EQ(told(asked).at("swap").at("sequences"), told("serve --launch " + file).at("swap").at("sequences"));
  // latents are never cut, however long requests may be
  const auto latents =
      run_line("serve deepseek-v2-lite --engine vllm-v0 --preemption swap --input 40000 --output 100 --concurrency 2 "
               "--emit vllm");
  ASSERT_EQ(latents.code, 0) << latents.err;
  EXPECT_THAT(latents.out, Not(HasSubstr("--max-model-len")));
  EXPECT_EQ(run_line("serve --launch " + engines::written("latents.sh", latents.out)).code, 0);
  // a checkpoint of longer requests would cut prompts
  const auto longer =
      run_line("serve qwen3-8b --engine vllm-v0 --preemption swap --input 512 --output 64 --concurrency 4 "
               "--emit vllm");
  EXPECT_THAT(longer.out, HasSubstr("--max-model-len 32768"));
  EXPECT_EQ(run_line("serve --launch " + engines::written("longer.sh", longer.out)).code, 0);
  const auto other =
      run_line("serve llama3-8b --engine sglang --preemption swap --input 512 --output 64 --concurrency 4 "
               "--emit sglang");
  EXPECT_EQ(other.out, "");
  EXPECT_THAT(other.err, HasSubstr("in pools that decode alone"));
}

}  // namespace
}  // namespace stepcast::serve
