// Writes a plan as the arguments or the file with which a framework runs it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/flags.h"
#include "studies/launch/read/launch.h"
#include "studies/run/scenario.h"
#include "studies/run/split/split.h"

namespace stepcast::launch {

/// A resolved run in the words of a split, so that nothing has to be read out of notation again.
struct EmitPlan {
  const Scenario* scenario = nullptr;
  Split split;
  std::vector<std::string> apart;  ///< statements behind those of the split, which no flag says
  const Launch* like = nullptr;    ///< the launch that it came from: what does not touch the step is written again
};
/// Error: a mapping of the user's own, which may do what no framework does.
Expected<EmitPlan> plan_to_emit(const Scenario& scenario);

struct Emission {
  /// script or file, with comments where the format has them, ending in a line's end
  std::string text;
  /// what the framework cannot express, each with what it does instead; "" = all is said
  std::vector<std::string> unsaid;
  /// of these, what leaves another network than the plan's, or an optimizer whose shards the framework refuses; plans
  /// that it refuses are rows of refused_plans.cpp
  std::vector<std::string> refused;
  /// flags that stand beside the file when it is read back, since its program, not the file, says them: "--gpus 64
  /// --micro-batch 2"; "" = the text has all
  std::string beside;
};

/// What --emit takes.
struct EmitTarget {
  std::string_view id;         ///< "megatron"
  std::string_view file;       ///< what the text is called by its users: "run.sh", "ds_config.json"
  std::string_view framework;  ///< id of the framework that reads it back
  std::string_view flag;       ///< and the flag that takes it: "--megatron"
  Emission (*emit)(const EmitPlan& plan);
};
std::span<const EmitTarget> emit_targets();
Expected<const EmitTarget*> find_emit_target(const std::string& id, const std::string& where);

/// The flag that takes one of them, and its row in a table of flags under that heading.
constexpr const char* emit_name = "--emit";
Flag emit_flag(std::string_view group);

// one file each
Emission emit_megatron(const EmitPlan& plan);
Emission emit_nemo(const EmitPlan& plan);
Emission emit_torchtitan(const EmitPlan& plan);
Emission emit_deepspeed(const EmitPlan& plan);
Emission emit_accelerate(const EmitPlan& plan);

}  // namespace stepcast::launch
