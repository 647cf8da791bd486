// The command: what it says of an iteration, what is wrong, and what laws have not seen.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/catalog.h"
#include "model/profile/exchange_law.h"
#include "studies/infer/fit_engine.h"
#include "studies/infer/phases.h"
#include "tests/studies/infer/serving_by_name.h"
#include "tests/studies/run_program.h"

namespace stepcast::infer {
namespace {

using testing::HasSubstr;

using testing::Not;

using testing_program::run_line;

TEST(Infer, TheCommandSaysWhatIsWrong) {
  const auto refused = [](const std::string& line, const char* why) {
    const auto ran = run_line("infer " + line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr(why)) << line;
  };
  refused("llama3-8b", "how long the prompts are");
  refused("llama3-8b --phase decode", "what stands in the cache");
  refused("llama3-8b --phase batch --prompt 10", "how many tokens");
  refused("llama3-8b --phase sleep --prompt 10", "prefill, decode, mixed");
  refused("llama3-8b --prompt 10 --tp 3", "legal tp");
  refused("llama3-8b --prompt 10 --output 5 --cached 3", "is not of phase batch");
  refused("llama3-8b --context 10 --prompt 5", "--phase mixed");
  refused("llama3-8b --context 10 --output 5", "is not of phase decode");
  refused("llama3-8b --phase prefill --prompt 10 --context 5", "is not of phase prefill");
  refused("llama3-8b --prompt 10 --draft 2 --accepted 0.5", "prompts are not guessed");
  refused("llama3-8b --phase mixed --prompt 10 --context 5 --draft 2 --accepted 0.5", "is not of phase mixed");
  refused("llama3-8b --context 10 --accepted 0.5", "no tokens are guessed");
  refused("llama3-8b --prompt 10 --cp-way ring", "not split by position");
  refused("llama3-8b --prompt 10 --weights mxfp4", "a type of experts, and llama3-8b has none");
  refused("llama3-8b --prompt 10 --kv int4", "a type of weights alone");
  refused("llama3-8b --prompt 10 --kv nvfp4", "no nvfp4 matrix units");
  refused("llama3-8b --prompt 10 --kv mxfp8", "no mxfp8 matrix units");
  refused("llama3-8b --prompt 10 --products fp8", "weights in bf16 is wider");
  refused("llama3-8b --prompt 10 --weights fp8 --products nvfp4 --machine dgx-b200", "weights in fp8 is wider");
  refused("llama3-8b --prompt 10 --products int8", "no products are made in it");
  refused("llama3-8b --prompt 10 --weights fp8 --products fp8-block", "no scales of blocks");
  refused("gpt-oss-20b --prompt 10 --weights mxfp4 --products fp8", "what is beside experts in mxfp4 is wider");
  refused("mixtral-8x7b --prompt 10 --tp 8 --exchange rows", "see the same tokens");
  refused("mixtral-8x7b --prompt 10 --tp 4 --dp-attention 2 --exchange rows", "a part of every expert");
  refused("llama3-8b --prompt 10 --cp-way ring --cp 1", "not split by position");
  refused("bert-large --prompt 10", "no engine's iterations");
  refused("llama3-8b --context 10 --draft 2 --accepted 2", "'2' is above 1\n  0 to 1");
  refused("llama3-8b --context 10 --draft 2 --accepted 200%", "above 100.0 %");
  refused("llama3-8b --prompt 10 --gpus 8 --tp 3", "8 GPUs for a split over 3");
  refused("llama3-8b --prompt 10 --engine vlm", "vllm");
  refused("llama3-8b --prompt 10 --dp-attention 8", "no experts to share");
  refused("llama3-8b --context 10 --draft 2", "how many of the guesses are right");
  refused("llama3-8b --context 10 --draft 2 --accepted 1.5", "--accepted");
  refused("llama3-8b --context 10 --draft 2 --accepted 0.5 --tp 2 --pp 2", "on several stages");
  refused("llama3-8b --phase mixed --prompt 10", "what stands in the cache");
  refused("mixtral-8x7b --prompt 10 --tp 8 --exchange magic", "gather or rows");
  refused("mixtral-8x7b --prompt 10 --tp 8 --ep 3", "a divisor of tp x dp-attention x cp: 1, 2, 4, 8");
  refused("llama3-8b --prompt 10 --weights fp7", "nvfp4");
  refused("llama3-8b --prompt 10 --machine dgx-a100 --engine sglang --weights fp8", "has no fp8");
  refused("llama3-8b --prompt 10 --machine dgx-h100 --kv nvfp4", "has no nvfp4");
  refused("llama3-70b --context 8192", "leave nothing");
  refused("llama3-70b --tp 8 --context 8192 --batch 9999", "--batch ");
  // The step's own token is the 8,193rd: 513 blocks of 16, and 1,401,040 positions are 170.7 times that.
  refused("llama3-70b --tp 8 --context 8192 --batch 171", "171 sequences of 8193 positions, and the cache holds 170");
  refused("gpt3-175b --tp 8 --context 8192", "at most 2047");
  refused("t5-v1.1-xxl --prompt 10", "an encoder");
  refused("llama3.2-11b-vision --prompt 10", "stepcast predict llama3.2-11b-vision --images 1");
  refused("vit-large --prompt 10", "");
}

TEST(Infer, PromptsMayHaveNothingInTheCache) {
  EXPECT_EQ(run_line("infer llama3-8b --prompt 100 --cached 0").out, run_line("infer llama3-8b --prompt 100").out);
  EXPECT_NE(run_line("infer llama3-8b --prompt 100 --cached 1").out, run_line("infer llama3-8b --prompt 100").out);
}

/// The last layer of Nemotron-H is an MLP: what guesses has attention before it, as those of its kind have.
TEST(Infer, WhatGuessesForLayersOfOneKindHasAttention) {
  ServingWishes wishes;
  wishes.network = "nemotron-h-8b", wishes.machine = "dgx-h100", wishes.draft = 3;
  const auto made = serving_of(wishes);
  ASSERT_TRUE(made) << to_text(made.error());
  const sim::IterationTime guess = ServingCost(*made->drafter).time({16, 1, 1000});
  for (const char* part : {"attn.core", "mlp.up", "head"}) EXPECT_NE(part_of(guess, part), nullptr) << part;
  EXPECT_EQ(part_of(guess, "mixer.conv"), nullptr);
  // Two tables of 131072 x 4096; 32 heads of 128 and 8 for keys and values; an MLP of 21504; three norms.
  EXPECT_EQ(
      made->drafter->weight_bytes(), 2.0 * (2 * 131072 * 4096LL + 4096 * (6144 + 4096) + 2 * 4096 * 21504 + 3 * 4096));
  wishes.network = "nemotron-3-nano";
  EXPECT_TRUE(serving_of(wishes)) << "experts";
}

/// Qwen2.5-VL 7B: what its file counts as vision and projector, in bf16.
TEST(Infer, SaysThatWeightsOfImagesAreNotInMemory) {
  const NetworkSpec& network = **find_row(built_in().networks, "qwen2.5-vl-7b", "network");
  const auto left_out = fmt::format("the image encoder's {} of weights are not in memory: text alone",
      format_bytes(Bytes(2.0 * static_cast<double>(encoder_parameter_count(network)))));
  const auto said = run_line("infer qwen2.5-vl-7b --context 2048 --json");
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr(left_out));
  EXPECT_THAT(run_line("infer llama3-8b --context 2048 --json").out, testing::Not(HasSubstr("image encoder")));
}

/// Of 4,096 positions in a window of 1,024 the first 1,023 see fewer: 1,024 - 1,024 x 1,023 / 2 / 4,096 = 896.125 keys
/// each, in 52 of 62 layers, and 2,048.5 in the others. Kernels take whole blocks: 128 keys more in a window. A pair is
/// 4 x 128 FLOPs in each of 32 heads.
TEST(Infer, ModelFlopsCountTheKeysThatAWindowShows) {
  const auto said = run_line("infer gemma3-27b --machine dgx-h100 --prompt 4096 --json");
  ASSERT_EQ(said.code, 0) << said.err;
  double kernels = 0, seen = 0, others = 0;
  const nlohmann::json answer = nlohmann::json::parse(said.out);
  for (const auto& part : answer.at("parts")) {
    const double flops = part.at("flops"), model = part.at("model_flops");
    if (part.at("label") == "attn.core") kernels += flops, seen += model;
    else others += std::abs(flops - model);
  }
  constexpr double of_a_key = 4.0 * 128 * 32 * 4096;
  EXPECT_NEAR(seen / (of_a_key * (52 * 896.125 + 10 * 2048.5)), 1, 1e-9);
  EXPECT_NEAR(kernels / (of_a_key * (52 * 1024.125 + 10 * 2048.5)), 1, 1e-9);
  EXPECT_EQ(others, 0);
}

TEST(Infer, TheFirstLineHasEveryWayOfSplitting) {
  const std::string base = "infer qwen3-30b-a3b --machine dgx-h100 --context 1024 --batch 8 --tp 2 ";
  EXPECT_THAT(run_line(base + "--dp-attention 4").out, HasSubstr("tp 2, pp 1, dp-attention 4\n"));
  EXPECT_THAT(run_line(base + "--dp-attention 4 --ep 8").out, HasSubstr("tp 2, pp 1, dp-attention 4, ep 8\n"));
  EXPECT_THAT(run_line(base + "--ep 2").out, HasSubstr("tp 2, pp 1, ep 2\n"));
}

TEST(Infer, TheCommandPrintsTheSameInWordsAndInJson) {
  const std::string line = "infer llama3-8b --machine dgx-h100 --context 1024 --batch 8";
  const auto text = run_line(line), json = run_line(line + " --json");
  ASSERT_EQ(text.code, 0) << text.err;
  ASSERT_EQ(json.code, 0) << json.err;
  const auto answer = nlohmann::json::parse(json.out);
  EXPECT_NEAR(answer.at("time_s").get<double>() * answer.at("tokens_per_s").get<double>(), 8, 1e-9);
  EXPECT_EQ(answer.at("memory").at("cache_bytes_per_position"), 131'072);
  double sum = 0;
  for (const auto& part : answer.at("parts")) sum += part.at("time_s").get<double>();
  EXPECT_NEAR(sum, answer.at("kernels_s").get<double>() + answer.at("moves_s").get<double>(), 1e-9);
  double bound = 0;
  for (const auto& [what, share] : answer.at("binds").items()) bound += share.get<double>();
  EXPECT_NEAR(bound, 1, 0.005) << "all but what prints as nothing";
  EXPECT_NEAR(answer.at("tokens_per_s_per_user").get<double>() * 8, answer.at("tokens_per_s").get<double>(), 1e-9);
  EXPECT_EQ(run_line("infer llama3-8b --phase mixed --prompt 512 --context 1024 --batch 8").code, 0);
  EXPECT_THAT(text.out, HasSubstr("131072 bytes"));
  EXPECT_THAT(text.out, HasSubstr("What binds"));
  EXPECT_THAT(text.out, HasSubstr("attn.core"));
}

// Three rows of Llama 3's vocabulary are below what products were timed at, and SGLang's tuning is not fitted.
TEST(Infer, WhatLawsHaveNotSeenIsAWarningAndWidensTheInterval) {
  const auto beyond = run_line("infer llama3-8b --engine sglang --context 100000 --batch 3 --json");
  ASSERT_EQ(beyond.code, 0) << beyond.err;
  const auto json = nlohmann::json::parse(beyond.out);
  ASSERT_FALSE(json["warnings"].empty());
  EXPECT_NE(json["warnings"][0].get<std::string>().find("beyond what its law"), std::string::npos);
  // As wide as the engine's own, and a bit more: squares add, of a head that takes a few percent.
  const Spread own = find_tuning(**find_row(built_in().engines, "sglang", "engine"), "hopper", "bf16")->spread;
  EXPECT_GT(json["interval_s"][1].get<double>() / json["interval_s"][0].get<double>(), 1.00005 * own.p90 / own.p10);
}

/// Queries and keys are rotated by five kernels each, nine more than by one together: nine more starts. What is passed
/// over three times takes three times as long.
TEST(Infer, FunctionsThatRunOperationByOperationAreSeveralKernels) {
  ServingWishes wishes;
  const auto rotation = [&](std::vector<SplitFunction> split) {
    Engine engine = **find_row(built_in().engines, "pytorch", "engine");
    engine.one_by_one = std::move(split);
    const Serving s = *serving_of(
        wishes, *run::choose_network("llama3-8b", "network"), *run::choose_machine("dgx-h100", "machine"), engine);
    const sim::IterationTime read = iterate(s, {1, 4096, 0});
    const sim::IterationPart* part = part_of(read, "rope");
    return std::tuple{part->time, part->calls, read.launches, s.profile->memory.t0, find_tuning(engine, "hopper", "")};
  };
  const double slower = (**find_row(built_in().engines, "pytorch", "engine")).tunings.back().kernels;
  const auto [one, calls, launches, start, row] = rotation({});
  const auto [five, same_calls, more, same_start, same_row] = rotation({{"rope", 1, 5}});
  EXPECT_EQ(calls, same_calls);
  EXPECT_NEAR((five - one) / (start * (9 * calls * slower)), 1, 1e-9);
  EXPECT_EQ(more - launches, 9 * calls);
  const auto thrice = std::get<0>(rotation({{"rope", 3}}));
  const Seconds starts = start * (calls * slower);
  EXPECT_NEAR((thrice - starts) / (one - starts), 3, 0.05);
}

TEST(Infer, OlderAttentionIsAsMuchSlowerAsItsEngineSays) {
  const auto attention = [](const auto& change, const sim::Rows& rows) {
    Engine engine = **find_row(built_in().engines, "vllm", "engine");
    change(engine);
    const Serving s = *serving_of(
        {}, *run::choose_network("llama3-8b", "network"), *run::choose_machine("dgx-h100", "machine"), engine);
    return part_of(iterate(s, rows), "attn.core")->time;
  };
  const auto same = [](Engine&) {};
  const sim::Rows prompt{1, 4096, 0}, words{64, 1, 4096};
  EXPECT_NEAR(attention([](Engine& e) { e.attention_rate = 0.5; }, prompt) / attention(same, prompt), 2, 1e-9);
  EXPECT_EQ(attention([](Engine& e) { e.attention_rate = 0.5; }, words), attention(same, words));
  EXPECT_GT(attention([](Engine& e) { e.cache_rate = 0.4; }, words) / attention(same, words), 1.5);
  EXPECT_EQ(attention([](Engine& e) { e.cache_rate = 0.4; }, prompt), attention(same, prompt));
}

TEST(Infer, AProfileOfOnesOwnGivesTheLaws) {
  const std::string line = "infer llama3-8b --machine dgx-h100 --engine pytorch --context 4096 --batch 16 --json";
  const auto time = [&](const std::string& more) {
    const auto ran = run_line(line + more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto answer = nlohmann::json::parse(ran.out);
    EXPECT_EQ(answer.at("profile"), more.empty() ? "h100-sxm" : more.substr(more.rfind(' ') + 1));
    return answer.at("time_s").get<double>();
  };
  EXPECT_EQ(time(" --profile h100-sxm"), time(""));
  EXPECT_NE(time(" --profile measured-h100-sxm"), time(""));
  EXPECT_THAT(run_line(line + " --profile measured-h200-sxm").err,
      AllOf(HasSubstr("--profile"), HasSubstr("measured-h200-sxm is of h200-sxm, and the machine has h100-sxm")));
  EXPECT_THAT(run_line(line + " --profile nobodys").err, HasSubstr("--profile"));
}

}  // namespace
}  // namespace stepcast::infer
