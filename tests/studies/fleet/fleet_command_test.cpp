// stepcast fleet: each option is predict and job by themselves, the answers are those of its own options, and wrong
// words are refused.
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/fleet/fleet.h"
#include "tests/studies/run_program.h"

namespace stepcast::fleet {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing_program::run_line;

const std::string small_job = "llama3-8b --seq 4096 --global-batch 64 --tp 2 --pp 1 --zero 1 --recompute none "
                              "--micro-batch 1 --tokens 2B --storage-write 10GB/s --storage-read 10GB/s ";
const std::string two_machines = "--machine dgx-h100:16,dgx-a100:32 --price dgx-h100=3,dgx-a100=1 ";

json fleet_answer(const std::string& line) { return json::parse(run_line("fleet " + line + " --json").out); }

TEST(Fleet, AnOptionIsPredictAndJob) {
  const json answer = fleet_answer(small_job + two_machines);
  const json& options = answer["jobs"][0]["options"];
  ASSERT_EQ(options.size(), 5U);  // 8 and 16, 8, 16 and 32
  const json& option = options[1];
  EXPECT_EQ(option["gpus"], 16);
  const std::string run = "llama3-8b --machine dgx-h100 --seq 4096 --gpus 16 --global-batch 64 --tp 2 --json ";
  const json predicted = json::parse(run_line("predict " + run).out);
  EXPECT_NEAR(option["step_time_s"], predicted["step_time_s"], 1e-9);
  const json job =
      json::parse(run_line("job " + run + "--tokens 2B --storage-write 10GB/s --storage-read 10GB/s --lives 100").out);
  EXPECT_NEAR(option["goodput"], job["goodput"], 1e-9);
  const double hours = option["time_s"].get<double>() / 3600;
  EXPECT_NEAR(option["cost"], 16 * hours * 3, 1e-6 * option["cost"].get<double>());
}

// Of 16 GPUs one node of 8 stands by: the job runs on the other 8 and pays for all; on 16 it would take 24.
TEST(Fleet, SpareNodesTakeRoomAndArePaid) {
  const std::string line = small_job + "--machine dgx-h100:16 --price dgx-h100=3 --spares 1";
  const json answer = fleet_answer(line);
  const json& options = answer["jobs"][0]["options"];
  ASSERT_EQ(options.size(), 1U);
  EXPECT_EQ(options[0]["gpus"], 16);
  EXPECT_EQ(options[0]["run_gpus"], 8);
  EXPECT_NEAR(
      options[0]["cost"], 16 * options[0]["time_s"].get<double>() / 3600 * 3, 1e-9 * options[0]["cost"].get<double>());
  EXPECT_EQ(answer["cost_over_time"][0]["on"][0]["run_gpus"], 8);
  EXPECT_THAT(answer["jobs"][0]["skipped"].dump(), HasSubstr("with 1 spare node it takes 24 of 16 GPUs"));
  EXPECT_THAT(run_line("fleet " + line).out, HasSubstr("16 GPUs of dgx-h100 (8 run)"));
}

// From 128 GPUs on a job loses 10.4 % of its time to uneven work: 0.896 of a step is the even one, and 0.896 of the
// even step's MFU is that of the whole.
TEST(Fleet, MfuIsThatOfTheStepBesideIt) {
  const json answer = fleet_answer(small_job + "--machine dgx-h100:128 --price dgx-h100=3");
  const json& option = answer["jobs"][0]["options"].back();
  ASSERT_EQ(option["run_gpus"], 128);
  const json even = json::parse(
      run_line("predict llama3-8b --machine dgx-h100 --seq 4096 --gpus 128 --global-batch 64 --tp 2 --json").out);
  EXPECT_NEAR(option["step_time_s"].get<double>() * 0.896, even["step_time_s"], 1e-9);
  EXPECT_NEAR(option["mfu"], 0.896 * even["mfu"].get<double>(), 1e-9);
  // Said of this option alone; the others are taken as even.
  EXPECT_THAT(answer["jobs"][0]["assumptions"].dump(), HasSubstr("128 GPUs of dgx-h100: uneven work: "));
  const json none = fleet_answer(small_job + "--machine dgx-h100:128 --price dgx-h100=3 --imbalance none");
  EXPECT_NEAR(none["jobs"][0]["options"].back()["step_time_s"], even["step_time_s"].get<double>(), 1e-9);
}

// Each option is on one machine, whose rate alone is said.
TEST(Fleet, ARateByMachineIsThatOfTheOptionsOwn) {
  const json answer = fleet_answer(small_job + two_machines + "--failure-rate dgx-h100=0.004,dgx-a100=0.0065");
  const std::string assumptions = answer["jobs"][0]["assumptions"].dump();
  for (const char* rate : {"failures: 0.004 a day and node of 8 GPUs", "failures: 0.0065 a day and node of 8 GPUs"})
    EXPECT_THAT(assumptions, HasSubstr(rate));
  EXPECT_THAT(assumptions, Not(HasSubstr("dgx-h100=0.004")));
}

TEST(Fleet, WhatIsTakenForGrantedStandsOnceInPageAndJson) {
  const std::string line = small_job + two_machines;
  const json answer = fleet_answer(line);
  const std::string page = run_line("fleet " + line).out;
  for (const char* key : {"assumptions", "warnings"}) {
    const std::vector<std::string> texts = answer["jobs"][0][key];
    EXPECT_FALSE(texts.empty()) << key;
    EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(), texts.size()) << key;
    for (const std::string& text : texts) EXPECT_THAT(page, HasSubstr(text.substr(0, 24))) << key;
  }
  // Of the split the plan itself tells all; the software is nobody's choice.
  EXPECT_THAT(
      answer["jobs"][0]["defaults"], testing::Contains("--stack like:megatron-core (nobody named the software)"));
  for (const char* flag : {"--sp ", "--zero ", "--micro-batch "})
    EXPECT_THAT(answer["jobs"][0]["defaults"].dump(), testing::Not(HasSubstr(flag)));
  EXPECT_THAT(answer["jobs"][0]["assumptions"], testing::Contains("a spare node is always at hand: --spares N"));
  EXPECT_THAT(answer["jobs"][0]["warnings"].dump(), HasSubstr("; its calls take up to "));
}

