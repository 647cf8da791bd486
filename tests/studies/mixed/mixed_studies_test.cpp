// sweep, whatif and job on machines of several kinds: each is what predict says of its parts.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::mixed {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_program::run_line;

json kinds_answer(const std::string& line) {
  const auto ran = run_line(line);
  EXPECT_EQ(ran.code, 0) << line << ran.err;
  return json::parse(ran.out);
}

const std::string two_kinds = "--machine dgx-h100:16,dgx-a100:16 ";
const std::string run_on_kinds = "llama3-8b --seq 4096 --global-batch 64 --json " + two_kinds;

std::uint64_t count_of(const json& swept, const char* key) { return swept[key].get<std::uint64_t>(); }

void expect_all_counted(const json& swept) {
  EXPECT_EQ(count_of(swept, "legal"), swept["top"].size() + count_of(swept, "does_not_fit") +
                                          count_of(swept, "given_up") + count_of(swept, "slower") +
                                          count_of(swept, "refused"));
  std::uint64_t dismissed = 0;
  for (const json& one : swept["dismissed"]) dismissed += count_of(one, "configurations");
  EXPECT_EQ(count_of(swept, "configurations"), count_of(swept, "legal") - count_of(swept, "refused") + dismissed);
}

// All legal splits of the space one by one.
TEST(MixedSweep, IsTheFastestOfAllSplits) {
  const json swept = kinds_answer("sweep " + run_on_kinds +
                                  "--tp 4,8 --pp 1,2,4 --chunks 1 --micro-batch 1 --zero 1 --recompute none "
                                  "--schedule 1f1b --top 3 --threads 2");
  ASSERT_EQ(swept["top"].size(), 3U);
  expect_all_counted(swept);
  double fastest = 1e9;
  for (const char* split : {"--tp 4", "--tp 8", "--tp 4 --pp 2", "--tp 8 --pp 2", "--tp 4 --pp 4", "--tp 8 --pp 4"})
    for (const char* order : {"tp-cp-dp-pp", "tp-cp-pp-dp"}) {
      const auto ran = run_line("predict " + run_on_kinds + split + " --order " + order);
      if (ran.code == 0) fastest = std::min(fastest, json::parse(ran.out)["step_time_s"].get<double>());
    }
  EXPECT_NEAR(swept["top"][0]["step_time_s"], fastest, 1e-9 * fastest);
  EXPECT_LE(swept["top"][0]["step_time_s"], swept["top"][1]["step_time_s"]);
  const std::string command = swept["top"][0]["command"];
  EXPECT_NEAR(kinds_answer(command.substr(9) + " --json")["step_time_s"], fastest, 1e-9 * fastest) << command;
}

TEST(MixedSweep, RefusesWhatIsOfOneMachine) {
  for (const char* flag : {"--gpus 32", "--pareto step_time,memory.peak", "--where \"tp<8\"", "--objective mfu",
           "--shard 0/2", "--dry-run"})
    EXPECT_EQ(run_line("sweep " + run_on_kinds + flag).code, 2) << flag;
}

const std::string one_way = "--cp 1 --chunks 1 --micro-batch 1 --zero 1 --recompute none --schedule 1f1b --json ";

// A rack has 72 GPUs, so that tp goes to 32, the heads of the network; of 144 GPUs a stage, 9 sequences divide by the
// 144 / 16 = 9 copies alone. An H100 has no nvfp4.
TEST(MixedSweep, TheSpaceIsThatOfTheKindsMachines) {
  const json swept = kinds_answer("sweep llama2-7b --seq 4096 --machine gb200-nvl72:144,gb300-nvl72:144 "
                                  "--precision nvfp4 --global-batch 9 --pp 2 --order tp-cp-dp-pp " +
                                  one_way);
  EXPECT_EQ(swept["configurations"], 6);  // 1, 2, 4, 8, 16, 32
  ASSERT_EQ(swept["top"].size(), 1U);
  EXPECT_THAT(swept["top"][0]["command"].get<std::string>(), HasSubstr("--tp 16 --pp 2"));
  EXPECT_THAT(swept["top"][0]["command"].get<std::string>(), HasSubstr("--precision nvfp4"));
  // More GPUs than a DGX H100 has: no split takes one sequence, and that is all that is said.
  const json large = kinds_answer(
      "sweep llama3-8b --seq 4096 --machine dgx-h100:16384,dgx-a100:8 --global-batch 1 --tp 8 --pp 1 " + one_way);
  EXPECT_EQ(large["legal"], 0);
}

