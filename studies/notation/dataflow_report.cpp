#include "studies/notation/dataflow_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "dataflow/chip/resolve/resolve.h"
#include "studies/print/digits.h"
#include "studies/print/table.h"

namespace stepcast::notation {
namespace {

Expected<void> check_operator(const MappingProgram& program, const std::string& op) {
  std::vector<std::string> names;
  for (const WrittenOperator& written : program.operators) {
    if (written.name == op) return {};
    names.push_back(written.name);
  }
  return fail("--op", fmt::format("the program has no operator '{}'", op), name_hint(op, names));
}

/// A level line speaks of the operator. Without any level line every operator is meant, and the missing lines are an
/// error.
bool is_on_chip(const std::vector<Statement>& statements, const WrittenOperator& op) {
  bool lines = false;
  for (const Statement& statement : statements) {
    if (!std::holds_alternative<LevelStatement>(statement.body)) continue;
    lines = true;
    if (holds_for(statement.scope, op)) return true;
  }
  return !lines;
}

Expected<std::vector<std::string>> chosen_operators(const MappingProgram& program, const std::string& op) {
  TRY(const auto statements, expand(program));
  std::vector<std::string> names;
  for (const WrittenOperator& written : program.operators)
    if ((op.empty() || written.name == op) && is_on_chip(statements, written)) names.push_back(written.name);
  if (names.empty() && !op.empty() && program.meshes.empty())
    return fail("--op", fmt::format("operator '{}' is not on the chip: no level line holds for it", op),
        "add level lines for it");
  return names;
}

Expected<void> add_chips(const MappingProgram& program, const DataflowOptions& options, DataflowReport& report) {
  TRY(const auto names, chosen_operators(program, options.op));
  for (const std::string& name : names) {
    TRY(auto chip, chip_program(program, name));
    TRY(auto counted, chip_report(std::move(chip), options.windows));
    report.chips.push_back(std::move(counted));
  }
  report.one = report.chips.size() == 1;
  return {};
}

/// `items` writes the rows of all parts that the open object shows.
template <typename Items> void list_json(JsonWriter& json, std::string_view key, Items items) {
  json.open_list(key);
  items();
  json.close();
}

void lists_json(JsonWriter& json, const ChipReport* chip, const ClusterReport* cluster) {
  list_json(json, "stationary", [&] {
    if (chip != nullptr) chip_stationary_json(json, *chip);
    if (cluster != nullptr) cluster_stationary_json(json, *cluster);
  });
  list_json(json, "collectives", [&] {
    if (chip != nullptr) chip_collectives_json(json, *chip);
    if (cluster != nullptr) cluster_collectives_json(json, *cluster);
  });
  list_json(json, "placements", [&] {
    if (chip != nullptr) chip_placements_json(json, *chip);
    if (cluster != nullptr) cluster_placements_json(json, *cluster);
  });
}

}  // namespace

Expected<DataflowReport> dataflow_report(
    const MappingProgram& program, const DataflowOptions& options, const std::string& file) {
  const std::string& op = options.op;
  const bool chip = has_chip(program);
  if (program.meshes.empty() && !chip)
    return fail(file, "the program has neither a mesh nor an arch",
        "start with 'mesh x:4 y:4' for a cluster, 'arch dram { pe[16x16] }' for a chip");
  if (program.operators.empty())
    return fail(file, "no operator is written", "write one, such as 'O: O[m,n] += I[m,k] * W[k,n]'");
  if (!op.empty()) TRY(check_operator(program, op));
  DataflowReport report;
  report.notes = options.notes;
  if (chip) TRY(add_chips(program, options, report));
  if (!program.meshes.empty()) {
    TRY(auto cluster, cluster_report(program, op));
    report.cluster = std::move(cluster);
  }
  return report;
}

std::string dataflow_json(const DataflowReport& report) {
  JsonWriter json;
  json.open();
  const ChipReport* single = report.one ? &report.chips.front() : nullptr;
  const ClusterReport* cluster = report.cluster ? &*report.cluster : nullptr;
  if (single != nullptr) chip_head_json(json, *single);
  if (cluster != nullptr) cluster_fields_json(json, *cluster);
  if (single != nullptr || cluster != nullptr) lists_json(json, single, cluster);
  if (report.chips.size() > 1)
    list_json(json, "operators", [&] {
      for (const ChipReport& chip : report.chips) {
        json.open();
        chip_head_json(json, chip);
        lists_json(json, &chip, nullptr);
        json.close();
      }
    });
  if (!report.notes.empty()) json.field("notes", report.notes);
  json.close();
  return json.text();
}

std::string dataflow_text(const DataflowReport& report) {
  std::string text;
  for (const ChipReport& chip : report.chips) text += (text.empty() ? "" : "\n") + chip_text(chip);
  if (report.cluster) text += (text.empty() ? "" : "\n") + cluster_text(*report.cluster);
  for (const std::string& note : report.notes) text += paragraph(note, "note: ", "      ", page_columns);
  return text;
}

}  // namespace stepcast::notation
