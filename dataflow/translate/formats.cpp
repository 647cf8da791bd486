// The table of other tools' formats.
#include <algorithm>

#include <fmt/format.h>

#include "dataflow/translate/cluster/cluster_formats.h"
#include "dataflow/translate/foreign.h"

namespace stepcast::dataflow {
namespace {

/// Writers of chip mappings start from the resolved operator.
template <Expected<Exported> (*Write)(const ChipProgram&)>
Expected<Exported> write_chip(const MappingProgram& program, const std::string& op) {
  TRY(const ChipProgram chip, chip_program(program, op));
  return Write(chip);
}

Expected<const ForeignFormat*> format_row(const std::string& name) {
  std::vector<std::string> names;
  for (const ForeignFormat& row : foreign_formats()) {
    if (row.name == name) return &row;
    names.push_back(row.name);
  }
  return fail("format", fmt::format("unknown format '{}'", name), name_hint(name, names));
}

}  // namespace

const std::vector<ForeignFormat>& foreign_formats() {
  static const std::vector<ForeignFormat> rows = [] {
    std::vector<ForeignFormat> all{
        {"timeloop", "Timeloop v3: architecture, problem and mapping",
            "ARCHITECTURE PROBLEM MAPPING (YAML, one file or several)", from_timeloop, write_chip<to_timeloop>},
        {"scalesim", "SCALE-Sim: a systolic array and its layers", "CONFIG TOPOLOGY", from_scalesim,
            write_chip<to_scalesim>},
        {"maestro", "MAESTRO: data-centric directives", "HARDWARE MAPPING", from_maestro, write_chip<to_maestro>},
    };
    for (ForeignFormat& row : cluster_formats()) all.push_back(std::move(row));
    return all;
  }();
  return rows;
}

Expected<Imported> import_foreign(const std::string& format, std::span<const SourceFile> files) {
  TRY(const auto row, format_row(format));
  if (row->read == nullptr) return fail("format", fmt::format("{} is only written", format), "use --translate");
  if (files.empty()) return fail("format", fmt::format("no files of {}", format), row->files);
  return row->read(files);
}

Expected<Exported> export_foreign(const std::string& format, const MappingProgram& program, const std::string& op) {
  TRY(const auto row, format_row(format));
  if (row->write == nullptr) return fail("format", fmt::format("{} is only read", format), "use --from");
  return row->write(program, op);
}

}  // namespace stepcast::dataflow