TEST(MixedSweep, NumberTypesAreThoseThatAllKindsHave) {
  const auto ran = run_line("sweep " + run_on_kinds + "--tp 8 --precision fp8");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("NVIDIA A100-SXM4-80GB has no fp8 matrix units"));
  // A V100 runs in fp16 unasked and an H100 in bf16, so that the line has to say it.
  const json swept = kinds_answer("sweep llama3-8b --seq 4096 --machine dgx-1-v100:8,dgx-h100:8 --global-batch 16 "
                                  "--tp 8 --pp 1 " +
                                  one_way);
  ASSERT_EQ(swept["top"].size(), 1U);
  const std::string command = swept["top"][0]["command"];
  EXPECT_THAT(command, HasSubstr("--precision fp16"));
  const double step = swept["top"][0]["step_time_s"];
  EXPECT_NEAR(kinds_answer(command.substr(9) + " --json")["step_time_s"], step, 1e-9 * step) << command;
}

// With tp 2 a rank of 40 GiB has half of the weights, which does not fit (mixed_command_test.cpp); with tp 8 it does.
TEST(MixedSweep, WhatDoesNotFitIsCountedAlikeByAnyThreads) {
  const std::string line = "sweep llama3-8b --seq 4096 --machine dgx-h100:8,dgx-a100-40gb:8 --global-batch 64 "
                           "--tp 2,8 --pp 1 --order tp-cp-pp-dp --top 1 " +
                           one_way;
  const json swept = kinds_answer(line + "--threads 1");
  EXPECT_EQ(swept["does_not_fit"], 1);
  EXPECT_FALSE(swept["nothing_fits"]);
  EXPECT_EQ(swept["top"].size(), 1U);
  expect_all_counted(swept);
  EXPECT_EQ(swept, kinds_answer(line + "--threads 2"));
}

// Each rank holds a stage of either copy; the kinds' 32 layers are counted in one of them.
TEST(MixedSweep, LayersAreThoseOfOneCopyOfTheModel) {
  const std::string plan = "llama3-8b --seq 4096 --machine dgx-h100:16,dgx-a100:16 --global-batch 16 --tp 8 --pp 4 "
                           "--order tp-cp-dp-pp --schedule dualpipe ";
  const json swept =
      kinds_answer("sweep " + plan + "--cp 1 --chunks 1 --micro-batch 1 --zero 1 --recompute none --top 1 --json");
  ASSERT_EQ(swept["top"].size(), 1U);
  EXPECT_EQ(swept["top"][0]["layers"][0].get<int>() + swept["top"][0]["layers"][1].get<int>(), 32);
  const std::string page = run_line("predict " + plan).out;
  EXPECT_THAT(page, HasSubstr("layers: of the first copy of the model"));
  EXPECT_THAT(page, HasSubstr("two copies of the model"));
}

// Each lever is predict with that changed.
TEST(MixedWhatif, LeversOfEachKind) {
  const json study = kinds_answer("whatif " + run_on_kinds + "--tp 8 --between 10GB/s");
  const json base = kinds_answer("predict " + run_on_kinds + "--tp 8 --between 10GB/s");
  EXPECT_EQ(study["before"]["step_time_s"], base["step_time_s"]);
  std::map<std::string, json> levers;
  for (const json& lever : study["levers"]) levers[lever["id"]] = lever;
  for (const char* id : {"compute@dgx-h100", "compute@dgx-a100", "gpus@dgx-h100", "gpus@dgx-a100", "between"})
    EXPECT_TRUE(levers.contains(id)) << id;
  const json& line = levers["between"]["variations"];
  EXPECT_NEAR(line[1]["step_time_s"],
      kinds_answer("predict " + run_on_kinds + "--tp 8 --between 20GB/s")["step_time_s"], 1e-12);
  const json& fewer = levers["gpus@dgx-a100"]["variations"];
  EXPECT_EQ(fewer[0]["to"], "0");
  // Half of the GPUs: half of the GPU time in as long a step.
  EXPECT_NEAR(1 + fewer[0]["gpu_time_per_token_change"].get<double>(),
      (1 + fewer[0]["step_time_change"].get<double>()) / 2, 1e-9);
  EXPECT_NEAR(fewer[0]["step_time_s"],
      kinds_answer(
          "predict llama3-8b --seq 4096 --global-batch 64 --json --machine dgx-h100 --gpus 16 --tp 8")["step_time_s"],
      1e-12);
  EXPECT_THAT(run_line("whatif llama3-8b --seq 4096 --global-batch 64 --tp 8 " + two_kinds).out,
      HasSubstr("16 x NVIDIA H100-SXM5-80GB (DGX H100) + 16 x NVIDIA A100"));
}

