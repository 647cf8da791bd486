// What a user should know of the split that his words made: which of it nobody said, and what was asked for and does
// nothing here.
#pragma once

#include <vector>

#include "model/stack.h"
#include "studies/run/request.h"

namespace stepcast::run {

struct SaidSplit {
  std::vector<Assumption> assumptions;
  std::vector<Remark> remarks;
};

/// `wishes`: those of the request, before GPUs and batch are known. `split`: what they make, not checked yet.
SaidSplit said_of_split(const Request& request, const SplitWishes& wishes, const Split& split,
    const NetworkSpec& network, const Stack& stack);

/// What was asked for and does nothing in this split, whose GPUs are known. A flag was typed for this run, so it is
/// told above the figures; files and launches say many things that hold for other sizes.
std::vector<Remark> idle_in_split(const Request& request, const Split& split, const NetworkSpec& network);

}  // namespace stepcast::run
