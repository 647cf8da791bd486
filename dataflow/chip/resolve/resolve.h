// The steps of chip_program(), in order: architecture, operator, level lines, factors; legality.h has what comes after.
// Each fills its part of a ChipProgram or says what is wrong, where, and what is legal.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dataflow/chip/chip.h"
#include "dataflow/chip/resolve/numbers.h"

namespace stepcast::dataflow {

/// One `par` or `for` of a level line. Loops of one operator stand in text order.
struct LineLoop {
  int dim = -1;
  int level = -1;           ///< space: the level that owns the axis; time: the level of the line
  int axis = -1;            ///< -1 = time
  std::int64_t factor = 0;  ///< 0 = to be found
  bool ragged = false;
  std::string line;  ///< name of the level whose line it stands in
  std::string text;  ///< "for k:3", as errors show it
  Position position;
  [[nodiscard]] bool in_time() const { return axis < 0; }
};

/// Levels with axes, fabric and properties; clock and rate of the multiply-adds.
/// Errors: no arch or two; a level name or property twice; a unit that needs a clock; two clocks.
Expected<void> resolve_arch(const MappingProgram& program, ChipProgram& chip);

/// Name, dims with their extents on one rank, tensors. Errors: no such operator; a loop without extent; an operator
/// without a plain nest of loops.
Expected<void> resolve_operator(
    const MappingProgram& program, const std::vector<Statement>& statements, const std::string& op, ChipProgram& chip);

/// The axis that owns the split of a `par` in the line of `level`, as (level, index). x, y, z are those of the line's
/// own level if it has units, else of the nearest inside; other names may belong to any level, level.axis to exactly
/// one. Errors: unknown or ambiguous, with what there is.
Expected<std::pair<int, int>> find_axis(
    const MappingProgram& program, const ChipProgram& chip, int level, const ChipPar& par, const Position& position);

/// What the level lines say about this operator: its loops, and which level keeps what (into chip.levels).
/// Errors: unknown level, dim, axis, tensor or tag; two keep lists on one level.
Expected<std::vector<LineLoop>> resolve_lines(
    const MappingProgram& program, const std::vector<Statement>& statements, ChipProgram& chip);

/// Missing factors found, all checked against units and extents, then laid into the levels' space and time.
Expected<void> resolve_factors(const MappingProgram& program, std::vector<LineLoop> loops, ChipProgram& chip);

/// "par k:16? on x", as errors show it.
std::string spelled(const ChipPar& par);

/// The written operator that chip.op names.
const WrittenOperator& written_operator(const MappingProgram& program, const std::string& op);

/// An `at` scope holds for the operator.
bool holds_for(const std::vector<std::string>& scope, const WrittenOperator& op);

}  // namespace stepcast::dataflow