// The first stage is on the H100s and holds the most bytes, of 80 GiB or of 16 times as much.
TEST(MixedWhatif, ThePeakIsTheMostBytes) {
  const std::string run =
      "llama3-8b --seq 4096 --global-batch 8 --json --machine dgx-h100:8,dgx-a100:8 --tp 8 --pp 2 --layout even ";
  const json study = kinds_answer("whatif " + run + "--factor 16"), base = kinds_answer("predict " + run);
  const json& peak = study["before"]["memory_peak_bytes"];
  EXPECT_EQ(peak, base["stages"][0]["peak_bytes"]);
  EXPECT_GT(peak, base["stages"][1]["peak_bytes"]);
  const auto lever =
      std::ranges::find_if(study["levers"], [](const json& one) { return one["id"] == "hbm-capacity@dgx-h100"; });
  ASSERT_NE(lever, study["levers"].end());
  EXPECT_EQ((*lever)["variations"][1]["memory_peak_bytes"], peak);
}

std::vector<std::string> refusals_of(const json& study, const std::string& id, const std::string& to) {
  std::vector<std::string> whys;
  for (const json& one : study["cannot_run"])
    if (one["id"] == id && one["to"] == to) whys.push_back(one["why"]);
  return whys;
}

// Two replicas of 4 sequences: the batch is 8 and stays so on one of them and on three, which it does not divide by.
TEST(MixedWhatif, GpusChangeAndTheUnsaidBatchStays) {
  const json study = kinds_answer("whatif llama3-8b --seq 4096 --tp 8 --json --machine dgx-h100:8,dgx-a100:8");
  const json alone = kinds_answer("predict llama3-8b --seq 4096 --tp 8 --gpus 8 --global-batch 8 --json");
  const auto lever =
      std::ranges::find_if(study["levers"], [](const json& one) { return one["id"] == "gpus@dgx-a100"; });
  ASSERT_NE(lever, study["levers"].end());
  EXPECT_EQ((*lever)["variations"][0]["to"], "0");
  EXPECT_NEAR((*lever)["variations"][0]["step_time_s"], alone["step_time_s"], 1e-12);
  EXPECT_THAT(refusals_of(study, "gpus@dgx-a100", "16"), testing::ElementsAre(HasSubstr("global batch 8")));
}

// The partition has 416 GPUs, and twice 256 are 512; half of one GPU is none, which is tried once.
TEST(MixedWhatif, GpusAreThoseThatAMachineHas) {
  const json study = kinds_answer("whatif llama3-8b --seq 4096 --tp 8 --global-batch 360 --json "
                                  "--machine dgx-h100:64,jean-zay-a100:256");
  EXPECT_THAT(refusals_of(study, "gpus@jean-zay-a100", "512"), testing::ElementsAre(HasSubstr("at most 416")));
  const json single = kinds_answer("whatif gpt2-1.5b --global-batch 4 --json --machine dgx-h100:1,dgx-a100:1");
  std::size_t none = refusals_of(single, "gpus@dgx-a100", "0").size();
  for (const json& lever : single["levers"])
    for (const json& variation : lever["variations"])
      none += lever["id"] == "gpus@dgx-a100" && variation["to"] == "0" ? 1U : 0U;
  EXPECT_EQ(none, 1U);
}

const std::string job_line = "job llama3-8b --seq 4096 --global-batch 64 --tp 8 --steps 100000 --lives 100 --json ";

