// --layout of predict: where the layers lie, what that costs, and what cannot lie so.
#include "studies/run/forecast.h"

#include <algorithm>
#include <array>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "dataflow/lower/lower.h"
#include "sim/layer_costs.h"
#include "sim/step.h"
#include "tests/studies/run_program.h"

namespace stepcast::run {
namespace {

using testing::HasSubstr;
using testing_program::Ran;
using testing_program::run_line;

nlohmann::json laid(const std::string& line) {
  const Ran ran = run_line("predict " + line + " --json");
  if (ran.code != 0) {
    ADD_FAILURE() << line << ": " << ran.err;
    return {};
  }
  return nlohmann::json::parse(ran.out);
}

LayerCounts layers_in(const nlohmann::json& report) { return report["partition"]["layers"].get<LayerCounts>(); }
double step_in(const nlohmann::json& report) { return report["step_time_s"].get<double>(); }

/// Forward and backward of the slowest stage, one micro-batch.
double slowest_in(const nlohmann::json& report) {
  double most = 0;
  for (const auto& stage : report["stages"])
    most = std::max(most,
        stage["forward_s"].get<double>() + stage["input_grad_s"].get<double>() + stage["weight_grad_s"].get<double>());
  return most;
}

std::string refused_layout(const std::string& line) {
  const Ran ran = run_line("predict " + line);
  EXPECT_EQ(ran.code, 2) << line << ran.out;
  return ran.err;
}

/// What is printed, without what the command line told.
std::string printed_by(const std::string& line) {
  const std::string out = run_line(line).out;
  return out.substr(0, out.find("\"told\""));
}

TEST(PredictLayout, EvenIsTheDefaultToTheBit) {
  for (const std::string line : {"predict llama3-8b --pp 4 --json", "predict llama3-70b --tp 8 --pp 4 --chunks 2",
           "predict llama3-8b --pp 4 --schedule zb-v --json", "predict llama3-8b"})
    EXPECT_EQ(printed_by(line + " --layout even"), printed_by(line)) << line;
  EXPECT_EQ(
      printed_by("predict llama3-8b --pp 4 --layout 8,8,8,8 --json"), printed_by("predict llama3-8b --pp 4 --json"));
}

TEST(PredictLayout, AListLaysThemAsItSays) {
  const auto report = laid("llama3-8b --pp 4 --layout 9,8,8,7");
  EXPECT_EQ(layers_in(report), (LayerCounts{9, 8, 8, 7}));
  EXPECT_EQ(report["partition"]["layout"], "Et*9|(t*8|)*2t*7L");
  EXPECT_EQ(report["stages"][0]["layers"], 9);
  EXPECT_EQ(report["stages"][3]["layers"], 7);
  EXPECT_EQ(layers_in(laid("llama3-8b --pp 4 --layout [9,8,8,7]")), (LayerCounts{9, 8, 8, 7}));
}

TEST(PredictLayout, MegatronsStringMeansTheSameAsTheList) {
  for (const auto& [flags, list, layout] :
      std::vector<std::array<std::string, 3>>{{"llama3-8b --pp 4", "9,8,8,7", "Et*9|(t*8|)*2t*7L"},
          {"llama3-8b --pp 2 --chunks 2", "9,8,8,7", "Et*9|t*8|t*8,|t*7L"},
          {"llama3-8b --pp 2 --schedule zb-v", "9,8,8,7", "Et*9|t*8|t*8|t*7L"},
          {"deepseek-v3 --pp 4", "16,16,16,13", "Et*16|(t*16|)*2t*13mL"}}) {
    EXPECT_EQ(printed_by("predict " + flags + " --json --layout " + list),
        printed_by("predict " + flags + " --json --layout " + layout))
        << flags;
  }
}

/// Virtual stage s lies on stage s % 2, or there and back: each stage's layers are the sums of its own.
TEST(PredictLayout, ChunksAreDealtOutAsTheSchedulePlacesThem) {
  const auto looped = laid("llama3-8b --pp 2 --chunks 2 --layout 10,9,7,6");
  EXPECT_EQ(looped["stages"][0]["layers"], 17);
  EXPECT_EQ(looped["stages"][1]["layers"], 15);
  const auto folded = laid("llama3-8b --pp 2 --schedule zb-v --layout 10,9,7,6");
  EXPECT_EQ(folded["stages"][0]["layers"], 16);
  EXPECT_EQ(folded["stages"][1]["layers"], 16);
}

TEST(PredictLayout, EmbeddingAndLossMayStandAlone) {
  const auto report = laid("llama3-8b --pp 4 --layout E|(t*16|)*2L");
  EXPECT_EQ(layers_in(report), (LayerCounts{0, 16, 16, 0}));
  EXPECT_GT(report["stages"][3]["forward_s"].get<double>(), 0);
  EXPECT_LT(report["stages"][0]["forward_s"].get<double>(), report["stages"][1]["forward_s"].get<double>());
  EXPECT_EQ(report["partition"]["layout"], "E|(t*16|)*2L");
}

TEST(PredictLayout, BalancedIsNeverSlowerThanEven) {
  struct Case {
    const char *run, *even;
  };
  for (const auto& [line, even] : std::initializer_list<Case>{{"llama3-8b --pp 4", "even"},
           {"llama3-8b --pp 4 --schedule zb-v", "even"}, {"llama3-8b --pp 4 --recompute full:3", "even"},
           {"llama3-8b --pp 4 --schedule seq-1f1b --seq-splits 4", "even"},
           {"llama3-8b --pp 4 --schedule dualpipe", "even"}, {"llama3-70b --tp 8 --pp 4 --chunks 5", "even"},
           {"gemma-7b --pp 4", "even"}, {"gemma-7b --pp 8", "4,4,4,4,3,3,3,3"},
           {"deepseek-v3 --pp 8 --tp 8", "8,8,8,8,8,7,7,7"},
           {"deepseek-v3 --pp 16 --ep 8 --gpus 128", "4,4,4,4,4,4,4,4,4,4,4,4,4,3,3,3"}}) {
    const std::string flags = std::string(line) + " --layout ";
    EXPECT_LE(step_in(laid(flags + "balanced")), step_in(laid(flags + even))) << line;
  }
}

// A vocabulary of 256,000 makes the head of this network as long as some layers: the last stage gives them up.
TEST(PredictLayout, BalancedTakesLayersFromTheHeadsStage) {
  const auto even = laid("gemma-7b --pp 4"), balanced = laid("gemma-7b --pp 4 --layout balanced");
  EXPECT_LT(layers_in(balanced).back(), 7);
  EXPECT_LT(balanced["partition"]["imbalance"].get<double>(), even["partition"]["imbalance"].get<double>());
  EXPECT_LT(balanced["partition"]["cost_s"].get<double>(), even["partition"]["cost_s"].get<double>());
  EXPECT_LT(step_in(balanced), 0.95 * step_in(even));
}

/// All ways to lay 16 layers on three stages, by the forecast's own times of the slowest stage.
TEST(PredictLayout, NoSplitAtAllHasAFasterSlowestStage) {
  for (const std::string flags : {"llama3.2-1b --pp 3 --gpus 24", "llama3.2-1b --pp 3 --gpus 24 --recompute full"}) {
    double best = 1e9;
    for (int first = 0; first <= 15; ++first)
      for (int last = 0; first + last <= 15; ++last)
        best = std::min(
            best, slowest_in(laid(fmt::format("{} --layout {},{},{}", flags, first, 16 - first - last, last))));
    EXPECT_LE(slowest_in(laid(flags + " --layout balanced")), best * (1 + 1e-6)) << flags;
  }
}

/// Price by price: the layers, embedding and head of a stage add up to what the forecast says it takes.
TEST(LayerCosts, AddUpToTheForecastsStages) {
  for (const char* id : {"llama3-8b", "deepseek-v2-lite", "mixtral-8x7b"}) {
    Request request;
    request.network = *choose_network(id, "test");
    for (const auto& [key, text] : {std::pair{"pp", "2"}, {"gpus", "16"}, {"layout", "balanced"}})
      ASSERT_TRUE(request.say(key, text, "test"));
    const auto scenario = complete(request);
    ASSERT_TRUE(scenario) << to_text(scenario.error());
    const auto program = lower(scenario->network.row, scenario->plan, scenario->stack.row);
    ASSERT_TRUE(program) << to_text(program.error());
    const CostModel cost(scenario->machine.row, scenario->profile.row, scenario->stack.row, scenario->plan.precision);
    const auto step = forecast(*program, cost);
    ASSERT_TRUE(step) << to_text(step.error());
    std::vector<int> counts;
    for (const StageReport& stage : step->stages) counts.push_back(static_cast<int>(stage.layers));
    const auto costs = split_as(layer_costs(*program, cost, 0), counts);
    ASSERT_TRUE(costs) << to_text(costs.error());
    for (std::size_t s = 0; s < counts.size(); ++s) {
      const StageReport& stage = step->stages[s];
      const double took = (stage.forward + stage.input_grad + stage.weight_grad).value();
      EXPECT_NEAR(costs->cost[s], took, 1e-3 * took) << id << " stage " << s;
    }
  }
}

TEST(PredictLayout, TheReportSaysWhatUnequalStagesCost) {
  const auto report = laid("llama3-8b --pp 4");
  const double cost = report["partition"]["cost_s"].get<double>();
  EXPECT_GT(cost, 0.05 * step_in(report));
  EXPECT_GT(report["partition"]["imbalance"].get<double>(), 1.1);
  EXPECT_THAT(
      run_line("predict llama3-8b --pp 4").out, HasSubstr("one micro-batch; slowest 1.16 x the mean, which costs"));
  EXPECT_THAT(run_line("predict llama3-8b --pp 4 --layout 9,8,8,7").out, HasSubstr("\n  layers Et*9|(t*8|)*2t*7L\n"));
  EXPECT_FALSE(laid("llama3-8b").contains("partition"));
  EXPECT_EQ(run_line("predict llama3-8b").out.find("x the mean, which costs"), std::string::npos);
}

TEST(PredictLayout, WrongCountsAreRefusedWithTheNearest) {
  EXPECT_THAT(refused_layout("llama3-8b --pp 4 --layout 8,8,8,7"),
      HasSubstr("31 decoder layers in the layout, 32 in the model\n  1 more t; nearest: 8,8,8,8"));
  EXPECT_THAT(refused_layout("llama3-8b --pp 4 --layout 9,8,9,8"), HasSubstr("nearest: 8,8,8,8"));
  EXPECT_THAT(refused_layout("llama3-8b --pp 4 --layout 12,10,10"), HasSubstr("nearest: 8,8,8,8"));
  EXPECT_THAT(refused_layout("llama3-8b --pp 2 --layout 8,8,8,8"), HasSubstr("4 virtual stages are --chunks 2"));
  EXPECT_THAT(refused_layout("llama3-8b --pp 4 --layout Et*8|t*8|t*8|t*7L"), HasSubstr("nearest: Et*8|(t*8|)*2t*8L"));
  EXPECT_THAT(refused_layout("deepseek-v3 --pp 4 --layout Et*15|t*15|t*15|t*16L"),
      HasSubstr("0 prediction layers m in the layout, 1 in the model"));
  EXPECT_THAT(refused_layout("llama3-8b --pp 4 --layout Et*8|t*8|q|t*8L"), HasSubstr("--layout:10: 'q' is no part"));
  EXPECT_THAT(refused_layout("llama3-8b --pp 4 --layout balance"), HasSubstr("balanced"));
  EXPECT_THAT(refused_layout("llama3-8b --pp 35 --gpus 35 --layout balanced"), HasSubstr("at most 34 stages"));
}

TEST(PredictLayout, PredictionModulesStayWithTheLoss) {
  EXPECT_THAT(refused_layout("deepseek-v3 --pp 4 --layout Et*20|t*20|t*21m|L"),
      AllOf(HasSubstr("where they run here"), HasSubstr("nearest: Et*20|t*20|t*21|mL")));
}

TEST(PredictLayout, AMappingFileSaysItAlready) {
  const std::string file = testing_program::own_path("layout.flow");
  std::ofstream(file) << "mesh pp:4\npar layer on pp list [9,8,8,7] sched 1f1b for mb:*\n";
  EXPECT_THAT(refused_layout("llama3-8b --mapping " + file + " --layout balanced"),
      HasSubstr("already says how the work is split"));
}

TEST(PredictLayout, ScenarioFilesKeepTheLayout) {
  for (const std::string flags : {"llama3-8b --pp 4 --layout balanced", "llama3-8b --pp 4 --layout 9,8,8,7",
           "llama3-8b --pp 2 --chunks 2 --layout 9,8,8,7", "llama3-8b --pp 2 --schedule zb-v --layout 9,8,8,7"}) {
    const std::string file = testing_program::own_path("layout_scenario.json");
    std::ofstream(file) << run_line("predict " + flags + " --print-scenario").out;
    const auto again = laid(file), before = laid(flags);
    EXPECT_EQ(layers_in(again), layers_in(before)) << flags;
    EXPECT_EQ(step_in(again), step_in(before)) << flags;
  }
}

TEST(PredictLayout, AScenarioFileMayHoldTheKey) {
  const std::string file = testing_program::own_path("layout_key.json");
  std::ofstream(file) << R"({"network": "llama3-8b", "pp": 4, "layout": "9,8,8,7"})";
  EXPECT_EQ(layers_in(laid(file)), (LayerCounts{9, 8, 8, 7}));
  std::ofstream(file) << R"({"network": "llama3-8b", "pp": 4, "layout": "9,8,8"})";
  EXPECT_THAT(refused_layout(file), HasSubstr("layout_key.json:/layout"));
}

}  // namespace
}  // namespace stepcast::run
