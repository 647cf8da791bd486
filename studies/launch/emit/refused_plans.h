// Plans that a framework refuses to train, and the flags of the nearest plan that it takes.
#pragma once

#include <string_view>
#include <vector>

#include "studies/launch/emit/emit.h"

namespace stepcast::launch {

struct RefusedPlan {
  std::string_view what;     ///< "experts beside tp without sequence parallelism"
  std::string_view instead;  ///< flags over the plan's own: "--sp on"
};

/// Those of the rows that hold of the plan; empty where the framework takes it.
std::vector<RefusedPlan> refused_plans(const EmitTarget& target, const EmitPlan& plan);

}  // namespace stepcast::launch
