// Collectives joined for reading: a step has dozens of moves, a page has room for the few kinds that matter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/step.h"

namespace stepcast::run {

/// All moves of one kind on one axis and span.
struct CollectiveSum {
  std::string kind, axis, span;
  std::int64_t group_size = 1;
  double count = 0;  ///< calls per step
  Bytes received;    ///< per rank and step
  Seconds time, exposed;
  Source source = Source::assumed;  ///< the weakest of its members
};

/// Of a GPU of the slowest stage; longest first. What other stages alone do (embedding, head and loss) is left out.
std::vector<CollectiveSum> joined_collectives(const StepReport& step);

}  // namespace stepcast::run
