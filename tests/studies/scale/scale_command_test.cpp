// stepcast scale: the laws on curves that obey them, closed forms on machines whose network costs nothing, and what the
// command skips, breaks and refuses.

#include <cmath>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/cli/arguments.h"
#include "studies/launch/asked_run.h"
#include "studies/run/forecast.h"
#include "studies/scale/scale.h"
#include "studies/whatif/machine_levers.h"
#include "tests/studies/run_program.h"

namespace stepcast::scale {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_program::run_line;

constexpr Scaling both[] = {Scaling::strong, Scaling::weak};

TEST(SerialShare, AmdahlIsFoundOnACurveThatObeysIt) {
  // A fifth is serial: 0.2 + 0.8/n.
  const auto fit = fit_serial_share(Scaling::strong, {{1, 1}, {2, 0.6}, {4, 0.4}, {8, 0.3}});
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->serial, 0.2, 1e-12);
  EXPECT_NEAR(fit->worst, 0, 1e-12);
  EXPECT_EQ(fit->runs, 3);
}

TEST(SerialShare, GustafsonIsFoundOnACurveThatObeysIt) {
  // A tenth is serial: 4 times the GPUs do 0.1 + 0.9 x 4 = 3.7 times the work per time.
  const auto fit = fit_serial_share(Scaling::weak, {{1, 1}, {4, 4 / 3.7}, {10, 10 / 9.1}});
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->serial, 0.1, 1e-12);
  EXPECT_NEAR(fit->worst, 0, 1e-12);
}

TEST(SerialShare, WhatDoesNotObeyShowsInTheDeviation) {
  // Half is serial between 1 and 2, nothing after: through both, in least squares, s = (0.25x0.5 +
  // 0.125x0.75)/(0.25+0.5625).
  const auto fit = fit_serial_share(Scaling::strong, {{1, 1}, {2, 0.75}, {4, 0.375}});
  const double s = (0.25 * 0.5 + 0.125 * 0.75) / (0.25 + 0.5625);
  EXPECT_NEAR(fit->serial, s, 1e-12);
  EXPECT_NEAR(
      fit->worst, std::max(std::abs((s + (1 - s) / 2) / 0.75 - 1), std::abs((s + (1 - s) / 4) / 0.375 - 1)), 1e-12);
}

TEST(SerialShare, NothingToFit) {
  EXPECT_FALSE(fit_serial_share(Scaling::strong, {{1, 1}}).has_value());
  EXPECT_EQ(fit_serial_share(Scaling::weak, {{1, 1}, {2, 1}})->runs, 1);
}

Request request_for(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> typed;
  for (std::string word; words >> word;) typed.push_back(word);
  const auto arguments = parse_arguments(scale_flags(), 1, 1, "", typed);
  EXPECT_TRUE(arguments.has_value()) << line << (arguments ? "" : to_text(arguments.error()));
  auto request = read_request(arguments->words.at(0), *arguments);
  EXPECT_TRUE(request.has_value()) << line << (request ? "" : to_text(request.error()));
  return *request;
}

/// The same run where moving bytes takes no time, on GPUs that differ by `spread`.
Request on_free_network(Request request, double spread = 0) {
  Scenario scenario = *complete(request);
  for (const MachineLever& lever : machine_levers(scenario)) {
    const bool network =
        lever.id == "nvlink" || lever.id == "nic" || lever.id == "latency" || lever.id == "network-latency";
    if (network) lever.scale(scenario, lever.more_is_faster ? 1e12 : 1e-12);
  }
  scenario.stack.row.gpu_spread = spread;
  request.machine = scenario.machine, request.profile = scenario.profile, request.stack = scenario.stack;
  return request;
}

ScaleStudy study_of(const Request& request, std::vector<std::int64_t> gpus = {}) {
  auto study = scale_study(request, std::move(gpus), both);
  EXPECT_TRUE(study.has_value()) << (study ? "" : to_text(study.error()));
  return *study;
}

// Without sharding every rank does the same work whatever dp is.
TEST(Scale, WeakScalingOnAFreeNetworkLosesNothing) {
  const ScaleStudy study = study_of(on_free_network(request_for("llama3-8b --gpus 8 --zero 0 --global-batch 32")));
  const ScalingCurve& weak = study.curves[1];
  ASSERT_EQ(weak.runs.size(), 5u);
  for (const ScaledRun& one : weak.runs) EXPECT_NEAR(one.efficiency, 1, 1e-6) << one.gpus;
  EXPECT_NEAR(weak.fit->serial, 0, 1e-6);
}

