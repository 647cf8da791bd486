#include "studies/notation/dataflow_translate.h"

#include <fmt/format.h>

#include "model/base/json_writer.h"

namespace stepcast::notation {
namespace {

std::string translation_json(
    const std::string& target, const Exported& exported, const std::vector<std::string>& notes) {
  JsonWriter json;
  json.open();
  json.fields("target", target, "text", exported.text);
  json.open_list("files");
  for (const SourceFile& file : exported.files) json.row("name", file.name, "text", file.text);
  json.close();
  json.field("notes", notes);
  json.close();
  return json.text();
}

/// Unknown targets name those that are written, not those that are only read.
Expected<void> check_target(const std::string& target) {
  std::vector<std::string> written;
  for (const ForeignFormat& row : foreign_formats()) {
    if (row.write == nullptr) continue;
    if (row.name == target) return {};
    written.push_back(row.name);
  }
  return fail("--translate", fmt::format("unknown target '{}'", target), name_hint(target, written));
}

}  // namespace

Expected<void> translate_program(const Imported& read, const Arguments& arguments, Console& console) {
  const std::string target = arguments.value("--translate");
  TRY(check_target(target));
  TRY(const auto exported, export_foreign(target, read.program, arguments.value("--op")));
  std::vector<std::string> notes = read.notes;
  notes.insert(notes.end(), exported.notes.begin(), exported.notes.end());
  if (arguments.has("--json")) {
    console.out << translation_json(target, exported, notes);
    return {};
  }
  console.out << exported.text;
  for (const std::string& note : notes) console.err << "note: " << note << '\n';
  return {};
}

}  // namespace stepcast::notation
