// Plays a given order of forwards and input gradients, and puts weight gradients where the order leaves room.
#pragma once

#include "sim/schedule/search/greedy_board.h"

namespace stepcast::sim::greedy {

/// By rank. Units of a stage and kind in rising order; either all weight gradients are in it, or none.
using Sequences = std::vector<std::vector<Action>>;

struct PlayRule {
  bool fill = true;         ///< put weight gradients into gaps and where memory wants it; false: they are in the order
  double idle_allowed = 0;  ///< one that delays what comes next is put where the rank has idled more than this
};

/// Nothing if the order cannot run under the cap, or takes longer than `limit`.
std::optional<Layout> play(
    const Problem& problem, const Sequences& sequences, const PlayRule& rule, double limit = not_known);

/// The forwards and input gradients of a layout.
Sequences without_weights(const Layout& layout);

}  // namespace stepcast::sim::greedy
