// Lists the neighbours of a plan: its numbers doubled and halved, its switches turned, other schedules, one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "studies/run/request.h"
#include "studies/run/scenario.h"

namespace stepcast::whatif {

/// One neighbour: what becomes of which key of the request.
struct PlanStep {
  std::string to;  ///< "16", "interleaved-1f1b, 2 chunks"
  Request request;
};

struct PlanLever {
  /// the flag without its dashes, as --change takes it: "tp", "micro-batch"
  std::string id;
  std::string name, from;       ///< "tensor parallelism", "8"
  std::vector<PlanStep> steps;  ///< empty where `idle` says why
  std::string idle;
};

/// `request` with GPUs, batch and type said as the scenario has them and the profile chosen, so that a neighbour
/// differs from the run in what its lever says and in nothing that a default would follow.
Request pinned(Request request, const Scenario& scenario);

/// Neighbours of a pinned request. They may be illegal: resolve says so.
std::vector<PlanLever> plan_levers(const Request& request, const Scenario& scenario);

/// The value in force: said, assumed, or what the scenario holds.
std::string plan_value(const Request& request, const Scenario& scenario, FieldId id);

}  // namespace stepcast::whatif
