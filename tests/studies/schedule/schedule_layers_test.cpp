// stepcast schedule --layer-costs: layers split over stages, and what the split costs.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::schedule {
namespace {

using testing::HasSubstr;
using testing_program::Ran;
using testing_program::run_line;

std::string costs_file(const std::string& text) {
  const std::string file = testing_program::own_path("layer_costs.json");
  std::ofstream(file) << text;
  return file;
}

/// Ten layers of 1 in each pass; the head is two of them.
const std::string ten_layers = R"({"forward": [1,1,1,1,1,1,1,1,1,1], "input_grad": [1,1,1,1,1,1,1,1,1,1],
  "weight_grad": [1,1,1,1,1,1,1,1,1,1], "head": [2,2,2]})";

Ran with_costs(const std::string& text, const std::string& flags) {
  return run_line("schedule " + flags + " --layer-costs " + costs_file(text));
}

nlohmann::json split_of(const std::string& flags) {
  const Ran ran = with_costs(ten_layers, flags + " --json");
  if (ran.code == 0) return nlohmann::json::parse(ran.out);
  ADD_FAILURE() << ran.err;
  return {};
}

// Twelve units on four stages: 3, 3, 3 and 1 beside the head are all alike, so (m + p - 1) x 3 x 3 is the step.
TEST(ScheduleLayers, BalancedMakesStagesAlike) {
  const auto run = split_of("1f1b --stages 4 --micro-batches 8");
  EXPECT_EQ(run["partition"]["layers"], (std::vector<int>{3, 3, 3, 1}));
  EXPECT_EQ(run["partition"]["layout"], "Et*3|(t*3|)*2tL");
  EXPECT_DOUBLE_EQ(run["partition"]["imbalance"], 1);
  EXPECT_DOUBLE_EQ(run["partition"]["cost"], 0);
  EXPECT_DOUBLE_EQ(run["makespan"], (8 + 3) * 9);
}

// Evenly 3, 3, 2 and 2 + 2: the last stage takes 12, the mean is 9.
TEST(ScheduleLayers, EvenCostsWhatTheSlowestStageTakesLonger) {
  const auto run = split_of("1f1b --stages 4 --micro-batches 8 --layout even");
  EXPECT_EQ(run["partition"]["layers"], (std::vector<int>{3, 3, 2, 2}));
  EXPECT_DOUBLE_EQ(run["partition"]["imbalance"], 12.0 / 9);
  EXPECT_DOUBLE_EQ(run["makespan"].get<double>() - run["partition"]["cost"].get<double>(), (8 + 3) * 9);
  EXPECT_GE(run["makespan"].get<double>(), 8 * 12);
}

TEST(ScheduleLayers, ListsAndMegatronsStringsSayTheSame) {
  const std::string flags = "1f1b --stages 4 --micro-batches 8 --json --layout ";
  const Ran list = with_costs(ten_layers, flags + "4,3,2,1"), layout = with_costs(ten_layers, flags + "Et*4|t*3|tt|tL");
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_EQ(list.out, layout.out);
}

/// The same as writing the stages' times into --times.
TEST(ScheduleLayers, StagesAreTheSumsOfTheirLayers) {
  const std::string times = testing_program::own_path("layer_stage_times.json");
  std::ofstream(times) << R"({"forward": [4,3,2,3], "input_grad": [4,3,2,3], "weight_grad": [4,3,2,3]})";
  const Ran stages = run_line("schedule zb-h1 --stages 4 --micro-batches 8 --csv --times " + times);
  EXPECT_EQ(with_costs(ten_layers, "zb-h1 --stages 4 --micro-batches 8 --csv --layout 4,3,2,1").out, stages.out);
}

TEST(ScheduleLayers, KindsWithChunksSplitOverVirtualStages) {
  EXPECT_EQ(split_of("zb-v --stages 2 --micro-batches 4")["partition"]["layers"], (std::vector<int>{3, 3, 3, 1}));
  EXPECT_EQ(split_of("interleaved-1f1b --chunks 2 --stages 2 --micro-batches 4")["partition"]["layers"].size(), 4u);
}

TEST(ScheduleLayers, TheTextSaysItInALine) {
  EXPECT_THAT(with_costs(ten_layers, "1f1b --stages 4 --micro-batches 8").out,
      HasSubstr("layers Et*3|(t*3|)*2tL; slowest stage 1.00 x the mean; with equal stages 99, 0 less"));
}

TEST(ScheduleLayers, UnitsAreTakenAsInTimes) {
  const Ran ran = with_costs(R"({"forward": ["1 ms", "1 ms"], "input_grad": ["1 ms", "1 ms"],
                                 "weight_grad": ["1 ms", "1 ms"]})",
      "1f1b --stages 2 --micro-batches 2 --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NEAR(nlohmann::json::parse(ran.out)["makespan"].get<double>(), 9e-3, 1e-12);
}

TEST(ScheduleLayers, WrongFilesAndFlagsAreRefused) {
  const std::string sizes = "1f1b --stages 2 --micro-batches 2";
  EXPECT_THAT(with_costs(R"({"forward": [1], "input_grad": [1,1], "weight_grad": [1]})", sizes).err,
      HasSubstr("layer_costs.json:/input_grad: 2 layers, and 1 in forward"));
  EXPECT_THAT(with_costs(R"({"forward": [1], "input_grad": [1]})", sizes).err, HasSubstr("weight_grad"));
  EXPECT_THAT(with_costs(R"({"forward": [1,true], "input_grad": [1,1], "weight_grad": [1,1]})", sizes).err,
      HasSubstr("/forward/1: found true"));
  EXPECT_THAT(with_costs(R"({"forward": [1,1], "input_grad": [1,1], "weight_grad": [1,1], "head": [1]})", sizes).err,
      HasSubstr("/head: 1 times"));
  EXPECT_THAT(with_costs(R"({"forward": [1], "input_grad": [1], "weight_grad": [1], "tail": [1]})", sizes).err,
      HasSubstr("tail"));
  EXPECT_THAT(with_costs(ten_layers, sizes + " --layout 4,4").err, HasSubstr("nearest: 5,5"));
  EXPECT_THAT(with_costs(ten_layers, "1f1b --stages 13 --micro-batches 2").err, HasSubstr("at most 12 stages"));
  EXPECT_THAT(with_costs(ten_layers, sizes + " --forward 1").err, HasSubstr("does not go with --layer-costs"));
  EXPECT_THAT(with_costs(ten_layers, "--compare --stages 2 --micro-batches 2").err, HasSubstr("needs a KIND"));
  EXPECT_THAT(run_line("schedule " + sizes + " --forward 1 --input-grad 1 --weight-grad 1 --layout even").err,
      HasSubstr("add --layer-costs"));
}

}  // namespace
}  // namespace stepcast::schedule
