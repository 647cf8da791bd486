// Views of a sweep's result for other programs. The ending of a file's name says which.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/output_file.h"
#include "studies/sweep/result/result.h"

namespace stepcast::sweep {

/// A column of the table of rows: an axis, or a figure in base units.
struct ExportColumn {
  std::string name;  ///< key of the axis or figure
  int axis = -1;     ///< number in SweepQuestion::axes; below 0: a figure
  Figure figure = Figure::step_time;
};
/// Axes, then figures. An axis of whole numbers says the same as the figure of its name, which then has no column;
/// beside an axis of words ("auto") that figure is called "figure_NAME".
std::vector<ExportColumn> export_columns(const SweepQuestion& question);

/// RFC 4180: columns list ("top", "pareto"), rank (from 1), index (in the space), then export_columns(). A figure that
/// is no finite number is empty.
std::string csv_table(const SweepResult& result);

/// A database of SQLite 3. Tables: question (name, value), tally (name, reason, value), rows (the columns of csv_table,
/// numbers as numbers, NULL for what is no finite number). Equal results give equal bytes. Errors: SQLite's own.
Expected<std::string> sqlite_database(const SweepResult& result);

/// Does a file hold the tables of sqlite_database()? It is opened for reading only.
bool is_sqlite_export(const std::string& name);

struct ExportKind {
  std::string_view ending;  ///< ".csv"
  std::string_view doc;     ///< "JSON Lines, the only kind that can be resumed and merged"
  Expected<std::string> (*text)(const SweepResult& result);
  /// is what stands there an earlier one of the kind? null: check_replaceable() says
  IsOwnFile own;
  bool binary = false;
  std::uint64_t usual_rows = 0;  ///< of the best where nobody says how many; 0: as many as the terminal shows
};
/// The first one is what names without an ending get.
std::span<const ExportKind> export_kinds();
/// Tells the kind by the name's ending, whatever its case. An unknown one is an error, with the list.
Expected<const ExportKind*> find_export(const std::string& name, const std::string& flag);
/// Is it the kind that ResultFile keeps?
bool is_resumable(const ExportKind& kind);

/// A file of any kind, opened before the work and written whole or not at all.
class ExportFile {
 public:
  /// Errors: an unknown ending; what OutputFile says; results that would not survive (check_replaceable).
  static Expected<ExportFile> open(const Arguments& arguments, const std::string& name, const std::string& flag);
  Expected<void> write(const SweepResult& result);

 private:
  ExportFile(const ExportKind& kind, OutputFile file) : kind_(&kind), file_(std::move(file)) {}
  const ExportKind* kind_;
  OutputFile file_;
};

}  // namespace stepcast::sweep
