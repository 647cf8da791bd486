// The mapper: the best way to run an operator on an architecture, among all that a partial mapping leaves open.
// What the level lines of a program say is fixed: a `for` or `par` with a number fixes that factor, the order of stated
// loops stays, a keep list fixes what its level keeps, `par d on a` gives the axis to that loop. The rest is free.
// Exhaustive with pruning (branch and bound from the outermost level inwards) where the space allows it, else bounded:
// annealing from several starts, with the distance to a proven lower bound.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/chip/account/account.h"
#include "dataflow/chip/chip.h"

namespace stepcast {

enum class SearchObjective : std::uint8_t {
  time,     ///< cycles with skew; equal ones by energy, then traffic
  energy,   ///< pJ; then cycles, then traffic
  traffic,  ///< bytes over the outermost boundary; then cycles, then energy
};

struct SearchOptions {
  SearchObjective objective = SearchObjective::energy;
  std::uint64_t seed = 1;
  int threads = 1;                             ///< the result does not depend on it
  Windows windows = Windows::exact;    ///< how sliding windows count
  std::int64_t most_evaluations = 30'000'000;  ///< whole and partial mappings looked at
};

/// What a partial mapping fixes, by level of the ChipProgram.
struct SearchConstraints {
  struct Loop {
    int dim = -1, axis = -1;  ///< axis -1: time
    std::int64_t trips = 0;   ///< 0: free, only its place is fixed
    bool ragged = false;
    std::string text;  ///< "for k:3", for errors
    Position position;
  };
  struct Level {
    std::vector<Loop> time, space;  ///< outer to inner, as stated
    bool keeps = false;             ///< the level's `keeps` stand; else free where it stores
    Position position;              ///< of its first line, else of the level in the arch
  };
  std::vector<Level> levels;
};

struct SearchProblem {
  ChipProgram start;  ///< dims, tensors, levels; loops are not read
  SearchConstraints constraints;
};

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

/// The operator, architecture and fixed parts of a program whose dims need not be fully mapped.
/// Errors: those of chip_program() about names, properties and the operator.
Expected<SearchProblem> search_problem(const MappingProgram& program, const std::string& op);

/// Errors: a constraint that no mapping can meet (which one, the nearest legal value); tiles that fit nowhere.
Expected<SearchResult> search(const ChipProgram& start, const SearchConstraints& constraints,
                              const SearchOptions& options);

/// The figure that the objective ranks by.
double objective_of(const ChipScore& score, SearchObjective objective);

}  // namespace stepcast
