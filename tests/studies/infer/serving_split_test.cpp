// How an engine's ranks split an iteration: prompts and caches by position, mappings of one's own, and what is refused.
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/infer/phases.h"
#include "studies/infer/served_load.h"
#include "studies/infer/serving.h"
#include "tests/studies/infer/serving_by_name.h"
#include "tests/studies/run_program.h"

namespace stepcast::infer {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_program::run_line;

Serving serving_on(std::int64_t tp, std::int64_t cp, std::int64_t dcp, const char* network = "llama3-70b") {
  ServingWishes wishes;
  wishes.network = network, wishes.machine = "dgx-h100", wishes.tp = tp, wishes.cp = cp, wishes.dcp = dcp;
  return served(wishes);
}

/// 8 key heads on 16 ranks: each lies twice, or half of its positions on each of the two.
TEST(ServingSplit, DecodeContextParallelHalvesTheCache) {
  const Serving plain = serving_on(16, 1, 1), split = serving_on(16, 1, 2);
  EXPECT_EQ(plain.cache_bytes(1000), 80.0 * 1000 * 128 * 2 * 2);
  EXPECT_EQ(split.cache_bytes(1000), plain.cache_bytes(1000) / 2);
  EXPECT_EQ(split.weight_bytes(), plain.weight_bytes());
  const ServingCost cost(split);
  // 16 words behind 8191 positions: 8 of 64 heads in place of 4, over 4096 keys in place of 8192.
  const sim::IterationTime words = cost.time(sim::Rows{16, 1, 8191});
  EXPECT_EQ(part_of(words, "attn.core")->flops.value(), 80.0 * 16 * 8 * 4096 * 128 * 4);
  EXPECT_EQ(part_of(words, "Q all_gather")->bytes.value(), 80.0 * 16 * 4 * 128 * 2);
  EXPECT_EQ(part_of(words, "O.max all_reduce")->bytes.value(), 80.0 * 16 * 8 * 4);
  EXPECT_EQ(part_of(words, "O reduce_scatter")->bytes.value(), 80.0 * 16 * 8 * 129 * 4 / 2);
  // A prompt gathers what stood in the cache: 1000 positions of K and V from the neighbour's half.
  const sim::IterationTime prompt = cost.time(sim::Rows{1, 512, 1000});
  EXPECT_NEAR(part_of(prompt, "K.cache all_gather")->bytes.value(), 80.0 * 1000 * 128 * 2 / 2, 1);
  EXPECT_EQ(part_of(prompt, "Q all_gather"), nullptr);
  const sim::IterationTime first = cost.time(sim::Rows{1, 512, 0});
  EXPECT_NEAR(part_of(first, "K.cache all_gather")->bytes.value(), 0, 1);
  EXPECT_EQ(part_of(first, "K.cache all_gather")->time.value(), 0);
}

Serving on_stages(const char* engine, std::int64_t pp, const std::string& layout = "") {
  ServingWishes wishes;
  wishes.network = "llama3-70b", wishes.machine = "dgx-h100", wishes.engine = engine;
  wishes.tp = 2, wishes.pp = pp, wishes.layout = layout;
  return served(wishes);
}

/// 80 layers on three stages: 26 on each, and two are left. A layer keeps 2 x 4 heads x 128 numbers of a position on
/// each of two ranks.
TEST(ServingSplit, LayersThatStagesDoNotDivideLieAsTheEngineDealsThem) {
  using Layers = std::vector<std::int64_t>;
  const Serving vllm = on_stages("vllm", 3), sglang = on_stages("sglang", 3), own = on_stages("vllm", 3, "20,20,40");
  EXPECT_EQ(vllm.layers, (Layers{27, 27, 26}));
  EXPECT_EQ(sglang.layers, (Layers{26, 27, 27}));
  EXPECT_EQ(own.layers, (Layers{20, 20, 40}));
  EXPECT_THAT(split_in_words(own), HasSubstr("pp 3 of 20, 20, 40 layers"));
  constexpr double layer = 2 * 4 * 128 * 2;
  EXPECT_EQ(vllm.cache_bytes(1000), 27 * 1000 * layer);
  EXPECT_EQ(own.cache_bytes(1000), 40 * 1000 * layer);
  EXPECT_EQ(on_stages("vllm", 2).layers, Layers{}) << "40 each";
  const auto says_layout = [](const Serving& s) {
    return std::ranges::any_of(s.assumptions, [](const std::string& a) { return a.starts_with("--layout 27,27,26"); });
  };
  EXPECT_TRUE(says_layout(vllm));
  EXPECT_FALSE(says_layout(own)) << "it was said";
}

/// Half of the layers on the last of three stages: the cache has room for what that leaves.
TEST(ServingSplit, TheFullestStageHoldsTheFewestPositions) {
  const Serving own = on_stages("vllm", 3, "20,20,40");
  const Capacity room = capacity(own, 1000);
  EXPECT_EQ(room.bytes_per_position, 40 * 2 * 4 * 128 * 2.0);
  EXPECT_EQ(room.weights, own.weight_bytes(own.form->held().back()));
  EXPECT_GT(capacity(on_stages("vllm", 3), 1000).blocks, room.blocks);
  const std::vector<double> parts = stage_parts(own);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_NEAR(parts[0], 0.25, 0.02);
  EXPECT_NEAR(parts[1], 0.25, 0.02);
  EXPECT_NEAR(parts[2], 0.5, 0.03) << "and the LM head";
  EXPECT_TRUE(stage_parts(on_stages("vllm", 1)).empty());
}

TEST(ServingSplit, StagesThatNoRuleCutsAreRefused) {
  const auto error = [](const std::string& flags) {
    const auto ran = run_line("infer llama3-70b --context 1000 --tp 2 " + flags);
    EXPECT_EQ(ran.code, 2) << flags;
    return ran.err;
  };
  const std::string mii = error("--engine deepspeed-mii --pp 3");
  EXPECT_THAT(mii, HasSubstr("80 layers do not divide by pp 3, and how DeepSpeed-MII deals out the rest is not known"));
  EXPECT_THAT(mii, HasSubstr("--layout 27,27,26, or one of: 1, 2, 4"));
  EXPECT_THAT(error("--pp 3 --layout balanced"), HasSubstr("weighed by a step of training"));
  EXPECT_THAT(error("--pp 81"), HasSubstr("81 stages for the 80 layers of llama3-70b"));
}

/// Stages of an engine are whole numbers of layers, one for each: 80 in all. Training's letters are none.
TEST(ServingSplit, LayersOfStagesThatAreNotTheNetworksAreRefused) {
  const auto refused = [](const std::string& layout, const std::string& why, const std::string& hint) {
    const auto ran = run_line("infer llama3-70b --context 1000 --tp 2 --pp 3 --layout " + layout);
    EXPECT_EQ(ran.code, 2) << layout;
    EXPECT_THAT(ran.err, HasSubstr("--layout: " + why)) << layout;
    EXPECT_THAT(ran.err, HasSubstr(hint)) << layout;
    EXPECT_THAT(ran.err, Not(HasSubstr("--chunks"))) << layout;
  };
  refused("40,40", "layers of 2 stages, and there are 3", "--pp 2, or nearest: 27,27,26");
  refused("20,20,20", "60 layers in all, and llama3-70b has 80", "nearest: 27,27,26");
  refused("40,20,21", "81 layers in all", "nearest: 39,20,21");
  refused("0,40,40", "a stage of 0 layers", "whole numbers from 1, nearest: 27,27,26");
  refused("1,1,99", "a stage of 99 layers", "nearest: 27,27,26");
  refused("Et*26|t*27|t*27L", "'Et*26|t*27|t*27L' is no list of the layers of each stage", "nearest: 27,27,26");
  refused("even", "'even' is no list", "nearest: 27,27,26");
  refused("27,27,", "'27,27,' is no list", "nearest: 27,27,26");
  const auto taken = run_line("infer llama3-70b --context 1000 --tp 2 --pp 3 --layout 27,27,26 --json");
  ASSERT_EQ(taken.code, 0) << taken.err;
  EXPECT_EQ(nlohmann::json::parse(taken.out).at("layers"), (std::vector<int>{27, 27, 26}));
}

TEST(ServingSplit, DecodeContextParallelPaysWhereCachesAreLong) {
  const Serving plain = serving_on(8, 1, 1, "deepseek-v2-lite"), split = serving_on(8, 1, 8, "deepseek-v2-lite");
  const auto word = [](const Serving& s, double context) {
    return ServingCost(s).time(sim::Rows{64, 1, context}).time;
  };
  EXPECT_LT(word(plain, 100), word(split, 100));
  EXPECT_GT(word(plain, 30'000), word(split, 30'000));
  EXPECT_GT(capacity(split, 30'000).sequences, 7 * capacity(plain, 30'000).sequences);
}

/// 2048 new positions on two ranks: half of the rows in each product, half of the pairs in the core, and keys of the
/// other half gathered; a word is worked on by all.
TEST(ServingSplit, ContextParallelHalvesPrompts) {
  const Serving one = serving_on(8, 1, 1), two = serving_on(8, 2, 1);
  const ServingCost alone(one), together(two);
  const sim::Rows prompt{1, 2048, 0}, word{8, 1, 4095};
  const sim::IterationTime whole = alone.time(prompt), half = together.time(prompt);
  EXPECT_EQ(part_of(half, "mlp.up")->shape, "1024 x 7168 x 8192");
  EXPECT_NEAR(part_of(half, "attn.core")->flops / part_of(whole, "attn.core")->flops, 0.5, 1e-9);
  EXPECT_NEAR(part_of(half, "K all_gather")->bytes.value(), 80.0 * 1024 * 128 * 2, 1);
  EXPECT_LT(half.kernels, whole.kernels * 0.7);
  const sim::IterationTime said = together.time(word);
  EXPECT_EQ(part_of(said, "attn.core")->flops.value(), 80.0 * 8 * 8 * 2048 * 128 * 4);
  EXPECT_EQ(part_of(said, "mlp.up")->shape, part_of(alone.time(word), "mlp.up")->shape);
  EXPECT_EQ(two.cache_bytes(1000), one.cache_bytes(1000) / 2);
  ServingWishes ring;
  ring.network = "llama3-70b", ring.machine = "dgx-h100", ring.tp = 8, ring.cp = 2, ring.context = "ring";
  const sim::IterationTime round = ServingCost(*serving_of(ring)).time(prompt);
  EXPECT_NEAR(part_of(round, "K ring")->bytes.value(), part_of(half, "K all_gather")->bytes.value(), 1);
}

/// Positions are exchanged for heads around the core (Ulysses): each of 2 ranks gives a half of its half of what tp
/// left it, 1024 positions of 16 query heads. The cache is split by heads, which words find there.
TEST(ServingSplit, PromptsMayExchangeHeads) {
  ServingWishes wishes;
  wishes.network = "llama3-70b", wishes.machine = "dgx-h100", wishes.tp = 4, wishes.cp = 2;
  const Serving gathered = served(wishes);
  wishes.context = "exchange";
  const Serving exchanged = served(wishes);
  const sim::Rows prompt{1, 2048, 0}, words{8, 1, 4095};
  const sim::IterationTime one = ServingCost(exchanged).time(prompt), other = ServingCost(gathered).time(prompt);
  EXPECT_EQ(part_of(one, "Q all_to_all")->bytes.value(), 80.0 * 1024 * 8 * 128 * 2);
  EXPECT_EQ(part_of(one, "K all_to_all")->bytes.value(), 80.0 * 1024 * 1 * 128 * 2);
  EXPECT_EQ(part_of(one, "O all_to_all")->bytes.value(), part_of(one, "Q all_to_all")->bytes.value());
  EXPECT_EQ(part_of(one, "K all_gather"), nullptr);
  EXPECT_NEAR(part_of(one, "attn.core")->flops / part_of(other, "attn.core")->flops, 1, 1e-3);
  EXPECT_EQ(exchanged.cache_bytes(1000), gathered.cache_bytes(1000));
  const sim::IterationTime said = ServingCost(exchanged).time(words);
  EXPECT_EQ(part_of(said, "O.max all_reduce"), nullptr) << "a head has all of its keys";
  EXPECT_EQ(part_of(said, "attn.core")->flops.value(),
      part_of(ServingCost(gathered).time(words), "attn.core")->flops.value());
}

/// Both ranks of cp have the same words, and other tokens of a prompt: experts sum the former and gather the latter.
TEST(ServingSplit, ExpertsUnderContextParallel) {
  ServingWishes wishes;
  wishes.network = "mixtral-8x7b", wishes.machine = "dgx-h100", wishes.tp = 4, wishes.cp = 2;
  for (const std::int64_t ep : {1, 2, 8}) {
    wishes.ep = ep;
    auto made = serving_of(wishes);
    ASSERT_TRUE(made) << to_text(made.error());
    const ServingCost cost(*made);
    const sim::IterationTime prompt = cost.time(sim::Rows{1, 2048, 0}), words = cost.time(sim::Rows{8, 1, 4095});
    // 1024 tokens of 4096 numbers come from the other rank, and as many sums go to it, in each of 32 layers.
    ASSERT_NE(part_of(prompt, "norm2.y all_gather"), nullptr) << ep;
    EXPECT_EQ(part_of(prompt, "norm2.y all_gather")->bytes.value(), 32.0 * 1024 * 4096 * 2) << ep;
    EXPECT_EQ(part_of(prompt, "Y2 reduce_scatter")->bytes.value(), 32.0 * 1024 * 4096 * 2) << ep;
    EXPECT_EQ(part_of(words, "norm2.y all_gather"), nullptr) << ep;
    ASSERT_NE(part_of(words, "Y2 all_reduce"), nullptr) << ep;
  }
}

/// One user's tokens are one iteration after the other, on one stage or on four: contexts of 8 to 507 positions, of
/// which the middle stands for all.
TEST(ServingSplit, OneUsersTokensAreIterationsOnStagesToo) {
  const std::string network = "llama3-8b --machine dgx-h100 --json ";
  for (const int pp : {1, 4}) {
    const auto iteration = run_line(fmt::format("infer {} --pp {} --context 257 --batch 1", network, pp));
    const auto load = run_line(
        fmt::format("serve {} --gpus {} --tp 1 --pp {} --input 8 --output 500 --concurrency 1", network, pp, pp));
    ASSERT_EQ(iteration.code + load.code, 0) << iteration.err << load.err;
    const double one = nlohmann::json::parse(iteration.out).at("time_s"),
                 token = nlohmann::json::parse(load.out).at("tpot").at("mean_s");
    EXPECT_NEAR(token / one, 1, 0.01) << pp;
  }
}

std::string mapping_file(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

/// The text that the flags stand for is the same run.
TEST(ServingSplit, AMappingOfOnesOwn) {
  const std::string tp = mapping_file("tp.flow", "mesh tp:8\nuse tp, vocab\n");
  const auto ours = run_line("infer llama3-70b --context 4096 --batch 8 --json --mapping " + tp),
             flags = run_line("infer llama3-70b --context 4096 --batch 8 --json --tp 8");
  ASSERT_EQ(ours.code, 0) << ours.err;
  const auto a = nlohmann::json::parse(ours.out), b = nlohmann::json::parse(flags.out);
  EXPECT_EQ(a.at("time_s"), b.at("time_s"));
  EXPECT_EQ(a.at("memory"), b.at("memory"));
  EXPECT_EQ(a.at("gpus"), 8);
  const std::string dcp = mapping_file("dcp.flow", "mesh tp:8 dcp:2\nuse dcp, tp, vocab\n");
  const auto joined = run_line("infer llama3-70b --context 4096 --batch 8 --json --mapping " + dcp);
  ASSERT_EQ(joined.code, 0) << joined.err;
  EXPECT_THAT(joined.out, HasSubstr("O.max all_reduce"));
}

TEST(ServingSplit, PositionsAreSplitForPromptsAlone) {
  const std::string pcp = mapping_file("pcp.flow", "mesh tp:4 cp:2\nuse tp, vocab, pcp\n");
  const auto prompt = run_line("infer llama3-8b --prompt 4096 --json --mapping " + pcp);
  ASSERT_EQ(prompt.code, 0) << prompt.err;
  EXPECT_THAT(prompt.out, HasSubstr("K all_gather"));
  const auto word = run_line("infer llama3-8b --context 4096 --mapping " + pcp);
  EXPECT_EQ(word.code, 2);
  EXPECT_THAT(word.err, HasSubstr("par s on cp"));
}

TEST(ServingSplit, WhatIsWrong) {
  const auto refused = [](const std::string& line, const char* why) {
    const auto ran = run_line("infer " + line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr(why)) << line;
  };
  refused("llama3-70b --context 100 --tp 8 --dcp 2", "more --tp than the 8 key heads");
  refused("llama3-70b --context 100 --tp 32 --dcp 8", "one of: 1, 2, 4");
  refused("gpt-oss-20b --context 100 --tp 16 --dcp 2", "layers in a window");
  refused("deepseek-v3.2 --context 100 --tp 8 --dcp 8", "keys that are picked");
  refused("nemotron-h-8b --prompt 100 --cp 2", "layers that carry a state");
  refused("mixtral-8x7b --prompt 100 --cp 2 --ep 3", "a divisor of tp x dp-attention x cp");
  refused("deepseek-v3.2 --prompt 100 --tp 4 --cp 3", "--cp: deepseek-v3.2 has keys that are picked");
  refused("llama3-70b --prompt 100 --tp 16 --cp 2 --dcp 2", "one of them");
  refused("llama3-70b --prompt 100 --tp 8 --cp 2 --cp-way about", "gather or ring");
  refused("deepseek-v3 --prompt 100 --weights fp8-block --tp 8 --cp 2 --cp-way exchange", "an exchange of latent keys");
  refused("llama3-70b --prompt 100 --tp 2 --cp 3 --cp-way exchange", "--cp-way: 32 heads of each of 2 tp ranks");
  refused("gpt-oss-20b --prompt 100 --tp 2 --cp 2 --cp-way exchange", "heads that are exchanged are forecast without");
  const std::string tp = mapping_file("both.flow", "mesh tp:8\nuse tp, vocab\n");
  refused("llama3-70b --prompt 100 --tp 8 --mapping " + tp, "so do flags");
  refused("llama3-70b --prompt 100 --gpus 4 --mapping " + tp, "4 GPUs, but the mesh");
  refused("llama3-70b --prompt 100 --mapping none.flow", "none.flow");
}

/// 10 key heads: 4 neither divides them nor is a multiple, 5 and 20 are fine. PyTorch by itself has no such rule. Nor
/// has the table of 100,352 words a fifth, which vLLM and SGLang want and TensorRT-LLM fills up to.
TEST(ServingSplit, EnginesWantWholeKeyHeads) {
  for (const char* engine : {"vllm", "sglang", "tensorrt-llm"}) {
    const auto ran = run_line(std::string("infer phi-4 --prompt 100 --tp 4 --engine ") + engine);
    EXPECT_EQ(ran.code, 2) << engine;
    const bool fills = std::string(engine) == "tensorrt-llm";
    EXPECT_THAT(ran.err, testing::AllOf(HasSubstr("10 key heads on 4 ranks"),
                             HasSubstr(fills ? "legal tp: 1, 2, 5" : "legal tp: 1, 2\n")))
        << engine;
    const auto twenty = run_line(std::string("infer phi-4 --prompt 100 --tp 20 --engine ") + engine);
    EXPECT_EQ(twenty.code, fills ? 0 : 2) << engine;
    if (!fills) EXPECT_THAT(twenty.err, HasSubstr("100352 rows of the vocabulary, filled up to 100352, on 20 ranks"));
  }
  const auto plain = run_line("infer phi-4 --prompt 100 --tp 4 --engine pytorch");
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_THAT(plain.out, HasSubstr("10 key heads on 4 ranks: each has 5"));
}

/// Experts of 1536 in 8 parts are 192 wide, in 4 parts 384 = 3 x 128.
TEST(ServingSplit, EnginesWantWholeBlocksOfFp8) {
  const std::string line = "infer qwen3-235b-a22b --prompt 100 --weights fp8-block --tp ";
  for (const char* engine : {"vllm", "sglang"}) {
    const auto ran = run_line(line + "8 --engine " + engine);
    EXPECT_EQ(ran.code, 2) << engine;
    EXPECT_THAT(ran.err, HasSubstr("experts of 1536 in 8 parts of 192, no multiple of the 128")) << engine;
    for (const char* fits : {"4", "8 --ep 2", "8 --ep 8"})
      EXPECT_EQ(run_line(line + fits + " --engine " + engine).code, 0) << fits;
  }
  EXPECT_EQ(run_line(line + "8 --engine tensorrt-llm").code, 0);
  EXPECT_EQ(run_line("infer qwen3-235b-a22b --prompt 100 --weights fp8 --tp 8").code, 0);
}

/// 2048 over 8 x 3 ranks.
TEST(ServingSplit, PartsOfExpertsAreToldByTheFlagThatMakesThem) {
  const auto ran = run_line("infer deepseek-v3 --prompt 100 --weights fp8-block --tp 8 --dp-attention 3");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err,
      testing::AllOf(HasSubstr("--dp-attention: experts of width 2048 do not divide into 24 parts"),
          HasSubstr("tp x dp-attention x cp / ep one of: "), Not(HasSubstr("--ep 24")), Not(HasSubstr("etp"))));
}

}  // namespace
}  // namespace stepcast::infer
