// The mapper: the best way to run an operator on an architecture, among all that a partial mapping leaves open.
// What the level lines of a program say is fixed: a `for` or `par` with a number fixes that factor, the order of stated
// loops stays, a keep list fixes what its level keeps, `par d on a` gives the axis to that loop. The rest is free.
// Exhaustive with pruning (branch and bound from the outermost level inwards) where the space allows it, else bounded:
// annealing from several starts, with the distance to a proven lower bound.
#pragma once

#include <cstdint>
#include <string>

#include "dataflow/chip/search/search_problem.h"

namespace stepcast::dataflow {

struct SearchResult {
  ChipProgram best;
  ChipScore score;
  double space = 0;            ///< factorisations x loop orders x keep lists, legal or not
  std::int64_t evaluated = 0;  ///< whole mappings counted and scored
  std::int64_t pruned = 0;     ///< parts of the space cut off by a bound, a capacity or the units
  double lower_bound = 0;      ///< no legal mapping of whole tiles has less of the objective
  double gap = 0;              ///< best / lower_bound - 1
  bool complete = false;       ///< the whole space is covered: lower_bound is the best
  std::string note;            ///< what was left out, or why tiles are ragged
};

/// Errors: a constraint that no mapping can meet (which one, the nearest legal value); tiles that fit nowhere.
Expected<SearchResult> search(
    const ChipProgram& start, const SearchConstraints& constraints, const SearchOptions& options);

}  // namespace stepcast::dataflow