TEST(Scale, WeakScalingOnAFreeNetworkLosesWhatTheSlowestGpuDoes) {
  // Expected largest of n draws of a standard normal distribution, by numeric integration.
  const std::map<std::int64_t, double> largest = {{8, 1.4236}, {16, 1.7660}, {32, 2.0697}, {64, 2.3437}, {128, 2.5946}};
  const char* line = "llama3-8b --gpus 8 --zero 0 --global-batch 32";
  const ScaleStudy equal = study_of(on_free_network(request_for(line))),
                   spread = study_of(on_free_network(request_for(line), 0.02));
  for (std::size_t i = 0; i < equal.curves[1].runs.size(); ++i) {
    const ScaledRun &one = spread.curves[1].runs[i], &even = equal.curves[1].runs[i];
    const Phases& work = even.outcome.phases;
    const double slower = 0.02 * largest.at(one.gpus);
    const Seconds waits = one.outcome.step_time - even.outcome.step_time;
    EXPECT_NEAR(waits / (work.forward + work.backward), slower, 0.06 * slower) << one.gpus;
  }
}

// One stage: a step is its micro-batches, which more GPUs share, and a rest, which they do not: Amdahl's law itself.
TEST(Scale, StrongScalingOfOneStageOnAFreeNetworkIsAmdahls) {
  const ScaleStudy study = study_of(on_free_network(request_for("llama3-8b --gpus 8 --zero 0 --global-batch 128")));
  const ScalingCurve& strong = study.curves[0];
  ASSERT_EQ(strong.runs.size(), 5u);
  const Phases& phases = strong.runs[0].outcome.phases;
  const Seconds rest = phases.clip + phases.optimizer + phases.host + phases.data_wait;
  EXPECT_NEAR(strong.fit->serial, rest / strong.runs[0].outcome.step_time, 1e-4);
  EXPECT_LT(strong.fit->worst, 1e-4);
  EXPECT_EQ(strong.runs[4].micro_batches, 1);
}

TEST(Scale, EfficiencyNeverRisesOnOneKindOfRun) {
  const ScaleStudy study = study_of(request_for("llama3-70b --gpus 64 --tp 8 --pp 4 --global-batch 128"));
  for (const ScalingCurve& curve : study.curves)
    for (std::size_t i = 1; i < curve.runs.size(); ++i) {
      EXPECT_LE(curve.runs[i].efficiency, curve.runs[i - 1].efficiency + 1e-9) << curve.runs[i].gpus;
      EXPECT_NEAR(
          curve.runs[i].speed_up, curve.runs[i].efficiency * static_cast<double>(curve.runs[i].gpus) / 64, 1e-9);
    }
}

