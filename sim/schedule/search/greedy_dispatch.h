// Greedy over time: whichever rank can start a forward or an input gradient soonest does so; weight gradients go into
// the gaps. Works for any placement and any cap that lets a unit pass.
#pragma once

#include "sim/schedule/search/greedy_board.h"

namespace stepcast::sim::greedy {

struct DispatchRule {
  /// Per virtual stage: units whose forward is done and input gradient is not, at most.
  std::vector<int> in_flight;
  /// A forward gives way to an input gradient that can start this much later.
  double patience = 0;
  /// A weight gradient that delays what comes next is put where the rank has idled more than this.
  double idle_allowed = 0;
  /// Unit u enters the first stage no earlier than u times this.
  double pace = 0;
  bool far_first = true;  ///< of forwards that can start at once, the later stage
};

/// Nothing where the cap stops the pipeline, or once the time passes `limit`.
std::optional<Layout> dispatch(const Problem& problem, const DispatchRule& rule, double limit = not_known);

/// In-flight limits that share a rank's cap among its stages by how long each must hold a unit; `squeeze` scales them.
std::vector<int> shared_limits(const Problem& problem, double squeeze);

}  // namespace stepcast::sim::greedy