TEST(Fleet, AnswersWithinDeadlineAndBudgetOrSaysByHowMuch) {
  const json open = fleet_answer(small_job + two_machines);
  const json& front = open["cost_over_time"];
  ASSERT_GE(front.size(), 2U);
  for (std::size_t i = 1; i < front.size(); ++i) {
    EXPECT_GT(front[i]["time_s"], front[i - 1]["time_s"]);
    EXPECT_LT(front[i]["cost"], front[i - 1]["cost"]);
  }
  const double fastest = front[0]["time_s"], least = front.back()["cost"];
  const auto late = run_line("fleet " + small_job + two_machines + fmt::format("--deadline {:.0f}s", fastest / 2));
  EXPECT_EQ(late.code, 1);
  EXPECT_THAT(late.out, HasSubstr("no machine meets the deadline"));
  const auto dear = run_line("fleet " + small_job + two_machines + fmt::format("--budget {:.3f}", least / 2));
  EXPECT_EQ(dear.code, 1);
  EXPECT_THAT(dear.out, HasSubstr("nothing costs as little as"));
  const json within = fleet_answer(small_job + two_machines + fmt::format("--budget {:.6f}", least * 1.0001));
  EXPECT_EQ(within["fastest_in_budget"]["cost"], front.back()["cost"]);
  const json in_time = fleet_answer(small_job + two_machines + fmt::format("--deadline {:.0f}s", fastest * 1.001));
  EXPECT_EQ(in_time["cheapest_in_time"]["time_s"], front[0]["time_s"]);
}

TEST(Fleet, AMixOfJobsFromAFile) {
  const std::string file = testing_program::own_path("jobs.json");
  std::ofstream(file) << R"({"jobs": [
    {"name": "a", "run": ["llama3-8b", "--global-batch", "64", "--tokens", "2B", "--deadline", "30d"]},
    {"name": "b", "run": ["llama3-8b", "--global-batch", "32", "--tokens", "1B"]}]})";
  const json answer = fleet_answer("--jobs " + file +
                                   " --seq 4096 --tp 2 --pp 1 --zero 1 --recompute none --micro-batch 1 "
                                   "--machine dgx-h100:16 --price dgx-h100=2");
  ASSERT_EQ(answer["jobs"].size(), 2U);
  for (const json& choice : answer["cost_over_time"]) {
    ASSERT_EQ(choice["on"].size(), 2U);
    EXPECT_LE(choice["on"][0]["gpus"].get<int>() + choice["on"][1]["gpus"].get<int>(), 16);
  }
}

