// Network + Plan + Stack -> Program: the one door between the notation and the simulator.
#pragma once

#include <string>
#include <vector>

#include "dataflow/notation/mapping.h"
#include "dataflow/program.h"
#include "model/base/error.h"
#include "model/network/network.h"
#include "model/plan.h"
#include "model/stack.h"

namespace stepcast::dataflow {

class BuiltNetworks;
struct ParsedPlan;

/// Everything that `--explain` shows about a mapping.
struct Explanation {
  struct Choice {
    std::string block, op, axis, loop, statement;
  };                     ///< which line won, per operator and axis
  std::string expanded;  ///< mapping with every alias written out
  std::vector<Choice> choices;
};

/// Errors: mesh product against gpus, extents that do not divide (with the legal sizes), unknown dims, axes, tensors,
/// tags. `reasons` fills Move::because, which costs time that sweeps need not spend.
Expected<Program> lower(const NetworkSpec& spec, const Plan& plan, const Stack& stack, bool reasons = false);
/// The same of a plan whose text was read before, for this stack (read_plan.h): plans that differ in their batch alone.
Expected<Program> lower(const NetworkSpec& spec, const Plan& plan, const Stack& stack, const ParsedPlan& read);
/// The same of a network that may have been built before.
Expected<Program> lower(const NetworkSpec& spec, const Plan& plan, const Stack& stack, BuiltNetworks& built);
/// The same without what a micro-batch does and holds (works, moves, items, buffers that do not stay) and without
/// notes, in a fraction of the time: what happens once per step, how blocks lie on stages, and what crosses between
/// those.
Expected<Program> lower_step(const NetworkSpec& spec, const Plan& plan, const Stack& stack, BuiltNetworks& built);
/// The same without what happens once per step, what stays for all of it, and notes: what a micro-batch does and holds.
/// Neither has names of works, moves and buffers, which no price asks for.
Expected<Program> lower_passes(const NetworkSpec& spec, const Plan& plan, const Stack& stack, BuiltNetworks& built);
Expected<Explanation> explain(const NetworkSpec& spec, const Plan& plan, const Stack& stack);

}  // namespace stepcast::dataflow
