#include "dataflow/chip/resolve/resolve.h"

#include <algorithm>

#include <fmt/format.h>

#include "dataflow/chip/resolve/legality.h"
#include "dataflow/notation/parser.h"

namespace stepcast::dataflow {
namespace {

/// By level: its first line, or where the arch names it.
std::vector<Position> places_of_levels(const MappingProgram& program, const std::vector<Statement>& statements) {
  std::vector<Position> places;
  for (const ArchLevel& level : program.archs.front().levels) {
    places.push_back(level.position);
    for (const Statement& statement : statements) {
      const auto* line = std::get_if<LevelStatement>(&statement.body);
      if (line == nullptr || line->level != level.name) continue;
      places.back() = statement.position;
      break;
    }
  }
  return places;
}

/// An axis or level of the arch that this name means, as a level line would write it, or "".
std::string arch_axis(const WrittenArch& arch, const std::string& name) {
  for (const ArchLevel& level : arch.levels)
    for (const ArchLevel::Axis& axis : level.axes)
      if (name == axis.name || name == level.name || name == level.name + "." + axis.name) return level.name;
  return {};
}

/// Without a mesh only level lines say anything about this program: what else stands in it would be dropped in silence.
Expected<void> check_bare_statement(const MappingProgram& program, const Statement& statement) {
  if (!program.meshes.empty() || std::holds_alternative<LevelStatement>(statement.body)) return {};
  const std::string text = print(statement), where = to_text(statement.position);
  const std::string outermost = program.archs.front().levels.front().name;
  if (const auto* par = std::get_if<ParStatement>(&statement.body))
    for (const std::string& axis : par->axes)
      if (const std::string level = arch_axis(program.archs.front(), axis); !level.empty())
        return fail(where, fmt::format("'{}' names {}, an axis of the arch, but no level", text, axis),
            fmt::format("write '{}: {}'", level, text));
  if (std::holds_alternative<ForStatement>(statement.body))
    return fail(where, fmt::format("'{}' stands at no level", text), fmt::format("write '{}: {}'", outermost, text));
  return fail(where, fmt::format("'{}' speaks of ranks, but the program has no mesh line", text),
      "add 'mesh AXIS:SIZE', or leave it out");
}

Expected<std::vector<Statement>> statements_of(const MappingProgram& program) {
  for (const auto& item : program.body)
    if (const auto* statement = std::get_if<Statement>(&item)) TRY(check_bare_statement(program, *statement));
  TRY(auto statements, expand(program));
  for (const Statement& statement : statements) TRY(check_bare_statement(program, statement));
  return statements;
}

}  // namespace

Expected<ChipProgram> chip_program(const MappingProgram& program, const std::string& op) {
  ChipProgram chip;
  TRY(resolve_arch(program, chip));
  TRY(auto statements, statements_of(program));
  TRY(resolve_operator(program, statements, op, chip));
  TRY(auto loops, resolve_lines(program, statements, chip));
  TRY(resolve_factors(program, std::move(loops), chip));

  const std::vector<Position> places = places_of_levels(program, statements);
  TRY(check_limits(chip, written_operator(program, chip.op).position));
  TRY(check_keeps(chip, places));
  TRY(check_capacity(chip, places));
  return chip;
}

bool has_chip(const MappingProgram& program) {
  const auto speaks_of_levels = [](const Statement& s) { return std::holds_alternative<LevelStatement>(s.body); };
  const auto in_body = [&](const auto& item) {
    const auto* statement = std::get_if<Statement>(&item);
    return statement != nullptr && speaks_of_levels(*statement);
  };
  return !program.archs.empty() || std::ranges::any_of(program.body, in_body) ||
         std::ranges::any_of(program.aliases,
             [&](const Alias& alias) { return std::ranges::any_of(alias.statements, speaks_of_levels); });
}

}  // namespace stepcast::dataflow
