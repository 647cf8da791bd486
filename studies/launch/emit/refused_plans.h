// Plans that a framework refuses to train, and the flags of the nearest plan that it takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "studies/launch/emit/emit.h"

namespace stepcast::launch {

struct RefusedPlan {
  std::string_view what;     ///< "experts beside tp without sequence parallelism"
  std::string_view instead;  ///< flags over the plan's own: "--sp on"
  std::string_view why;      ///< "Megatron-LM refuses to train so"
};

/// Those of the rows that hold of the plan; empty where the framework takes it.
std::vector<RefusedPlan> refused_plans(std::string_view target, const EmitPlan& plan);
/// The same as sentences beside a launch that --lenient writes all the same.
void add_refusals(std::vector<std::string>& unsaid, std::string_view target, const EmitPlan& plan);

}  // namespace stepcast::launch
