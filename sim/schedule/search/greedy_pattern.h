// Orders that repeat: one unit's way through the stages, laid out so that shifted copies of it, one every `period`,
// never want a rank at once. The way of Pipeline Parallelism with Controllable Memory (Qi et al., arXiv 2405.15362),
// where the time from a forward to its weight gradient, over the period, is what a rank holds; here with any times,
// not slots.
#pragma once

#include "sim/schedule/search/greedy_play.h"

namespace stepcast::sim::greedy {

struct Pattern {
  double period = 0;
  std::vector<double> start[4];  ///< by ActionKind and virtual stage, of unit 0
  std::vector<int> peak;         ///< by rank: most activations that it holds when many units run
  double life = 0;               ///< of a unit's activations, summed over stages
};

struct PatternRule {
  double period = 0;
  std::vector<double> wait;  ///< before each step of a unit's way, ahead through all stages and back; may be 0
};

/// Each action at the first moment at which it fits; nothing if the period has no room.
std::optional<Pattern> lay_pattern(const Problem& problem, const PatternRule& rule);

/// All units' actions in the pattern's order; the weight gradients only if asked for.
Sequences unroll(const Problem& problem, const Pattern& pattern, bool with_weights);

}  // namespace stepcast::sim::greedy
