// sweep, whatif and job on machines of several kinds: each is what predict says of its parts.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::mixed {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_program::run_line;

json answer_of(const std::string& line) {
  const auto ran = run_line(line);
  EXPECT_EQ(ran.code, 0) << line << ran.err;
  return json::parse(ran.out);
}

const std::string kinds = "--machine dgx-h100:16,dgx-a100:16 ";
const std::string run = "llama3-8b --seq 4096 --global-batch 64 --json " + kinds;

// All legal splits of the space one by one.
TEST(MixedSweep, IsTheFastestOfAllSplits) {
  const json swept = answer_of("sweep " + run +
                               "--tp 4,8 --pp 1,2,4 --chunks 1 --micro-batch 1 --zero 1 --recompute none "
                               "--schedule 1f1b --top 3 --threads 2");
  ASSERT_EQ(swept["top"].size(), 3U);
  double fastest = 1e9;
  for (const char* split : {"--tp 4", "--tp 8", "--tp 4 --pp 2", "--tp 8 --pp 2", "--tp 4 --pp 4", "--tp 8 --pp 4"})
    for (const char* order : {"tp-cp-dp-pp", "tp-cp-pp-dp"}) {
      const auto ran = run_line("predict " + run + split + " --order " + order);
      if (ran.code == 0) fastest = std::min(fastest, json::parse(ran.out)["step_time_s"].get<double>());
    }
  EXPECT_NEAR(swept["top"][0]["step_time_s"], fastest, 1e-9 * fastest);
  EXPECT_LE(swept["top"][0]["step_time_s"], swept["top"][1]["step_time_s"]);
  const std::string command = swept["top"][0]["command"];
  EXPECT_NEAR(answer_of(command.substr(9) + " --json")["step_time_s"], fastest, 1e-9 * fastest) << command;
}

TEST(MixedSweep, RefusesWhatIsOfOneMachine) {
  for (const char* flag : {"--gpus 32", "--pareto step_time,memory.peak", "--where \"tp<8\"", "--objective mfu",
           "--shard 0/2", "--dry-run"})
    EXPECT_EQ(run_line("sweep " + run + flag).code, 2) << flag;
}

// Each lever is predict with that changed.
TEST(MixedWhatif, LeversOfEachKind) {
  const json study = answer_of("whatif " + run + "--tp 8 --between 10GB/s");
  const json base = answer_of("predict " + run + "--tp 8 --between 10GB/s");
  EXPECT_EQ(study["before"]["step_time_s"], base["step_time_s"]);
  std::map<std::string, json> levers;
  for (const json& lever : study["levers"]) levers[lever["id"]] = lever;
  for (const char* id : {"compute@dgx-h100", "compute@dgx-a100", "gpus@dgx-h100", "gpus@dgx-a100", "between"})
    EXPECT_TRUE(levers.contains(id)) << id;
  const json& line = levers["between"]["variations"];
  EXPECT_NEAR(line[1]["step_time_s"], answer_of("predict " + run + "--tp 8 --between 20GB/s")["step_time_s"], 1e-12);
  const json& fewer = levers["gpus@dgx-a100"]["variations"];
  EXPECT_EQ(fewer[0]["to"], "0");
  EXPECT_NEAR(fewer[0]["step_time_s"],
      answer_of(
          "predict llama3-8b --seq 4096 --global-batch 64 --json --machine dgx-h100 --gpus 16 --tp 8")["step_time_s"],
      1e-12);
  EXPECT_THAT(run_line("whatif llama3-8b --seq 4096 --global-batch 64 --tp 8 " + kinds).out,
      HasSubstr("16 x NVIDIA H100-SXM5-80GB (DGX H100) + 16 x NVIDIA A100"));
}

const std::string job = "job llama3-8b --seq 4096 --global-batch 64 --tp 8 --steps 100000 --lives 100 --json ";

// Two shares of a machine fail, save and last as the machine does.
TEST(MixedJob, TwoSharesOfOneMachineAreThatMachine) {
  const json whole = answer_of(job + "--machine dgx-h100 --gpus 32 --layout even");
  const json parts = answer_of(job + "--machine dgx-h100:16,dgx-h100:16 --layout even");
  for (const char* key : {"time_to_train_s", "goodput", "failures", "energy_j", "gpu_hours", "tokens"})
    EXPECT_NEAR(parts[key], whole[key], 1e-9 * whole[key].get<double>()) << key;
  EXPECT_EQ(parts["run"]["machine"], "dgx-h100:16,dgx-h100:16");
  EXPECT_NEAR(parts["ten_times"]["goodput"], whole["ten_times"]["goodput"], 1e-9);
}

// 16 GPUs at 0.02 and 16 at 0.06 per node and day: 32 at 0.04, and prices of 3 and 1 are 2.
TEST(MixedJob, RatesAndPricesAreTheMeanOverGpus) {
  const json by_machine =
      answer_of(job + kinds + "--failure-rate dgx-h100=0.02,dgx-a100=0.06 --gpu-hour-price dgx-h100=3,dgx-a100=1");
  const json mean = answer_of(job + kinds + "--failure-rate 0.04 --gpu-hour-price 2");
  for (const char* key : {"time_to_train_s", "goodput", "failures", "cost"})
    EXPECT_NEAR(by_machine[key], mean[key], 1e-9 * mean[key].get<double>()) << key;
  EXPECT_NEAR(mean["failure_model"]["mean_between_s"], 86400 / (4 * 0.04), 1e-6);
  EXPECT_THAT(by_machine["assumptions"].dump(), HasSubstr("dgx-h100=0.02,dgx-a100=0.06 a day"));
}

TEST(MixedJob, WrongWordsAreRefused) {
  const struct {
    std::string line, words;
  } cases[] = {{kinds + "--failure-rate dgx-h100=0.02", "dgx-a100 has none"},
      {kinds + "--failure-rate dgx-h100=0.02,dgx-a100=x", "is no number"},
      {kinds + "--gpu-hour-price dgx-h100=1,dgx-a100=1,dgx-b200=1", "is not among the machines"},
      {kinds + "--gpu-hour-price dgx-h100=1,dgx-h100=1", "second number"},
      {kinds + "--failures llama3 --failure-rate dgx-h100=0.02,dgx-a100=0.1", "--failures"},
      {"--gpus 32 --failure-rate dgx-h100=0.02", "the job runs on one"}, {kinds + "--spares 2", "does not stand in"},
      {kinds + "--elastic", "not modelled"}, {kinds + "--imbalance ranks=2%", "are of one machine"},
      {kinds + "--nodes 4", "counts nodes of one machine"}};
  for (const auto& [line, words] : cases) {
    const auto ran = run_line(job + line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr(words)) << line;
  }
}

}  // namespace
}  // namespace stepcast::mixed
