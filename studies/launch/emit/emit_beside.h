// Files that say how a network runs, but not which one: what stands beside them when they are read back, and what both
// of their writers ask of a plan.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "studies/launch/emit/emit.h"

namespace stepcast::launch {

/// "--seq 4096" where it is not the network's own, else "".
std::string seq_beside(const EmitPlan& plan);
/// "stepcast predict llama3-8b --deepspeed ds_config.json --gpus 64 --machine dgx-h100 --stack deepspeed-zero".
std::string read_back_line(
    const EmitPlan& plan, std::string_view flag, std::string_view file, const std::string& beside);

/// Is there a pipeline with another schedule than 1f1b with one run of layers per stage?
bool needs_schedule(const Split& split);
/// The mesh order, where its axes of more than one rank do not lie as usual_order has them; "" where they do.
std::string order_gap(const Split& split);
/// Layers of full recomputation in words: "recomputation of 3 layers of each stage".
std::string recompute_in_words(const Recompute& recompute);
/// The catalogue's row of the plan's stack, as it is without switches; null for a stack of the user's own.
const Stack* habit_of(const EmitPlan& plan);
/// What crosses between stages, and whether later work waits for it, where that is not the stack's habit: no file here
/// says it.
std::string boundary_gap(const EmitPlan& plan);
/// Adapters and number types that the settings of neither program name; what is trained instead.
std::vector<std::string> beside_unsaid(const EmitPlan& plan, std::string_view name);

}  // namespace stepcast::launch
