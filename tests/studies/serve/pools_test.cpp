// Pools of their own for prompts and words: the way between them, and the command.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/infer/pools.h"
#include "studies/infer/records/records.h"
#include "studies/serve/prompt_pool.h"
#include "tests/studies/run_program.h"

namespace stepcast::serve {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing_program::run_line;

infer::Serving pool_serving(const std::string& network, std::int64_t tp) {
  infer::ServingWishes wishes;
  wishes.network = network, wishes.machine = "dgx-h100", wishes.tp = tp;
  auto made = infer::serving_of(wishes);
  EXPECT_TRUE(made) << to_text(made.error());
  return std::move(*made);
}

TEST(Pools, HowManyEnginesReadPromptsIsAsked) {
  const auto ran = run_line("serve llama3-8b --prefill-gpus 8 --prefill-tp 4 --input 512 --output 64 --concurrency 4");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(
      ran.err, AllOf(HasSubstr("--prefill-gpus: 8 GPUs for an engine of 4"), HasSubstr("--prefill-replicas 2")));
}

/// 32 layers x 2 x 8 heads of keys x 128 x 2 bytes are 128 KiB of a position, and 2,048 positions 256 MiB. Four ranks
/// of words need a quarter each, and two that read the prompt send half each. The larger goes at some 450 GB/s.
TEST(Pools, HeadsAreDealtOutAnew) {
  const infer::Serving prompts = pool_serving("llama3-8b", 2), words = pool_serving("llama3-8b", 4);
  const infer::CacheTransfer sent = infer::transfer_of(prompts, words, 2048);
  constexpr double mib = 1 << 20;
  EXPECT_EQ(sent.received.value(), 64 * mib);
  EXPECT_EQ(sent.sent.value(), 128 * mib);
  EXPECT_EQ(sent.fabric, "node");
  EXPECT_GT(sent.time.value(), 128 * mib / 450e9);
  EXPECT_LT(sent.time.value(), 2 * 128 * mib / 450e9);
  EXPECT_EQ(infer::transfers(prompts, words)(2048).time(), sent.time);
  // 8 + 4 GPUs are more than a node has: 128 / 4 x 2 MiB of each of eight, over a port of 50 GB/s.
  const infer::CacheTransfer far = infer::transfer_of(pool_serving("llama3-8b", 8), words, 2048);
  EXPECT_EQ(far.fabric, "cluster");
  EXPECT_EQ(far.sent.value(), 32 * mib);
  EXPECT_GT(far.time.value(), 64 * mib / 50e9);
}

/// Each of eight ranks that read a prompt sends an eighth of what a GPU gets that says its words: eight such GPUs take
/// eight prompts in the time of one, but for latencies. A group of eight gets as fast as it is sent to.
TEST(Pools, TheLinksOfBothEndsCount) {
  const auto most = [](const std::string& words) {
    const json one = json::parse(run_line("serve llama3-8b --machine dgx-h100 --json --input 4096 --output 8 "
                                          "--concurrency 8 --requests 8 --prefill-gpus 8 --prefill-tp 8 " +
                                          words)
                                     .out,
        nullptr, false);
    return one["prefill_pool"]["transfer"]["requests_per_s_at_most"].get<double>();
  };
  const double one = most("--gpus 1"), eight = most("--gpus 8 --tp 1 --replicas 8");
  EXPECT_GT(eight, 7 * one);
  EXPECT_LE(eight, 8.001 * one);
  // As fast as eight groups of one GPU that send to eight others, where latencies are little.
  EXPECT_NEAR(most("--gpus 8 --tp 8") / eight, 1, 0.2);
}

/// A latent cache is whole on every rank: one that read the prompt sends it to four.
TEST(Pools, LatentKeysGoToEveryRank) {
  const infer::Serving prompts = pool_serving("deepseek-v2-lite", 1), words = pool_serving("deepseek-v2-lite", 4);
  const infer::CacheTransfer sent = infer::transfer_of(prompts, words, 1000);
  // 27 layers x (512 + 64) x 2 bytes
  EXPECT_EQ(sent.received.value(), 27.0 * 576 * 2 * 1000);
  EXPECT_EQ(sent.sent.value(), 4 * sent.received.value());
}

json served_pools(const std::string& load) {
  const auto ran = run_line("serve llama3-8b --machine dgx-h100 --json " + load);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return json::parse(ran.out, nullptr, false);
}

/// One user alone: TTFT is the way to the scheduler, a prompt of infer, and the link; each word is a word of infer.
TEST(Pools, OneUserHasBothPoolsOfInfer) {
  const json one = served_pools("--input 1000 --output 101 --concurrency 1 --requests 3 --tp 2 --prefill-tp 4");
  const infer::Serving prompts = pool_serving("llama3-8b", 4), words = pool_serving("llama3-8b", 2);
  const double read = infer::prefill(prompts, 1, 1000, 0).time.value(),
               word = infer::decode(words, 1, 1050).time.value();
  const double link = infer::transfer_of(prompts, words, 1000).time.value();
  EXPECT_NEAR(one["tpot"]["mean_s"].get<double>() / word, 1, 0.01);
  EXPECT_NEAR((one["ttft"]["mean_s"].get<double>() - prompts.engine.host_per_request.value()) / (read + link), 1, 0.02);
  EXPECT_EQ(one["gpus"], 6);
  EXPECT_EQ(one["prefill_pool"]["gpus"], 4);
  EXPECT_NEAR(one["prefill_pool"]["transfer"]["time_s"].get<double>(), link, 1e-12);
}

/// What prompts share is not read again, but sent.
TEST(Pools, SharedHeadsAreSentWithEachPrompt) {
  const std::string load = "--input 2000 --output 20 --concurrency 1 --requests 3 --prefill-tp 1";
  const json whole = served_pools(load), shared = served_pools(load + " --shared 1900");
  EXPECT_LT(shared["ttft"]["mean_s"].get<double>(), 0.7 * whole["ttft"]["mean_s"].get<double>());
  EXPECT_EQ(shared["prefill_pool"]["transfer"]["time_s"], whole["prefill_pool"]["transfer"]["time_s"]);
  EXPECT_EQ(shared["cache"]["most_used"], whole["cache"]["most_used"]);
}

/// Where prompts are long and words few the pool of prompts binds: twice the replicas do twice as much.
TEST(Pools, TheSlowerPoolBinds) {
  const json one = served_pools("--input 4096 --output 8 --concurrency 8 --gpus 2 --prefill-gpus 1"),
             two =
                 served_pools("--input 4096 --output 8 --concurrency 8 --gpus 2 --prefill-gpus 2 --prefill-replicas 2");
  EXPECT_EQ(one["saturation"]["binds"], "prefill");
  EXPECT_NEAR(
      two["saturation"]["requests_per_s"].get<double>() / one["saturation"]["requests_per_s"].get<double>(), 2, 1e-9);
  EXPECT_LE(one["requests_per_s"].get<double>(), 1.02 * one["saturation"]["requests_per_s"].get<double>());
  const json words = served_pools("--input 128 --output 512 --concurrency 8 --gpus 1 --prefill-gpus 1");
  EXPECT_EQ(words["saturation"]["binds"], "decode");
  EXPECT_GT(words["saturation"]["tpot_s"].get<double>(), words["tpot"]["mean_s"].get<double>());
  const auto over = run_line("serve llama3-8b --input 4096 --output 8 --rate 100 --prefill-gpus 1");
  EXPECT_EQ(over.code, 0);
  EXPECT_THAT(over.out, HasSubstr("the prefill pool serve"));
}

/// One user alone, whose prompt is read on an H100 and whose words are said on H200s: each as infer has it there. The
/// keys go over the network, at the 50 GB/s of either: 1,000 positions x 128 KiB from one GPU.
TEST(Pools, MayStandOnUnlikeGpus) {
  const std::string line = "serve llama3-8b --machine hgx-h200 --tp 2 --prefill-machine dgx-h100 --prefill-engine "
                           "vllm-2026 --prefill-tp 1 --input 1000 --output 101 --concurrency 1 --requests 3";
  const json one = json::parse(run_line(line + " --json").out, nullptr, false);
  const auto of = [](const char* machine, std::int64_t tp, const char* engine) {
    infer::ServingWishes wishes;
    wishes.network = "llama3-8b", wishes.machine = machine, wishes.tp = tp, wishes.engine = engine;
    return *infer::serving_of(wishes);
  };
  const infer::Serving prompts = of("dgx-h100", 1, "vllm-2026"), words = of("hgx-h200", 2, "vllm");
  const double read = infer::prefill(prompts, 1, 1000, 0).time.value(),
               word = infer::decode(words, 1, 1050).time.value();
  const infer::CacheTransfer sent = infer::transfer_of(prompts, words, 1000);
  EXPECT_NEAR(one["tpot"]["mean_s"].get<double>() / word, 1, 0.01);
  EXPECT_NEAR(
      (one["ttft"]["mean_s"].get<double>() - prompts.engine.host_per_request.value()) / (read + sent.time.value()), 1,
      0.02);
  EXPECT_EQ(sent.fabric, "cluster");
  EXPECT_GT(sent.time.value(), 1000.0 * 128 * 1024 / 50e9);
  EXPECT_LT(sent.time.value(), 2 * 1000.0 * 128 * 1024 / 50e9);
  EXPECT_EQ(one["prefill_pool"]["machine"], "dgx-h100");
  EXPECT_EQ(one["prefill_pool"]["engine"], "vllm-2026");
  EXPECT_THAT(run_line(line).out, AllOf(HasSubstr("on 2 x NVIDIA H200"), HasSubstr("and 1 x NVIDIA H100")));
}

/// A prompt alone goes through one stage after the other, and takes as long as infer says of two.
TEST(Pools, PromptsAreReadOnStages) {
  const json one = served_pools(
      "--input 1000 --output 101 --concurrency 1 --requests 3 --prefill-gpus 2 --prefill-tp 1 --prefill-pp 2");
  infer::ServingWishes wishes;
  wishes.network = "llama3-8b", wishes.machine = "dgx-h100", wishes.pp = 2;
  const infer::Serving prompts = *infer::serving_of(wishes), words = pool_serving("llama3-8b", 1);
  const double read = infer::prefill(prompts, 1, 1000, 0).time.value(),
               link = infer::transfer_of(prompts, words, 1000).time.value();
  EXPECT_NEAR((one["ttft"]["mean_s"].get<double>() - prompts.engine.host_per_request.value()) / (read + link), 1, 0.02);
  EXPECT_EQ(one["gpus"], 3);
  EXPECT_EQ(one["prefill_pool"]["pp"], 2);
  // Prompts that come one after the other fill both stages: busy is of the pool's time, and no more than all of it.
  const json many =
      served_pools("--input 4096 --output 8 --concurrency 16 --prefill-gpus 2 --prefill-tp 1 --prefill-pp 2");
  EXPECT_GT(many["prefill_pool"]["busy"].get<double>(), 0.8);
  EXPECT_LE(many["prefill_pool"]["busy"].get<double>(), 1);
}

TEST(Pools, WhatCannotBeIsSaid) {
  const auto error = [](const std::string& load) {
    const auto ran = run_line("serve llama3-8b --machine dgx-h100 --input 512 --concurrency 2 " + load);
    EXPECT_EQ(ran.code, 2) << load;
    return ran.err;
  };
  EXPECT_THAT(error("--output 1 --prefill-tp 2"), HasSubstr("a request of one token"));
  EXPECT_THAT(error("--output 8 --prefill-gpus 3 --prefill-replicas 2"), HasSubstr("3 GPUs for 2 replicas"));
  EXPECT_THAT(error("--output 8 --prefill-gpus 4 --prefill-tp 3"), HasSubstr("--prefill-gpus"));
  EXPECT_THAT(error("--output 8 --prefill-ep 2"), HasSubstr("--prefill-ep"));
  EXPECT_THAT(error("--output 8 --prefill-tp 1 --prefill-engine sglang"),
      AllOf(HasSubstr("--prefill-engine"), HasSubstr("no engine takes another's keys")));
  EXPECT_THAT(error("--output 8 --prefill-tp 1 --prefill-engine nobody"), HasSubstr("--prefill-engine"));
  EXPECT_THAT(error("--output 8 --prefill-tp 1 --prefill-machine nowhere"), HasSubstr("--prefill-machine"));
  EXPECT_THAT(error("--output 8 --prefill-tp 1 --prefill-machine hgx-h200 --profile h100-sxm-80gb"),
      HasSubstr("one GPU's laws for pools on two kinds of machine"));
}

/// The engine's errors name its own flags: those of the pool are said, in place and hint, and no others.
TEST(Pools, ErrorsNameTheFlagsOfTheirPool) {
  const Error of_pool = error_of_prompts({"--tp", "3 ranks", "--tp 4"});
  EXPECT_EQ(of_pool.where, "--prefill-tp");
  EXPECT_EQ(of_pool.hint, "--prefill-tp 4");
  const Error of_both = error_of_prompts({"--gpus", "8 GPUs", "--ep 2 or more"});
  EXPECT_EQ(of_both.where, "--prefill-gpus");
  EXPECT_EQ(of_both.hint, "--prefill-ep 2 or more");
  EXPECT_EQ(error_of_prompts({"--engine-args.json", "no object", ""}).where, "--engine-args.json");
}

/// Layers of stages are those of the pool that says tokens: the one that reads prompts has one stage.
TEST(Pools, LayersOfStagesAreOfTheOtherPool) {
  const std::string line = "serve llama3-8b --machine dgx-h100 --pp 2 --layout 12,20 --gpus 2 --prefill-gpus 2 "
                           "--input 512 --output 128 --rate 2";
  const auto ran = run_line(line);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("tp 1, pp 2 of 12, 20 layers, 1 replica, and 1 of prompts"));
  EXPECT_EQ(json::parse(run_line(line + " --json").out).at("layers"), json({12, 20}));
}