// Two shares of a machine fail, save and last as the machine does.
TEST(MixedJob, TwoSharesOfOneMachineAreThatMachine) {
  const json whole = kinds_answer(job_line + "--machine dgx-h100 --gpus 32 --layout even");
  const json parts = kinds_answer(job_line + "--machine dgx-h100:16,dgx-h100:16 --layout even");
  for (const char* key : {"time_to_train_s", "goodput", "failures", "energy_j", "gpu_hours", "tokens"})
    EXPECT_NEAR(parts[key], whole[key], 1e-9 * whole[key].get<double>()) << key;
  EXPECT_EQ(parts["run"]["machine"], "dgx-h100:16,dgx-h100:16");
  EXPECT_NEAR(parts["ten_times"]["goodput"], whole["ten_times"]["goodput"], 1e-9);
}

// 16 GPUs at 0.02 and 16 at 0.06 per node and day: 32 at 0.04, and prices of 3 and 1 are 2.
TEST(MixedJob, RatesAndPricesAreTheMeanOverGpus) {
  const json by_machine = kinds_answer(
      job_line + two_kinds + "--failure-rate dgx-h100=0.02,dgx-a100=0.06 --gpu-hour-price dgx-h100=3,dgx-a100=1");
  const json mean = kinds_answer(job_line + two_kinds + "--failure-rate 0.04 --gpu-hour-price 2");
  for (const char* key : {"time_to_train_s", "goodput", "failures", "cost"})
    EXPECT_NEAR(by_machine[key], mean[key], 1e-9 * mean[key].get<double>()) << key;
  EXPECT_NEAR(mean["failure_model"]["mean_between_s"], 86400 / (4 * 0.04), 1e-6);
  EXPECT_THAT(by_machine["assumptions"].dump(), HasSubstr("dgx-h100=0.02,dgx-a100=0.06 a day"));
  const json fixed =
      kinds_answer(job_line + two_kinds + "--failure-rate dgx-h100=0.02,dgx-a100=0.06 --fixed-failures 3");
  EXPECT_NEAR(fixed["failure_model"]["mean_between_s"], 86400 / (4 * 0.04 + 3), 1e-6);
  EXPECT_THAT(fixed["assumptions"].dump(),
      HasSubstr("dgx-h100=0.02,dgx-a100=0.06 a day and node of 8 GPUs, 0.04 in the mean, 3 a day of a job of any size; "
                "repairs as of "));
}

// Ten times 16 GPUs of 416 are there and ten times 64 are not; a DGX H100 may have 16,384.
TEST(MixedJob, EachMachineEndsByItself) {
  const std::string line = "job llama3-8b --seq 4096 --tp 8 --steps 1000 --lives 100 --json --machine ";
  EXPECT_THAT(kinds_answer(line + "jean-zay-a100:16,dgx-h100:64")["ten_times"]["breaks"].dump(),
      testing::Not(HasSubstr("the machine: ")));
  for (const char* machines : {"jean-zay-a100:64,dgx-h100:16", "dgx-h100:16,jean-zay-a100:64"})
    EXPECT_THAT(kinds_answer(line + machines)["ten_times"]["breaks"].dump(),
        HasSubstr("the machine: Jean Zay, A100 partition has 416 GPUs"));
}

TEST(MixedJob, WrongWordsAreRefused) {
  const struct {
    std::string line, words;
  } cases[] = {{two_kinds + "--failure-rate dgx-h100=0.02", "dgx-a100 has none"},
      {two_kinds + "--failure-rate dgx-h100=0.02,dgx-a100=x", "is no number"},
      {two_kinds + "--gpu-hour-price dgx-h100=1,dgx-a100=1,dgx-b200=1", "is not among the machines"},
      {two_kinds + "--gpu-hour-price dgx-h100=1,dgx-h100=1", "second number"},
      {two_kinds + "--failures llama3 --failure-rate dgx-h100=0.02,dgx-a100=0.1", "--failures"},
      {"--gpus 32 --failure-rate dgx-h100=0.02", "the job runs on one"},
      {two_kinds + "--spares 2", "does not stand in"}, {two_kinds + "--elastic", "not modelled"},
      {two_kinds + "--imbalance ranks=2%", "are of one machine"},
      {two_kinds + "--nodes 4", "counts nodes of one machine"}};
  for (const auto& [line, words] : cases) {
    const auto ran = run_line(job_line + line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr(words)) << line;
  }
}

}  // namespace
}  // namespace stepcast::mixed
