#include "studies/run/scenario_file.h"

#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/run/forecast.h"
#include "tests/studies/run_program.h"

namespace stepcast::run {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_program::run_line;

const std::string good_text = R"({
  "network": "llama3-8b", "machine": "dgx-h100", "gpus": 16, "tp": 2, "pp": 2, "zero": 1,
  "global_batch": 32, "sequence": 4096, "recompute": "selective"
})";

std::string scenario_error(const std::string& text) {
  const auto request = read_scenario(text, "run.json");
  if (!request) return to_text(request.error());
  const auto scenario = complete(*request);
  return scenario ? "accepted" : to_text(scenario.error());
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = good_text;
  return text.replace(text.find(from), from.size(), to);
}

TEST(ScenarioFile, KeysMeanWhatTheFlagsMean) {
  const auto request = read_scenario(good_text, "run.json");
  ASSERT_TRUE(request) << to_text(request.error());
  const auto scenario = complete(*request);
  ASSERT_TRUE(scenario) << to_text(scenario.error());
  EXPECT_EQ(scenario->plan.mapping,
      "mesh tp:2 cp:1 dp:4 pp:2\nuse tp, vocab, sp, dp, zero1\npar layer on pp sched 1f1b for mb:8\n"
      "recompute attn.core\nsave O at use\n");
  EXPECT_EQ(scenario->micro_batches, 8);
}

TEST(ScenarioFile, WhatIsWrittenReadsBackAsTheSameRunWithNothingAssumed) {
  for (const char* line : {"predict llama3-8b --gpus 16 --tp 2 --pp 2 --recompute full:4 --global-batch 32",
           "predict gpt2-1.5b --machine dgx-a100 --zero 3 --seq 512 --attention-flops full",
           "predict llama3-8b --gpus 16 --pp 2 --chunks 2 --cp 2 --precision fp8"}) {
    const std::string path = testing_program::own_path("stepcast_round.json");
    const auto printed = run_line(std::string(line) + " --print-scenario");
    ASSERT_EQ(printed.code, 0) << printed.err;
    std::ofstream(path) << printed.out;
    const auto first = nlohmann::json::parse(run_line(std::string(line) + " --json").out);
    const auto second = nlohmann::json::parse(run_line("predict " + path + " --json").out);
    for (const auto& [key, value] : first.items()) {
      const bool about_the_words = key == "run" || key == "defaults" || key == "assumptions" || key == "told";
      EXPECT_TRUE(about_the_words || value == second.at(key)) << line << " " << key;
    }
    EXPECT_EQ(second.at("defaults"), nlohmann::json::array());
    EXPECT_EQ(run_line("predict " + path + " --print-scenario").out, printed.out);
  }
}

TEST(ScenarioFile, OwnNounsAreWrittenWhole) {
  const std::string path = testing_program::own_path("stepcast_own_machine.json");
  auto machine = nlohmann::ordered_json::parse(run_line("show machine dgx-h100 --json").out);
  machine["id"] = "mine";
  std::ofstream(path) << machine.dump();
  const auto printed = run_line("predict llama3-8b --machine " + path + " --print-scenario");
  ASSERT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(nlohmann::json::parse(printed.out).at("machine").at("id"), "mine");
  const std::string scenario = testing_program::own_path("stepcast_own_scenario.json");
  std::ofstream(scenario) << printed.out;
  EXPECT_EQ(run_line("predict " + scenario + " --print-scenario").out, printed.out);
}

TEST(ScenarioFile, FlagsOverrideTheFile) {
  const std::string path = testing_program::own_path("stepcast_override.json");
  std::ofstream(path) << good_text;
  const auto ran = run_line("predict " + path + " --global-batch 64 --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(nlohmann::json::parse(ran.out).at("run").at("global_batch"), 64);
}

TEST(ScenarioFile, MistakesNameFilePointerAndTheNearestKey) {
  EXPECT_THAT(scenario_error(with("\"gpus\"", "\"gpu\"")), AllOf(HasSubstr("run.json:/gpu"), HasSubstr("'gpus'")));
  EXPECT_THAT(scenario_error(with("16", "\"16\"")), AllOf(HasSubstr("run.json:/gpus"), HasSubstr("from 1 to")));
  EXPECT_THAT(scenario_error(with("16", "-16")), HasSubstr("run.json:/gpus"));
  EXPECT_THAT(scenario_error(with("16", "1e400")), HasSubstr("run.json"));
  EXPECT_THAT(scenario_error(with("16", "12")), AllOf(HasSubstr("run.json:/global_batch"), HasSubstr("nearest")));
  EXPECT_THAT(scenario_error(with("\"tp\": 2", "\"tp\": 2, \"tp\": 4")), HasSubstr("tp"));
  EXPECT_THAT(
      scenario_error(with("dgx-h100", "dgx-h10")), AllOf(HasSubstr("run.json:/machine"), HasSubstr("dgx-h100")));
  EXPECT_THAT(scenario_error(with("selective", "some")), HasSubstr("run.json:/recompute"));
  EXPECT_THAT(scenario_error(with("\"zero\": 1", "\"mapping\": [\"mesh dp:16\", \"use dp\"]")),
      HasSubstr("already says how the work is split"));
  EXPECT_THAT(scenario_error(with("\"llama3-8b\"", "{\"id\": \"x\"}")), HasSubstr("run.json:/network"));
  EXPECT_THAT(scenario_error(with("\"llama3-8b\"", "7")), HasSubstr("run.json:/network"));
  EXPECT_THAT(scenario_error("[]"), HasSubstr("a JSON object"));
  EXPECT_THAT(scenario_error(with("\"network\": \"llama3-8b\", ", "")), HasSubstr("network"));
}

TEST(ScenarioFile, UnitlessQuantityOfAnOwnMachine) {
  auto machine = nlohmann::ordered_json::parse(run_line("show machine dgx-h100 --json").out);
  machine["host_memory"] = 2e12;
  EXPECT_THAT(scenario_error(with("\"dgx-h100\"", machine.dump())),
      AllOf(HasSubstr("run.json:/machine/host_memory"), HasSubstr("unit")));
}

TEST(ScenarioFile, HostileNesting) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(scenario_error(with("\"llama3-8b\"", deep)), HasSubstr("run.json"));
  EXPECT_THAT(scenario_error(std::string(100'000, '{')), HasSubstr("run.json"));
}

TEST(ScenarioFile, TruncatedAnywhereIsAnErrorNotACrash) {
  for (std::size_t length = 0; length + 1 < good_text.size(); ++length)
    EXPECT_NE(scenario_error(good_text.substr(0, length)), "accepted") << length;
}

TEST(ScenarioFile, RandomDamageIsAnErrorOrARun) {
  std::mt19937 random(7);
  const std::string noise = "{}[]\",:0123456789-+.eE \\\x00\x7f\xff\n";
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = good_text;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits)
      text[random() % text.size()] = noise[random() % noise.size()];
    if (scenario_error(text) != "accepted") ++refused;
  }
  EXPECT_GT(refused, 2000);
}

}  // namespace
}  // namespace stepcast::run
