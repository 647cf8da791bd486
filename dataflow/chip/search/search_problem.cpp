// A program with free parts -> its architecture and operator, and what its level lines fix.
#include "dataflow/chip/search/search_problem.h"

#include "dataflow/chip/resolve/legality.h"
#include "dataflow/chip/resolve/resolve.h"

namespace stepcast::dataflow {
namespace {

/// Where each level is spoken of, and whether a list says what it keeps.
void read_levels(const MappingProgram& program, const std::vector<Statement>& statements, const WrittenOperator& op,
    SearchConstraints& constraints) {
  for (const ArchLevel& written : program.archs.front().levels) {
    SearchConstraints::Level level;
    level.position = written.position;
    bool spoken_of = false;
    for (const Statement& statement : statements) {
      const auto* line = std::get_if<LevelStatement>(&statement.body);
      if (line == nullptr || line->level != written.name || !holds_for(statement.scope, op)) continue;
      if (!spoken_of) level.position = statement.position;
      spoken_of = true;
      for (const auto& item : line->items) level.keeps = level.keeps || std::holds_alternative<Keep>(item);
    }
    constraints.levels.push_back(std::move(level));
  }
}

}  // namespace

Expected<SearchProblem> search_problem(const MappingProgram& program, const std::string& op) {
  TRY(auto statements, expand(program));
  SearchProblem problem;
  ChipProgram& chip = problem.start;
  TRY(resolve_arch(program, chip));
  TRY(resolve_operator(program, statements, op, chip));
  TRY(auto lines, resolve_lines(program, statements, chip));
  const WrittenOperator& written = written_operator(program, chip.op);
  TRY(check_limits(chip, written.position));
  read_levels(program, statements, written, problem.constraints);
  for (const LineLoop& loop : lines) {
    SearchConstraints::Level& level = problem.constraints.levels[loop.level];
    (loop.in_time() ? level.time : level.space)
        .push_back({loop.dim, loop.axis, loop.factor, loop.ragged, loop.text, loop.position});
  }
  return problem;
}

double objective_of(const ChipScore& score, SearchObjective objective) {
  return objective == SearchObjective::time     ? score.cycles
         : objective == SearchObjective::energy ? score.energy_pj
                                                : score.traffic_bytes;
}

}  // namespace stepcast::dataflow
