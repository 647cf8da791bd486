// Requests for plans, and what tests ask of a plan.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "calibrate/measure/plan/plan.h"
#include "model/catalog.h"

namespace stepcast::calibrate {

inline PlanRequest plan_request(const std::string& gpu = "h100-sxm", double seconds = 180) {
  PlanRequest request;
  request.gpu = **find_row(built_in().gpus, gpu, "gpu");
  request.capability_major = request.gpu.peak[static_cast<int>(Precision::bf16)].value() > 0 ? 9 : 7;
  request.budget = Seconds(seconds);
  return request;
}

/// GPT-3 175B's MLP at tp 8 forward and backward, its attention, a norm.
inline std::vector<Query> own_queries(Precision precision = Precision::bf16) {
  return {GemmQuery{.m = 2048, .n = 6144, .k = 12288, .precision = precision},
      GemmQuery{.m = 2048, .n = 12288, .k = 6144, .precision = precision, .layout = GemmLayout::nn},
      GemmQuery{.m = 6144, .n = 12288, .k = 2048, .precision = precision, .layout = GemmLayout::nt},
      AttentionQuery{.batch = 1, .queries = 2048, .keys = 2048, .heads = 12, .kv_heads = 12, .precision = precision},
      MemoryQuery{find_memory_op("norm"), 256, 12288, 2}};
}

inline std::string id_of(const PlannedWork& work) {
  return std::string(measure_phases()[static_cast<std::size_t>(work.phase)].id);
}

inline std::map<std::string, int> counts_of(const MeasurePlan& plan) {
  std::map<std::string, int> out;
  for (const PlannedWork& work : plan.works) ++out[id_of(work)];
  return out;
}

inline std::vector<std::string> names_of(const MeasurePlan& plan) {
  std::vector<std::string> out;
  for (const PlannedWork& work : plan.works) out.push_back(id_of(work) + ": " + to_text(work.works.front()));
  return out;
}

inline MeasurePlan made(const PlanRequest& request) {
  auto plan = make_plan(request);
  if (!plan) {
    ADD_FAILURE() << request.gpu.id << ": " << to_text(plan.error());
    return {};
  }
  return std::move(*plan);
}

}  // namespace stepcast::calibrate