TEST(Fleet, AnErrorOfAJobNamesItsFile) {
  const std::string file = testing_program::own_path("jobs.json");
  const std::string machines = " --machine dgx-h100:8 --price dgx-h100=1";
  const struct {
    std::string flags, words;
  } cases[] = {
      {R"("--deadline", "soon")", "--deadline"}, {R"("--interval", "1ms")", ""}, {R"("--nosuch", "1")", "--nosuch"}};
  for (const auto& [flags, words] : cases) {
    std::ofstream(file)
        << R"({"jobs": [{"name": "a", "run": ["llama3-8b", "--global-batch", "64", "--tokens", "2B", "--tp",
      "2", "--pp", "1", "--zero", "1", "--recompute", "none", "--micro-batch", "1", )"
        << flags << "]}]}";
    const auto ran = run_line("fleet --jobs " + file + machines);
    EXPECT_EQ(ran.code, 2) << flags;
    EXPECT_THAT(ran.err, HasSubstr("jobs.json: job 'a': " + words)) << flags;
  }
}

// The choice is exact, and all jobs may share one link (sim/job/shared_links.h).
TEST(Fleet, MoreThanEightJobsAreRefused) {
  const std::string file = testing_program::own_path("jobs.json");
  json jobs = json::array();
  for (int i = 0; i < 9; ++i) jobs.push_back({{"name", std::to_string(i)}, {"run", {"llama3-8b", "--tokens", "2B"}}});
  std::ofstream(file) << json{{"jobs", jobs}};
  const auto ran = run_line("fleet --jobs " + file + " " + two_machines);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("has 9 jobs"));
  EXPECT_THAT(ran.err, HasSubstr("from 1 to 8"));
}

TEST(Fleet, TwoJobsOfOneNameAreRefused) {
  const std::string file = testing_program::own_path("jobs.json");
  std::ofstream(file) << R"({"jobs": [{"name": "a", "run": ["llama3-8b", "--tokens", "2B"]},
      {"name": "a", "run": ["llama3-8b", "--tokens", "3B"]}]})";
  const auto ran = run_line("fleet --jobs " + file + " " + two_machines);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("jobs.json:/jobs/1/name: two jobs are named a"));
}

TEST(Fleet, AFlagOfAJobAndOfTheCommandLineIsRefused) {
  const std::string file = testing_program::own_path("jobs.json");
  std::ofstream(file) << R"({"jobs": [{"name": "a", "run": ["llama3-8b", "--tokens", "2B", "--tp", "2"]}]})";
  const auto ran = run_line("fleet --jobs " + file + " --tp 1 " + two_machines);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("job 'a': --tp: the command line says it, too"));
}

TEST(Fleet, HintsLengthsThatItTakes) {
  const auto none = run_line("fleet llama3-8b --global-batch 64 " + two_machines);
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("--tokens 15T and --steps 100000"));
  EXPECT_THAT(none.err, Not(HasSubstr("--days")));
  const auto twice = run_line("fleet llama3-8b --global-batch 64 --tokens 1B --steps 9 " + two_machines);
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("--steps: a length twice: --tokens says one, too"));
}

TEST(Fleet, RefusesWrongWords) {
  const struct {
    std::string line, words;
  } cases[] = {
      {small_job, "--machine"},
      {small_job + "--machine dgx-h100:16", "--price"},
      {small_job + "--machine dgx-h100:16 --price dgx-a100=1", "dgx-h100 has none"},
      {small_job + "--machine dgx-h100:16 --price dgx-h100=1,dgx-a100=1", "is not among the machines"},
      {small_job + "--machine dgx-h100:16 --price dgx-h100=free", "is no number of a machine"},
      {small_job + "--machine dgx-h100:16 --price dgx-h100=1,dgx-h100=2", "second number of its machine"},
      {small_job + "--machine dgx-h100 --price dgx-h100=1", "does not say how many GPUs"},
      {small_job + two_machines + "--budget -5", "is no cost"},
      {small_job + two_machines + "--deadline soon", "--deadline"},
      {"llama3-8b --global-batch 64 " + two_machines, "--tokens"},
      {"llama3-405b --seq 8192 --global-batch 64 --tp 1 --pp 1 --zero 1 --recompute none --tokens 2B "
       "--machine dgx-h100:8 --price dgx-h100=1",
          "runs on none of these"},
      {two_machines, "no job is named"},
  };
  for (const auto& [line, words] : cases) {
    const auto ran = run_line("fleet " + line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr(words)) << line;
  }
}

}  // namespace
}  // namespace stepcast::fleet
