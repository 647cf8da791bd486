// What the tests of --emit megatron share: a plan, its script, and the script as its reader takes it.
#pragma once

#include <string>

#include "calibrate/import/scripts/launch_arguments.h"
#include "tests/studies/launch/emit/emit_fixtures.h"

namespace stepcast::launch::emit_tests {

/// 64 GPUs: tp 4, pp 4, dp 4.
inline SplitWishes megatron_wishes() {
  SplitWishes w;
  w.gpus = 64;
  w.tp = w.pp = 4;
  w.global_batch = 64;
  w.sequence = 4096;
  return w;
}

inline Emission emitted(const Scenario& scenario, const Launch* like = nullptr) {
  auto plan = plan_to_emit(scenario);
  if (!plan) {
    ADD_FAILURE() << to_text(plan.error());
    return {};
  }
  plan->like = like;
  return emit_megatron(*plan);
}

inline Emission emitted(const std::string& network, const SplitWishes& wishes) {
  Scenario scenario = emit_scenario(network);
  if (!take_wishes(scenario, wishes)) ADD_FAILURE() << "no legal split";
  return emitted(scenario);
}

/// The script as its reader takes it.
inline LaunchLine launch_in(const Emission& emission) {
  const auto launches = find_launches(emission.text, "run.sh");
  if (!launches || launches->size() != 1) {
    ADD_FAILURE() << (launches ? "not one launch" : to_text(launches.error())) << "\n" << emission.text;
    return {};
  }
  return launches->front();
}

inline std::string said(const Emission& emission, const std::string& name) {
  const LaunchLine line = launch_in(emission);
  const auto found = line.arguments.find(name);
  return found == line.arguments.end() ? "" : found->second;
}

}  // namespace stepcast::launch::emit_tests
