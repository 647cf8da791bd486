// A run with its forecast, roofs and points, for tests of the figures of a roofline report.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "studies/roofline/report.h"
#include "studies/run/forecast.h"

namespace stepcast::roofline::testing_roofline {

struct RooflineCase {
  Request request;
  Scenario scenario;
  Prediction prediction;
  Roofs roofs;
  std::vector<OperatorPoint> points;
};

using CaseFlags = std::vector<std::pair<std::string, std::string>>;

inline Request case_request(const std::string& network, const CaseFlags& flags) {
  Request request;
  request.network = choose_network(network, "network").value();
  for (const auto& [key, value] : flags) {
    if (key == "machine") request.machine = choose_machine(value, "--machine").value();
    else if (key == "stack") request.stack = choose_stack(value, "--stack").value();
    else EXPECT_TRUE(request.say(key, value, "--" + key));
  }
  return request;
}

/// Scenario keys: {"tp", "8"}; "machine" and "stack" by catalogue id.
inline RooflineCase roofline_case(const std::string& network, const CaseFlags& flags) {
  RooflineCase run;
  run.request = case_request(network, flags);
  auto scenario = complete(run.request);
  EXPECT_TRUE(scenario) << network << ": " << (scenario ? "" : to_text(scenario.error()));
  if (!scenario) return run;
  run.scenario = *std::move(scenario);
  auto prediction = run::predict(run.scenario);
  EXPECT_TRUE(prediction) << network << ": " << (prediction ? "" : to_text(prediction.error()));
  if (!prediction) return run;
  run.prediction = *std::move(prediction);
  run.roofs = roofs_of(run.scenario.machine.row.gpu, run.scenario.profile.row);
  run.points = operator_points(run.scenario, run.prediction, run.roofs);
  return run;
}

/// A dense network over stages, full recomputation on another GPU, routed experts across nodes, two copies, slices.
inline std::vector<RooflineCase> real_cases() {
  std::vector<RooflineCase> cases;
  cases.push_back(roofline_case("llama3-70b", {{"gpus", "512"}, {"tp", "8"}, {"pp", "4"}}));
  cases.push_back(roofline_case(
      "gpt3-175b", {{"machine", "dgx-a100"}, {"gpus", "64"}, {"tp", "8"}, {"pp", "8"}, {"recompute", "full"}}));
  cases.push_back(roofline_case("deepseek-v3", {{"gpus", "256"}, {"ep", "64"}, {"pp", "4"}, {"layout", "balanced"}}));
  cases.push_back(roofline_case("deepseek-v3", {{"gpus", "256"}, {"ep", "32"}, {"pp", "8"}, {"layout", "balanced"},
                                                   {"schedule", "dualpipe"}, {"global_batch", "512"}}));
  cases.push_back(
      roofline_case("llama3-8b", {{"gpus", "16"}, {"pp", "4"}, {"seq_splits", "4"}, {"schedule", "seq-1f1b"}}));
  return cases;
}

}  // namespace stepcast::roofline::testing_roofline
