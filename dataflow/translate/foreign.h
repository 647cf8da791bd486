// Programs of other tools, read into the notation and written from it. A tool is a row of foreign_formats(); a command
// looks its row up by name and needs no branch for it.
// A reader makes a MappingProgram (arch, dims, operator, level lines), never counts: what it says is checked, counted
// and printed like any other program. What the notation cannot say is an error that names file, line and column; what
// has no bearing on the counts (energies, mapper options) is left out and named in the notes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dataflow/chip/chip.h"
#include "dataflow/chip/count/count.h"
#include "dataflow/notation/mapping.h"
#include "model/base/error.h"

namespace stepcast::dataflow {

struct SourceFile {
  std::string name, text;  ///< name: as the user gave it, for errors
};

struct Imported {
  MappingProgram program;
  std::vector<std::string> notes;    ///< what was left out or assumed, with its place
  Windows windows = Windows::exact;  ///< how the tool itself counts sliding windows
};

struct Exported {
  std::string text;                ///< all of it
  std::vector<std::string> notes;  ///< what the other tool has no word for and its figures will not show
  std::vector<SourceFile> files;   ///< the same apart, where the tool wants several files; a reader takes them back
};

struct ForeignFormat {
  std::string name;   ///< as --from and --translate take it
  std::string what;   ///< one line for help
  std::string files;  ///< the files a reader wants, "" = cannot be read
  Expected<Imported> (*read)(std::span<const SourceFile> files) = nullptr;
  /// Of operator `op` ("" = the only one). Error: what has no name there.
  Expected<Exported> (*write)(const MappingProgram& program, const std::string& op) = nullptr;
};

const std::vector<ForeignFormat>& foreign_formats();

/// By the row's reader. Errors: no such format (with the near names), one that is only written, too few or many files.
Expected<Imported> import_foreign(const std::string& format, std::span<const SourceFile> files);

/// By the row's writer. Errors: no such format, one that is only read, and what has no name there.
Expected<Exported> export_foreign(const std::string& format, const MappingProgram& program, const std::string& op);

// The chip tools. Timeloop: architecture, problem and mapping, in one YAML file or several, in any order.
Expected<Imported> from_timeloop(std::span<const SourceFile> files);
Expected<Exported> to_timeloop(const ChipProgram& chip);

// SCALE-Sim: config (INI), then topology (CSV of convolutions or of products). One operator per layer.
Expected<Imported> from_scalesim(std::span<const SourceFile> files);
Expected<Exported> to_scalesim(const ChipProgram& chip);

// MAESTRO: hardware, then mapping (Network { Layer { ... Dataflow { } } }). One operator per layer.
Expected<Imported> from_maestro(std::span<const SourceFile> files);
Expected<Exported> to_maestro(const ChipProgram& chip);

}  // namespace stepcast::dataflow
