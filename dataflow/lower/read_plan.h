// A plan's text as statements, with what the software implies, and its batch in micro-batches.
#pragma once

#include <cstdint>
#include <vector>

#include "dataflow/notation/mapping.h"
#include "model/network/network.h"
#include "model/plan.h"
#include "model/stack.h"

namespace stepcast::dataflow {

struct ParsedPlan {
  MappingProgram program;
  std::vector<Statement> statements;  ///< aliases expanded
};

/// Errors: the text's own, and a mapping without a mesh line.
Expected<ParsedPlan> read_plan(const Plan& plan);

/// With what the software implies, which comes after the plan's own lines, so that those win; lines on axes that this
/// mesh lacks say nothing.
Expected<ParsedPlan> read_plan(const Plan& plan, const Stack& stack);

struct PlanBatch {
  std::int64_t sequence, sequences_per_micro_batch, micro_batches;
};

/// `stated`: micro-batches that the stage statement names, 0 = none. Errors: a batch that does not divide, or
/// disagrees.
Expected<PlanBatch> batch_of(const NetworkSpec& spec, const Plan& plan, const ParsedPlan& parsed, std::int64_t stated);

/// How many ranks split the batch under this mapping, so that micro-batches = global / (micro * this).
Expected<std::int64_t> batch_ranks(const Plan& plan);

}  // namespace stepcast::dataflow
