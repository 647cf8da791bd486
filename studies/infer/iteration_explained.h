// --explain: how an iteration is split, by which line of its mapping, and why anything moves.
#pragma once

#include <string>
#include <vector>

#include "dataflow/lower/lower.h"
#include "studies/cli/console.h"
#include "studies/infer/serving.h"

namespace stepcast::infer {

struct ExplainedIteration {
  struct Move {
    std::string block, label, axis, because;
    std::int64_t ranks = 1;
  };
  dataflow::Explanation mapping;
  std::vector<Move> moves;  ///< in the order of the iteration, blocks that repeat once
  /// of prompts, where the phase has words and prompts and they are split in two ways; else empty
  std::vector<ExplainedIteration> prompts;
};

Expected<ExplainedIteration> explain_iteration(const Serving& serving, const std::string& phase);

std::string explained_text(const ExplainedIteration& explained, const Console& console);
std::string explained_json(const ExplainedIteration& explained);

}  // namespace stepcast::infer
