// What a search is given: an architecture, what a partial mapping fixes, and what counts as better.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/chip/account/account.h"
#include "dataflow/chip/chip.h"

namespace stepcast::dataflow {

enum class SearchObjective : std::uint8_t {
  time,     ///< cycles with skew; equal ones by energy, then traffic
  energy,   ///< pJ; then cycles, then traffic
  traffic,  ///< bytes over the outermost boundary; then cycles, then energy
};

struct SearchOptions {
  SearchObjective objective = SearchObjective::energy;
  std::uint64_t seed = 1;
  int threads = 1;                             ///< the result does not depend on it
  Windows windows = Windows::exact;            ///< how sliding windows count
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

/// The operator, architecture and fixed parts of a program whose dims need not be fully mapped.
/// Errors: those of chip_program() about names, properties and the operator.
Expected<SearchProblem> search_problem(const MappingProgram& program, const std::string& op);

/// The figure that the objective ranks by.
double objective_of(const ChipScore& score, SearchObjective objective);

}  // namespace stepcast::dataflow
