// stepcast whatif: what physics says of every lever, closed forms where all of them move together, and what is refused.
#include "studies/whatif/whatif.h"
#include "studies/whatif/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/launch/asked_run.h"
#include "studies/run/forecast.h"
#include "studies/whatif/machine_levers.h"
#include "studies/whatif/plan_levers.h"
#include "studies/whatif/whatif_change.h"
#include "tests/studies/run_program.h"

namespace stepcast::whatif {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_program::run_line;

/// Runs of different kinds: pipelined over nodes, sharded, on one node, with experts, with a narrow type, on PCIe.
const char* const whatif_runs[] = {"llama3-70b --gpus 128 --tp 8 --pp 4 --global-batch 128",
    "llama3-8b --gpus 64 --zero 3 --global-batch 256", "llama3-8b --gpus 8 --tp 4 --global-batch 32",
    "mixtral-8x7b --gpus 64 --tp 2 --ep 8 --pp 2 --global-batch 256",
    "llama3-8b --machine dgx-h100 --gpus 32 --tp 2 --precision fp8 --global-batch 64",
    "llama3-8b --machine l40s-server --gpus 16 --tp 2 --pp 4 --global-batch 64",
    "gpt3-175b --machine dgx-a100 --gpus 128 --tp 8 --pp 8 --global-batch 128 --recompute full"};

Request request_of(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> typed;
  for (std::string word; words >> word;) typed.push_back(word);
  const auto arguments = parse_arguments(whatif_flags(), 1, 1, "", typed);
  EXPECT_TRUE(arguments.has_value()) << line << (arguments ? "" : to_text(arguments.error()));
  const auto request = read_request(arguments->words.at(0), *arguments);
  EXPECT_TRUE(request.has_value()) << line << (request ? "" : to_text(request.error()));
  return *request;
}

Scenario scenario_of(const std::string& line) {
  const auto scenario = complete(request_of(line));
  EXPECT_TRUE(scenario.has_value()) << line << (scenario ? "" : to_text(scenario.error()));
  return *scenario;
}

StepReport step_of(const Scenario& scenario) {
  const auto prediction = run::predict(scenario);
  EXPECT_TRUE(prediction.has_value()) << (prediction ? "" : to_text(prediction.error()));
  return prediction->step;
}

double whatif_seconds_of(const Scenario& scenario) { return step_of(scenario).step_time.value(); }

Scenario scaled(Scenario scenario, const MachineLever& lever, double factor) {
  lever.scale(scenario, factor);
  return scenario;
}

MachineLever lever_called(const Scenario& scenario, const std::string& id) {
  for (MachineLever& lever : machine_levers(scenario))
    if (lever.id == id) return lever;
  ADD_FAILURE() << "no lever " << id;
  return {};
}

/// What a row says it changes from is what prices read, not what the machine's levels say of themselves.
TEST(WhatIf, LatenciesChangeFromWhatIsUsed) {
  Scenario scenario = scenario_of("llama3-70b --machine dgx-h100 --gpus 128 --tp 8 --pp 4 --global-batch 128");
  const auto amount = [&](const char* id) {
    for (const MachineLever& lever : machine_levers(scenario))
      if (lever.id == id) return lever.amount(scenario);
    return 0.0;
  };
  // 128 GPUs are 16 nodes: 22.4 us and four doublings of 27.4 us (rdma, model/profile/rate_law.cpp).
  EXPECT_NEAR(amount("network-latency"), 132e-6, 1e-9);
  const double inside = amount("latency");
  EXPECT_GT(inside, 5e-6);
  for (Level& level : scenario.machine.row.levels) level.latency = Seconds(500e-6);
  EXPECT_EQ(amount("latency"), inside);
  EXPECT_NEAR(amount("network-latency"), 132e-6, 1e-9);
}

TEST(WhatIf, FactorOneChangesNothing) {
  for (const char* line : whatif_runs) {
    const Scenario scenario = scenario_of(line);
    const double before = whatif_seconds_of(scenario);
    for (const MachineLever& lever : machine_levers(scenario))
      EXPECT_NEAR(whatif_seconds_of(scaled(scenario, lever, 1)), before, 1e-12 * before) << line << ": " << lever.id;
  }
}

TEST(WhatIf, MoreRateAndLessDelayNeverSlowAStep) {
  for (const char* line : whatif_runs) {
    const Scenario scenario = scenario_of(line);
    const double before = whatif_seconds_of(scenario), hair = 1e-9 * before;
    for (const MachineLever& lever : machine_levers(scenario)) {
      const double better = whatif_seconds_of(scaled(scenario, lever, lever.more_is_faster ? 2 : 0.5));
      const double worse = whatif_seconds_of(scaled(scenario, lever, lever.more_is_faster ? 0.5 : 2));
      EXPECT_LE(better, before + hair) << line << ": " << lever.id;
      EXPECT_GE(worse, before - hair) << line << ": " << lever.id;
    }
  }
}

// Every time in a forecast is an amount over a rate, or a delay: with all rates k times as high and all delays 1/k, a
// step takes 1/k. A law that no lever scales would show here. Contention and the spread of GPUs are shares.
TEST(WhatIf, AllLeversTogetherScaleTheStep) {
  for (const char* line : whatif_runs) {
    const Scenario scenario = scenario_of(line);
    const double before = whatif_seconds_of(scenario);
    for (const double k : {2.0, 5.0}) {
      Scenario faster = scenario;
      for (const MachineLever& lever : machine_levers(scenario))
        if (lever.id != "own-type" && lever.id != "contention" && lever.id != "skew")
          lever.scale(faster, lever.more_is_faster ? k : 1 / k);
      EXPECT_NEAR(whatif_seconds_of(faster), before / k, 1e-9 * before) << line;
    }
  }
}

TEST(WhatIf, TwiceTheMatrixRateAtMostHalvesKernels) {
  for (const char* line : whatif_runs) {
    const Scenario scenario = scenario_of(line);
    const auto kernels = [](const StepReport& step) { return (step.phases.forward + step.phases.backward).value(); };
    const double before = kernels(step_of(scenario));
    const double after = kernels(step_of(scaled(scenario, lever_called(scenario, "compute"), 2)));
    EXPECT_LT(after, 0.95 * before) << line;
    EXPECT_GE(after, 0.5 * before) << line;
  }
}

TEST(WhatIf, ARunOnOneNodeIsNotMovedByTheNetwork) {
  const auto study = sensitivity(request_of("llama3-8b --gpus 8 --tp 4 --global-batch 32"), 10);
  ASSERT_TRUE(study.has_value());
  for (const LeverEffect& lever : study->levers) {
    if (lever.id != "nic" && lever.id != "network-latency") continue;
    EXPECT_NE(lever.idle, "") << lever.id;
    for (const Variation& variation : lever.variations)
      EXPECT_EQ(variation.after.step_time, study->before.step_time) << lever.id << " " << variation.to;
  }
  const std::string text = run_line("whatif llama3-8b --gpus 8 --tp 4 --global-batch 32").out;
  EXPECT_THAT(text, HasSubstr("nic: the run stays within one node"));
}

TEST(WhatIf, CapacityDecidesWhatFitsAndNoTime) {
  const Scenario scenario = scenario_of(whatif_runs[0]);
  const MachineLever capacity = lever_called(scenario, "hbm-capacity");
  const StepReport before = step_of(scenario);
  ASSERT_TRUE(before.memory.fits);
  const StepReport small = step_of(scaled(scenario, capacity, 0.99 * (before.memory.peak / before.memory.capacity)));
  EXPECT_FALSE(small.memory.fits);
  EXPECT_EQ(small.step_time, before.step_time);
}

/// 2 nodes of 8 at 100 GB/s inside; ports of 10 GB/s make 80 GB/s for a ring of 8 members per node.
Scenario with_curve_across(CollectiveKind kind) {
  Scenario scenario = scenario_of("llama3-8b --gpus 16 --global-batch 16");
  scenario.machine.row.levels[0].bandwidth_per_gpu = BytesPerSecond(100e9);
  scenario.machine.row.levels[1].bandwidth_per_gpu = BytesPerSecond(10e9);
  CollectiveCurve curve;
  curve.kind = kind, curve.fabric = FabricKind::infiniband, curve.ranks = 16, curve.nodes = 2;
  curve.latency = Seconds(10e-6), curve.bandwidth = BytesPerSecond(60e9);
  curve.points = {{Bytes(6e3), Seconds(10.1e-6)}, {Bytes(6e9), Seconds(0.1 + 10e-6)}};
  scenario.profile.row.collectives = {curve};
  return scenario;
}

TEST(WhatIf, CurvesAcrossNodesFollowTheNarrowestTier) {
  const auto rate = [](Scenario scenario, std::size_t level, double factor) {
    scale_bandwidth(scenario, level, factor);
    return scenario.profile.row.collectives[0].bandwidth.value() / 60e9;
  };
  const Scenario ring = with_curve_across(CollectiveKind::all_gather);
  EXPECT_NEAR(rate(ring, 1, 0.5), 0.5, 1e-12);
  EXPECT_NEAR(rate(ring, 1, 2), 100.0 / 80, 1e-12);  // then the links inside hold it up
  EXPECT_NEAR(rate(ring, 0, 2), 1, 1e-12);
  EXPECT_NEAR(rate(ring, 0, 0.5), 50.0 / 80, 1e-12);
  // An exchange leaves the node with 8/15 of its rows through ports of 10 GB/s; 7/15 stay inside.
  const Scenario exchange = with_curve_across(CollectiveKind::all_to_all);
  EXPECT_NEAR(rate(exchange, 1, 2), 2, 1e-12);
  EXPECT_NEAR(rate(exchange, 1, 100), (100 / 7.0) / (10 / 8.0), 1e-9);
}

TEST(WhatIf, PointsOfACurveScaleButForTheirLatency) {
  Scenario scenario = with_curve_across(CollectiveKind::all_gather);
  scale_bandwidth(scenario, 1, 0.5);
  EXPECT_NEAR(scenario.profile.row.collectives[0].points[1].time.value(), 0.2 + 10e-6, 1e-12);
  lever_called(scenario, "network-latency").scale(scenario, 3);
  EXPECT_NEAR(scenario.profile.row.collectives[0].points[1].time.value(), 0.2 + 30e-6, 1e-12);
}

json whatif_answer(const std::string& line) {
  const auto ran = run_line("whatif " + line + " --json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  return ran.code == 0 ? json::parse(ran.out) : json::object();
}

TEST(WhatIf, ANeighbourIsWhatPredictSaysOfIt) {
  const json study = whatif_answer(whatif_runs[0]);
  const auto predicted = run_line("predict llama3-70b --gpus 128 --tp 4 --pp 4 --global-batch 128 --json");
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  bool seen = false;
  for (const json& lever : study["levers"])
    for (const json& variation : lever["variations"])
      if (lever["id"] == "tp" && variation["to"] == "4") {
        EXPECT_EQ(variation["step_time_s"], json::parse(predicted.out)["step_time_s"]);
        seen = true;
      }
  EXPECT_TRUE(seen);
}

TEST(WhatIf, LargestEffectFirstAndAllAccountedFor) {
  const json study = whatif_answer(whatif_runs[0]);
  double before = INFINITY;
  std::size_t acting = 0;
  for (const json& lever : study["levers"]) {
    double largest = 0;
    for (const json& variation : lever["variations"])
      largest = std::max(largest, std::abs(std::log1p(variation["gpu_time_per_token_change"].get<double>())));
    EXPECT_LE(largest, before + 1e-12) << lever["id"];
    before = largest;
    ++acting;
  }
  const Scenario scenario = scenario_of(whatif_runs[0]);
  const std::size_t all =
      machine_levers(scenario).size() + plan_levers(pinned(request_of(whatif_runs[0]), scenario), scenario).size();
  EXPECT_EQ(acting + study["without_effect"].size(), all);
}

TEST(WhatIf, TopKeepsWhatDecidesTheFit) {
  const json all = whatif_answer(whatif_runs[0])["levers"],
             top = whatif_answer(std::string(whatif_runs[0]) + " --top 2")["levers"];
  EXPECT_EQ(top[0], all[0]);
  EXPECT_EQ(top[1], all[1]);
  EXPECT_LT(top.size(), all.size());
  EXPECT_EQ(top.back()["id"], "hbm-capacity");
}

// Half of the GPUs: half of the GPU time in as long a step.
TEST(WhatIf, FewerGpusAreJudgedByTheirTime) {
  const json change = whatif_answer("llama3-8b --gpus 16 --global-batch 64 --change gpus=8")["change"];
  EXPECT_GT(change["step_time_change"], 0.5);
  EXPECT_NEAR(
      1 + change["gpu_time_per_token_change"].get<double>(), (1 + change["step_time_change"].get<double>()) / 2, 1e-9);
}

TEST(WhatIf, WorkThatGrowsIsJudgedByTheToken) {
  const json study = whatif_answer("llama3-8b --gpus 8 --global-batch 64");
  bool doubled = false;
  for (const json& lever : study["levers"])
    for (const json& variation : lever["variations"]) {
      const double token = variation["gpu_time_per_token_change"], rate = variation["tokens_per_s_per_gpu_change"];
      EXPECT_NEAR((1 + token) * (1 + rate), 1, 1e-9) << lever["id"];
      if (lever["id"] != "global-batch" || variation["to"] != "128") continue;
      EXPECT_NEAR(1 + variation["step_time_change"].get<double>(), 2 * (1 + token), 1e-9);
      doubled = true;
    }
  EXPECT_TRUE(doubled);
}

TEST(WhatIf, IllegalNeighboursSayWhy) {
  const json study = whatif_answer("llama3-8b --gpus 8 --tp 8 --global-batch 3");
  std::string why;
  for (const json& step : study["cannot_run"])
    if (step["id"] == "tp" && step["to"] == "16") why = step["why"];
  EXPECT_THAT(why, HasSubstr("8 GPUs are not a multiple of tp 16"));
}

// 8190 positions do not divide by tp 4, which turns sp off; neighbours must not turn it on and fail.
TEST(WhatIf, NeighboursKeepWhatDefaultsDecided) {
  std::string network = run_line("show network llama3-8b --json").out;
  const std::size_t at = network.find("\"sequence\": 8192");
  ASSERT_NE(at, std::string::npos);
  network.replace(at, 16, "\"sequence\": 8190");
  const std::string path = testing_program::own_path("odd_sequence.json");
  std::ofstream(path) << network;
  const json study = whatif_answer(path + " --gpus 8 --tp 4 --global-batch 32");
  bool doubled = false;
  for (const json& lever : study["levers"])
    for (const json& variation : lever["variations"]) doubled |= lever["id"] == "micro-batch" && variation["to"] == "2";
  EXPECT_TRUE(doubled);
}

TEST(WhatIf, AMappingKeepsItsSplit) {
  const std::string path = testing_program::own_path("whatif.flow");
  std::ofstream(path) << "mesh tp:2 cp:1 dp:4 pp:1\nuse tp, dp, zero1\n";
  const auto ran = run_line("whatif llama3-8b --gpus 8 --global-batch 64 --mapping " + path);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("tp, pp, cp"));
  EXPECT_THAT(ran.out, HasSubstr("mapping says it: change it there"));
  EXPECT_THAT(ran.out, HasSubstr("micro-batch"));
}

TEST(WhatIfChange, OneEqualsTheLeverAndSeveralAreJoint) {
  const json study = whatif_answer(whatif_runs[0]),
             one = whatif_answer(std::string(whatif_runs[0]) + " --change nvlink=2x");
  const json& levers = study["levers"];
  const auto nvlink =
      std::find_if(levers.begin(), levers.end(), [](const json& lever) { return lever["id"] == "nvlink"; });
  ASSERT_NE(nvlink, levers.end());
  EXPECT_EQ((*nvlink)["variations"][1]["step_time_s"], one["after"]["step_time_s"]);
  const json both = whatif_answer(std::string(whatif_runs[0]) + " --change nvlink=2x --change tp=4");
  const json tp = whatif_answer(std::string(whatif_runs[0]) + " --change tp=0.5x");
  EXPECT_LT(both["after"]["step_time_s"], one["after"]["step_time_s"]);
  EXPECT_LT(both["after"]["step_time_s"], tp["after"]["step_time_s"]);
  EXPECT_EQ(both["alone"][0]["step_time_s"], one["after"]["step_time_s"]);
  EXPECT_EQ(both["alone"][1]["step_time_s"], tp["after"]["step_time_s"]);
}

TEST(WhatIfChange, AnotherMachineComesWithItsProfile) {
  const json changed = whatif_answer("llama3-8b --gpus 8 --global-batch 64 --change machine=dgx-a100");
  const auto predicted = run_line("predict llama3-8b --machine dgx-a100 --gpus 8 --global-batch 64 --json");
  EXPECT_EQ(changed["after"]["step_time_s"], json::parse(predicted.out)["step_time_s"]);
}

TEST(WhatIfChange, AChangeThatNeedsTheOtherSaysSo) {
  const auto ran =
      run_line("whatif llama3-8b --gpus 8 --tp 4 --global-batch 32 --change tp=8 --change gpus=12 --change tp=2");
  EXPECT_EQ(ran.code, 2);
  // 12 GPUs want a batch that divides by dp 3.
  const auto joint =
      run_line("whatif llama3-8b --gpus 8 --tp 4 --global-batch 32 --change gpus=12 --change global-batch=48");
  EXPECT_EQ(joint.code, 0) << joint.err;
  EXPECT_THAT(joint.out, HasSubstr("gpus=12 by itself cannot run: global batch 32 is not a multiple"));
}

TEST(WhatIfChange, ListsKeepTheirCommas) {
  const auto changes = parse_changes("nic=2x,layout=9,8,8,7,tp=4", "--change");
  ASSERT_TRUE(changes.has_value());
  ASSERT_EQ(changes->size(), 3u);
  EXPECT_EQ((*changes)[1].value, "9,8,8,7");
  EXPECT_EQ((*changes)[2].id, "tp");
}

TEST(WhatIf, WrongInputIsExplained) {
  const std::pair<const char*, const char*> cases[] = {{"--change nic=2", "'2' is no factor"},
      {"--change nic=0x", "out of range"}, {"--change nik=2x", "did you mean 'nic'"},
      {"--change nic", "names no change"}, {"--change nic=2x --change nic=3x", "given twice"},
      {"--change tp=3", "do not divide by tp 3"}, {"--change micro-batch=1.5x", "not a whole number"},
      {"--change machine=dgx-h1000", "did you mean 'dgx-h100'"},
      {"--change nic=2x --top 3", "does not go with --change"}, {"--factor 1", "changes nothing"},
      {"--factor 0.5", "out of range"}, {"--factor nan", "out of range"}, {"--factor twice", "is no factor"},
      {"--tp 3", "do not divide by tp 3"}, {"--explain", "unknown flag"}};
  for (const auto& [flags, what] : cases) {
    const auto ran = run_line(std::string("whatif llama3-8b --gpus 8 ") + flags);
    EXPECT_EQ(ran.code, 2) << flags << "\n" << ran.out;
    EXPECT_EQ(ran.out, "") << flags;
    EXPECT_THAT(ran.err, HasSubstr(what)) << flags;
  }
}

}  // namespace
}  // namespace stepcast::whatif