json scale_answer(const std::string& line) {
  const auto ran = run_line("scale " + line + " --json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  return ran.code == 0 ? json::parse(ran.out) : json::object();
}

TEST(Scale, EachRunIsWhatPredictSays) {
  const json study = scale_answer("llama3-8b --gpus 16,32 --tp 2 --global-batch 64");
  const json strong = json::parse(run_line("predict llama3-8b --gpus 32 --tp 2 --global-batch 64 --json").out);
  const json weak = json::parse(run_line("predict llama3-8b --gpus 32 --tp 2 --global-batch 128 --json").out);
  EXPECT_EQ(study["strong"]["runs"][1]["step_time_s"], strong["step_time_s"]);
  EXPECT_EQ(study["weak"]["runs"][1]["step_time_s"], weak["step_time_s"]);
  EXPECT_EQ(study["weak"]["runs"][1]["memory_peak_bytes"], weak["memory"]["peak_bytes"]);
}

std::vector<std::int64_t> counts_of(const json& curve) {
  std::vector<std::int64_t> counts;
  for (const json& one : curve["runs"]) counts.push_back(one["gpus"]);
  return counts;
}

TEST(Scale, CountsDoubleUpToSixteenTimesOrTheMachine) {
  EXPECT_THAT(counts_of(scale_answer("llama3-8b --gpus 8 --global-batch 128")["strong"]),
      testing::ElementsAre(8, 16, 32, 64, 128));
  EXPECT_THAT(counts_of(scale_answer("llama3-8b --machine jean-zay-a100 --gpus 64 --global-batch 512 --weak")["weak"]),
      testing::ElementsAre(64, 128, 256));
}

TEST(Scale, WhatDoesNotDivideIsSkippedWithItsReason) {
  const json study = scale_answer("llama3-8b --gpus 24,8,20,13 --tp 4 --global-batch 12");
  EXPECT_THAT(counts_of(study["strong"]), testing::ElementsAre(8, 24));
  EXPECT_THAT(counts_of(study["weak"]), testing::ElementsAre(8, 20, 24));
  const json& skipped = study["strong"]["skipped"];
  ASSERT_EQ(skipped.size(), 2u);
  EXPECT_THAT(skipped[0]["why"].get<std::string>(), HasSubstr("13 GPUs are not a multiple of tp 4"));
  EXPECT_THAT(
      skipped[1]["why"].get<std::string>(), HasSubstr("global batch 12 is not a multiple of micro-batch 1 x dp 5"));
}

TEST(Scale, OneKindWhereOneIsAskedFor) {
  EXPECT_FALSE(scale_answer("llama3-8b --gpus 8 --strong").contains("weak"));
  EXPECT_FALSE(scale_answer("llama3-8b --gpus 8 --weak").contains("strong"));
  EXPECT_TRUE(scale_answer("llama3-8b --gpus 8 --weak --strong").contains("strong"));
}

// 64 sequences on 2 ranks of 4 stages: 32 micro-batches each; ten times as many ranks do not divide them, 16 or 32 do.
TEST(Scale, AheadIsRoundedAndSaysSo) {
  const json ahead = scale_answer("llama3-70b --gpus 64 --tp 8 --pp 4 --global-batch 64 --strong")["strong"]["ahead"];
  ASSERT_EQ(ahead.size(), 3u);
  EXPECT_EQ(ahead[0]["at"]["gpus"], 128);
  EXPECT_EQ(ahead[2]["wanted_gpus"], 640);
  EXPECT_EQ(ahead[2]["at"]["gpus"], 512);
  EXPECT_THAT(ahead[2]["breaks"][0].get<std::string>(), HasSubstr("not a multiple of micro-batch 1 x dp 20"));
}

TEST(Scale, FewerMicroBatchesThanStagesBreakThePipeline) {
  const json strong = scale_answer("llama3-70b --gpus 32 --tp 8 --pp 4 --global-batch 4 --strong")["strong"];
  EXPECT_THAT(
      strong["breaks_first"].get<std::string>(), HasSubstr("at 2x (64 GPUs): 2 micro-batches are fewer than 4 stages"));
  EXPECT_EQ(strong["ahead"][0]["most_above_ideal"]["phase"], "bubble");
}

TEST(Scale, TheMachinesEndIsSaid) {
  const json weak = scale_answer("llama3-8b --machine jean-zay-a100 --gpus 64 --global-batch 64 --weak")["weak"];
  EXPECT_THAT(weak["ahead"][2]["breaks"][0].get<std::string>(), HasSubstr("640 GPUs are more than the 416"));
  EXPECT_EQ(weak["ahead"][2]["at"]["gpus"], 416);
}

TEST(Scale, ARunThatDoesNotFitIsBrokenFromTheStart) {
  const json strong = scale_answer("llama3-70b --gpus 8 --global-batch 64 --strong")["strong"];
  EXPECT_FALSE(strong["runs"][0]["fits"].get<bool>());
  EXPECT_THAT(strong["breaks_first"].get<std::string>(), HasSubstr("already the smallest run does not fit"));
}

TEST(Scale, TextHoldsTableFitPlotAndVerdict) {
  const auto ran = run_line("scale llama3-8b --gpus 8 --global-batch 128");
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* part : {"Strong scaling", "Weak scaling", "Amdahl: serial share", "Gustafson: serial share",
           "ideal speed-up", "What breaks first, strong", "What breaks first, weak"})
    EXPECT_THAT(ran.out, HasSubstr(part));
  EXPECT_THAT(run_line("scale llama3-8b --gpus 8,16 --global-batch 128").out,
      HasSubstr("says nothing of how well the law fits"));
}

TEST(Scale, WrongInputIsExplained) {
  const std::string mapping = testing_program::own_path("scale.flow");
  std::ofstream(mapping) << "mesh tp:2 cp:1 dp:4 pp:1\nuse tp, dp, zero1\n";
  const std::pair<std::string, const char*> cases[] = {{"--gpus 8,x", "'x' is not a whole number"},
      {"--gpus 8,", "is not a whole number"}, {"--gpus 0", "out of range"},
      {"--gpus 3,5 --tp 2", "3 GPUs are not a multiple of tp 2"}, {"--gpus 20000", "has at most"},
      {"--trace x.json", "unknown flag"}, {"--mapping " + mapping, "a mapping says its number of GPUs itself"}};
  for (const auto& [flags, what] : cases) {
    const auto ran = run_line("scale llama3-8b " + flags);
    EXPECT_EQ(ran.code, 2) << flags << "\n" << ran.out;
    EXPECT_EQ(ran.out, "") << flags;
    EXPECT_THAT(ran.err, HasSubstr(what)) << flags;
  }
}

}  // namespace
}  // namespace stepcast::scale
