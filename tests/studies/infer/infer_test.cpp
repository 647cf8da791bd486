// Iterations of engines: what stands in the cache, what moves and what it takes, by hand where it can be; and the
// command.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/infer/phases.h"
#include "studies/infer/records.h"
#include "tests/studies/run_program.h"

namespace stepcast::infer {
namespace {

using testing::HasSubstr;
using testing_program::run_line;

Serving serving(const std::string& network, const std::string& machine, std::int64_t tp, const char* engine = "vllm") {
  ServingWishes wishes;
  wishes.network = network, wishes.machine = machine, wishes.engine = engine, wishes.tp = tp;
  auto made = serving_of(wishes);
  EXPECT_TRUE(made) << to_text(made.error());
  return std::move(*made);
}

const sim::IterationPart* part_of(const Iteration& iteration, const std::string& label) {
  for (const sim::IterationPart& part : iteration.time.parts)
    if (part.label == label) return &part;
  return nullptr;
}

/// Keys and values of a position: layers x key heads x head size x 2 x 2 bytes; latent: layers x (rank + rotated) x 2.
TEST(Infer, TheCacheHoldsKeysAndValuesOfEachPosition) {
  const auto bytes = [](const Serving& s) { return iterate(s, {3, 1, 999})->cache_bytes / 3 / 1000; };
  EXPECT_EQ(bytes(serving("llama3-8b", "dgx-h100", 1)), 32 * 8 * 128 * 2 * 2);
  EXPECT_EQ(bytes(serving("llama2-70b", "dgx-h100", 8)), 80 * 1 * 128 * 2 * 2);
  EXPECT_EQ(bytes(serving("deepseek-v2-lite", "dgx-h100", 1)), 27 * (512 + 64) * 2);
  EXPECT_EQ(bytes(serving("deepseek-v2-lite", "dgx-h100", 4)), 27 * (512 + 64) * 2) << "every rank has the latents";
  Serving narrow = serving("llama3-8b", "dgx-h100", 1);
  narrow.cache_element_bytes = 1;
  EXPECT_EQ(bytes(narrow), 32 * 8 * 128 * 2);
}

/// vLLM: 0.9 of 80 GiB, less weights, activations and what is reserved, in blocks of 16 positions.
TEST(Infer, CapacityIsTheEnginesRule) {
  const Serving s = serving("llama3-8b", "dgx-h100", 1);
  const Capacity room = *capacity(s, 1000);
  EXPECT_EQ(room.weights, 2.0 * 8'030'261'248);
  const double left = 0.9 * room.memory - room.weights - room.activations - room.reserved;
  EXPECT_DOUBLE_EQ(room.cache, left);
  EXPECT_EQ(room.blocks, static_cast<std::int64_t>(left / (16 * 131'072)));
  EXPECT_EQ(room.sequences, room.blocks / 63) << "1000 positions are 63 blocks";
  Serving free = s;
  free.engine.cache_rule = CacheRule::of_free;
  EXPECT_DOUBLE_EQ(capacity(free, 1000)->cache, 0.9 * (room.memory - room.weights - room.activations - room.reserved));
}

/// 5 sequences say a word on 4 GPUs: two sums of 5 x 4096 numbers of two bytes in each of 32 layers.
TEST(Infer, RanksOfAReplicaSumWhatTheyMade) {
  const Serving s = serving("llama3-8b", "dgx-h100", 4);
  const Iteration one = *iterate(s, {5, 1, 100});
  for (const char* label : {"Y1 all_reduce", "Y2 all_reduce"}) {
    const auto* part = part_of(one, label);
    ASSERT_NE(part, nullptr) << label;
    EXPECT_EQ(part->calls, 32);
    EXPECT_EQ(part->bytes.value(), 32 * 2 * 3.0 / 4 * 5 * 4096 * 2);
  }
  EXPECT_EQ(part_of(*iterate(serving("llama3-8b", "dgx-h100", 1), {5, 1, 100}), "Y1 all_reduce"), nullptr);
}

/// 7 new positions behind 100: the first sees 101 keys, the last 107, 104 on average; 32 heads of 128, 4 FLOPs each.
TEST(Infer, NewPositionsSeeThoseInTheCache) {
  const Iteration one = *iterate(serving("llama3-8b", "dgx-h100", 1), {2, 7, 100});
  EXPECT_DOUBLE_EQ(part_of(one, "attn.core")->flops.value(), 32.0 * 2 * 7 * 104 * 32 * 128 * 4);
}

/// The part of the queries that a rank has is not the last one: ranks of a split sequence do what one rank does.
TEST(Infer, QueriesOfASplitSequenceAreNotItsLast) {
  const auto executed = [](const char* cp) {
    const auto ran = run_line(std::string("predict llama3-8b --gpus 8 --seq 32768 --global-batch 8 --json --cp ") + cp);
    const auto answer = nlohmann::json::parse(ran.out);
    return answer.at("hfu").get<double>() * answer.at("step_time_s").get<double>();
  };
  EXPECT_NEAR(executed("4") / executed("1"), 1, 0.01);
}

TEST(Infer, MoreWorkTakesLonger) {
  const Serving s = serving("llama3-8b", "dgx-h100", 1), wide = serving("llama3-70b", "dgx-h100", 8);
  const auto word = [](const Serving& on, std::int64_t batch, std::int64_t context) {
    return decode(on, batch, context)->time.value();
  };
  EXPECT_LT(word(s, 1, 1000), word(s, 1, 16'000));
  EXPECT_LT(word(s, 1, 1000), word(s, 64, 1000));
  EXPECT_LT(word(s, 1, 1000), word(wide, 1, 1000));
  EXPECT_LT(prefill(s, 1, 1000, 0)->time, prefill(s, 1, 1000, 8000)->time);
  EXPECT_LT(prefill(s, 1, 1000, 0)->time, prefill(s, 4, 1000, 0)->time);
  const Phase batch = *static_batch(s, 4, 1000, 100);
  EXPECT_NEAR(batch.time.value(), (batch.prefill + batch.decode).value(), 1e-12);
  EXPECT_NEAR(batch.decode.value(), 99 * word(s, 4, 1050), 0.02 * batch.decode.value());
  const Serving experts = serving("mixtral-8x7b", "dgx-h100", 4);
  EXPECT_LT(1.5 * word(experts, 1, 100), word(experts, 64, 100)) << "one word reads 2 experts of 8";
}

/// A batch that the cache does not hold at once goes in waves.
TEST(Infer, WavesFollowFromTheCache) {
  const Serving s = serving("llama3-70b", "dgx-h100", 2);
  const Phase all = *static_batch(s, 64, 2048, 2048);
  EXPECT_GT(all.waves, 2);
  EXPECT_EQ(static_batch(serving("llama3-70b", "dgx-h100", 8), 64, 2048, 2048)->waves, 1);
}

TEST(Infer, TheCommandSaysWhatIsWrong) {
  const auto refused = [](const std::string& line, const char* why) {
    const auto ran = run_line("infer " + line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr(why)) << line;
  };
  refused("llama3-8b", "how long the prompts are");
  refused("llama3-8b --phase decode", "what stands in the cache");
  refused("llama3-8b --phase batch --prompt 10", "how many words");
  refused("llama3-8b --phase sleep --prompt 10", "prefill, decode, or batch");
  refused("llama3-8b --prompt 10 --tp 3", "legal tp");
  refused("llama3-8b --prompt 10 --gpus 8 --tp 3", "8 GPUs for tp 3");
  refused("llama3-8b --prompt 10 --engine vlm", "vllm");
  refused("llama3-8b --prompt 10 --weights fp7", "nvfp4");
  refused("llama3-8b --prompt 10 --machine dgx-a100 --weights fp8", "has no fp8");
  refused("llama3-70b --context 8192", "leave nothing");
  refused("llama3-70b --tp 8 --context 8192 --batch 9999", "--batch ");
  refused("gpt3-175b --tp 8 --context 8192", "at most 2048");
  refused("nemotron-h-8b --prompt 10", "carry a state");
  refused("t5-v1.1-xxl --prompt 10", "an encoder");
  refused("vit-large --prompt 10", "");
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
  EXPECT_THAT(text.out, HasSubstr("131072 bytes"));
  EXPECT_THAT(text.out, HasSubstr("attn.core"));
}

constexpr const char* record = R"({"id": "one", "judged_as": "decode_phase", "phase": "decode",
  "model": {"id": "meta-llama/Llama-2-70b-hf"}, "hardware": {"gpu": "H100-SXM-80GB", "count": 8, "nodes": 1},
  "software": {"name": "vLLM", "version": "0.19.1"}, "precision": {"weights": "bf16", "kv_cache": null},
  "parallel": {"tp": 8, "pp": 1}, "workload": {"isl": 512, "osl": 128, "batch": 4},
  "measured": {"decode_step_ms": 12.5, "samples_ms": [12.4, 12.6]}})";

/// Records of phases are forecast; others are skipped with the reason, in lines and in lists.
TEST(Infer, RecordsAreJudged) {
  std::string line = record;
  std::erase(line, '\n');
  const std::string serving_line = R"({"id": "two", "phase": "serving", "model": {"id": "meta-llama/Llama-2-70b-hf"},
    "hardware": {"gpu": "H100-SXM-80GB"}, "software": {"name": "vLLM", "version": "0.6.3"}, "workload": {}})";
  std::string other = serving_line;
  std::erase(other, '\n');
  std::string card = line;
  card.replace(card.find("H100-SXM-80GB"), 13, "Abacus 9000");
  const std::string path = testing_program::own_path("records.jsonl");
  std::ofstream(path) << line << "\n" << other << "\n" << card << "\n";
  const auto ran = run_line("validate " + path + " --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto answer = nlohmann::json::parse(ran.out);
  ASSERT_EQ(answer.at("cases").size(), 1U);
  const auto& made = answer.at("cases")[0];
  EXPECT_EQ(made.at("metric"), "decode_step_ms");
  const double forecast = decode(serving("llama2-70b", "dgx-h100", 8), 4, 512 + 64)->time.value() * 1e3;
  EXPECT_NEAR(made.at("predicted").get<double>(), forecast, 1e-9);
  EXPECT_NEAR(made.at("error").get<double>(), forecast / 12.5 - 1, 1e-9);
  EXPECT_LT(made.at("interval")[0].get<double>(), forecast);
  ASSERT_EQ(answer.at("skipped").size(), 2U);
  EXPECT_THAT(answer.at("skipped")[1].at("why").get<std::string>(), HasSubstr("Abacus"));
  std::ofstream(path) << "[" << line << "]";
  EXPECT_EQ(nlohmann::json::parse(run_line("validate " + path + " --json").out).at("cases").size(), 1U);
  EXPECT_THAT(run_line("validate " + path).out, HasSubstr("decode_phase"));
  std::ofstream(path) << line << "\n{\"workload\": \"phase\"\n";
  EXPECT_THAT(run_line("validate " + path).err, HasSubstr("no JSON"));
}

}  // namespace
}  // namespace stepcast::infer
