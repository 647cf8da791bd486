// The printed command of a configuration: short, and the same forecast bit by bit.
#include "studies/sweep/write/predict_line.h"

#include <fstream>

#include <gmock/gmock.h>

#include "studies/cli/shell_word.h"
#include "tests/studies/sweep/typed_sweep.h"

namespace stepcast::sweep {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing_program::own_path;
using testing_program::run_line;
using testing_sweep::expect_same_forecast;
using testing_sweep::swept;

const std::string small_line = "llama3-8b --machine dgx-h100 --gpus 8 --global-batch 64";

TEST(PredictLine, WordsAreQuotedForAShell) {
  EXPECT_EQ(shell_word("llama3-8b"), "llama3-8b");
  EXPECT_EQ(shell_word("9,8,8,7"), "9,8,8,7");
  EXPECT_EQ(shell_word("Ett|tt|tL"), "'Ett|tt|tL'");
  EXPECT_EQ(shell_word("my runs/a'b.json"), "'my runs/a'\\''b.json'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(PredictLine, ForecastsTheSame) {
  const json plain = swept(small_line + " --top 3");
  for (const json& row : plain["top"]) expect_same_forecast(row);
  expect_same_forecast(plain["why"]["naive"]);

  const std::string network = own_path("network.json"), scenario = own_path("run.json"), space = own_path("space.json");
  std::ofstream(network) << run_line("show network llama3-8b --json").out;
  expect_same_forecast(swept(network + " --gpus 16 --global-batch 64 --pp 4 --layout 9,8,8,7;even --top 1")["top"][0]);
  std::ofstream(scenario)
      << R"({"network": "llama3-8b", "machine": "dgx-a100", "gpus": 16, "global_batch": 64, "pp": 2})";
  expect_same_forecast(swept(scenario + " --tp 1,2,4 --zero 1,2 --top 1")["top"][0]);
  std::ofstream(space)
      << R"({"network": "gpt3-13b", "machine": "dgx-a100", "stack": "megatron-2022", "global_batch": 64, "sequence": 2048,
    "axes": {"gpus": 32, "tp": [2, 4], "pp": 4, "tp_tier": "all", "pp_tier": "all", "dp_tier": "all", "sp": "all", "micro_batch": 1}})";
  expect_same_forecast(swept("--space " + space + " --top 1")["top"][0]);
  const std::string layout = "Ett|tttttttttt|tttttttttt|ttttttttttL";
  expect_same_forecast(swept("llama3-8b --gpus 16 --global-batch 64 --pp 4 --chunks 1 --layout " + layout)["top"][0]);
}

TEST(PredictLine, SaysOnlyWhatPredictWouldNotTake) {
  const std::string command = swept(small_line + " --tp 2 --pp 1 --micro-batch 1,2 --top 1")["top"][0]["command"];
  EXPECT_LT(command.size(), 140U) << command;
  for (const char* usual :
      {"--seq", "--cp", "--ep", "--etp", "--order", "--save-gathered", "--layout", "--zero", "--precision", "--chunks"})
    EXPECT_THAT(command, Not(HasSubstr(usual)));
  EXPECT_THAT(command, HasSubstr("--gpus 8 --tp 2 --pp 1"));

  // Not usual, one by one.
  for (const char* said : {"--seq 4096", "--cp 2", "--zero 3", "--order tp-dp-pp-cp", "--recompute full", "--sp off",
           "--precision fp8", "--save-gathered on", "--chunks 2", "--micro-batch 2", "--layout balanced"}) {
    const json best = swept(small_line + " --pp 2 --tp 2 --top 1 " + said)["top"][0];
    EXPECT_THAT(best["command"].get<std::string>(), HasSubstr(said));
    expect_same_forecast(best);
  }
  // By itself predict splits along no sequence that does not divide; told the same sequence it refuses.
  const json odd = swept("llama3-8b --gpus 8 --global-batch 64 --tp 8 --pp 1 --seq 4092 --top 1")["top"][0];
  EXPECT_THAT(odd["command"].get<std::string>(), HasSubstr("--seq 4092 --gpus 8 --tp 8 --pp 1"));
  EXPECT_THAT(odd["command"].get<std::string>(), HasSubstr("--sp off"));
  expect_same_forecast(odd);

  // What a scenario file says is usual in its run.
  const std::string scenario = own_path("run.json");
  std::ofstream(scenario)
      << R"({"network": "llama3-8b", "gpus": 8, "global_batch": 64, "zero": 3, "micro_batch": 2, "sequence": 4092})";
  const json kept = swept(scenario + " --tp 8 --top 1")["top"][0],
             changed = swept(scenario + " --zero 1 --micro-batch 1 --top 1")["top"][0];
  EXPECT_THAT(kept["command"].get<std::string>(), Not(HasSubstr("--zero")));
  EXPECT_THAT(changed["command"].get<std::string>(), HasSubstr("--micro-batch 1"));
  EXPECT_THAT(changed["command"].get<std::string>(), HasSubstr("--zero 1"));
  for (const json& row : {kept, changed}) expect_same_forecast(row);
}

/// A space has one software for all of its splits; predict may take another for one of them unless it is told.
TEST(PredictLine, NamesTheSoftwareThatNobodyNamedWherePredictTakesAnother) {
  const json rows = swept(small_line + " --tp 1 --pp 1 --micro-batch 1 --recompute full --zero 1,3 --top 2")["top"];
  ASSERT_EQ(rows.size(), 2U);
  for (const json& row : rows) {
    const std::string command = row["command"];
    const bool sharded = command.find("--zero 3") != command.npos;
    EXPECT_EQ(command.find("--stack like:megatron-core") != command.npos, sharded) << command;
    expect_same_forecast(row);
  }
}

}  // namespace
}  // namespace stepcast::sweep