/// A record of two pools is forecast as serve does with the newest engine; one that does not tell its users is refused.
TEST(Pools, MeasuredPoolsAreForecast) {
  const auto made = [](const std::string& workload) {
    return infer::forecast(infer::read_inference(
        "{\"id\": \"a\", \"phase\": \"serving\", \"model\": {\"id\": \"llama3-8b\"}, \"hardware\": {\"gpu\": "
        "\"H100-SXM-80GB\"}, \"software\": {\"name\": \"vllm\", \"version\": \"0.12.0\"}, \"parallel\": {\"tp\": null, "
        "\"disagg\": {\"prefill\": {\"tp\": 4, \"pp\": 1, \"workers\": 1}, \"decode\": {\"tp\": 2, \"workers\": 2}}}, "
        "\"precision\": {\"weights\": \"bf16\", \"kv_cache\": \"bf16\"}, \"workload\": {\"isl\": 512, \"osl\": 64" +
            workload + "}, \"measured\": {\"tpot_ms\": 10}}",
        "r")
                               ->front());
  };
  const auto load = made(", \"concurrency\": 16");
  ASSERT_TRUE(load) << to_text(load.error());
  const json as_served = served_pools("--input 512 --output 64 --concurrency 16 --gpus 4 --replicas 2 --prefill-gpus 4 "
                                      "--engine vllm-2026");
  EXPECT_NEAR(load->predicted / (1e3 * as_served["tpot"]["mean_s"].get<double>()), 1, 1e-6);
  const auto untold = made("");
  ASSERT_FALSE(untold);
  EXPECT_THAT(untold.error().what, HasSubstr("without so many users"));
}

}  // namespace
}  // namespace stepcast::serve
