// Turns a table into measurements, one row after the other. It keeps the first mistake with its line and counts what is
// left out by its reason. Exports of other projects and our own words both read through this.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/delimited.h"
#include "calibrate/import/importer.h"
#include "calibrate/rows/measurement.h"
#include "calibrate/import/tables/plain_words.h"

namespace stepcast::calibrate {

/// Seconds in the units that tables give times in.
inline constexpr double microsecond = 1e-6, millisecond = 1e-3;

class TableImport {
 public:
  TableImport(const DelimitedTable& table, const ImportOptions& options);

  /// Goes to the next row that options.only keeps; false after the last one and after a mistake.
  bool next();

  // Of the row. Columns are named without regard to case.
  [[nodiscard]] bool has_column(std::string_view column) const { return table_.find(column).has_value(); }
  /// Whether the column is there and holds something.
  [[nodiscard]] bool has(std::string_view column) const;
  [[nodiscard]] std::string_view text(std::string_view column) const;
  double number(std::string_view column);
  /// A whole number from `least`.
  double count(std::string_view column, double least = 1);
  /// Above zero; nothing where the field is empty, which is counted.
  std::optional<Seconds> time(std::string_view column, double seconds_per_unit);
  /// options.only of a layout that has the name in its header instead of a column.
  [[nodiscard]] bool wants(const std::string& column, std::string_view value) const;
  /// Takes the row's word, else options.precision, else the file's name; nothing leaves the row out, with its reason.
  std::optional<ElementType> element(std::string_view column);

  /// One measurement of this row. Without a GPU in its context or the options the row is left out.
  void add(const Query& what, Seconds time, const MeasurementContext& context, double power_w = 0);
  void add(Measurement measurement, const MeasurementContext& context);
  void leave_out(const std::string& reason) { ++left_out_[reason]; }
  void note(std::string text);
  void refuse(std::string what, std::string hint);
  void refuse(Error error);

  [[nodiscard]] const DelimitedTable& table() const { return table_; }
  [[nodiscard]] const ImportOptions& options() const { return options_; }
  [[nodiscard]] std::size_t row() const { return row_; }
  [[nodiscard]] std::string where() const { return table_.where(row_); }
  [[nodiscard]] bool failed() const { return error_.has_value(); }

  /// Fails when nothing came of the table, and says why.
  Expected<Measurements> finish();

  /// Columns that a layout finds in the header, which options.only may name besides those of the table.
  std::vector<std::string> header_names;

 private:
  bool check_only();
  bool kept(std::size_t row) const;
  int index_of(const MeasurementContext& raw);
  std::string left_out_text() const;

  const DelimitedTable& table_;
  const ImportOptions& options_;
  std::vector<std::pair<std::size_t, std::string>> only_;  ///< column and value
  std::map<std::string, std::string> only_in_header_;
  std::size_t row_ = 0, next_row_ = 0, kept_rows_ = 0;
  Measurements out_;
  std::vector<std::pair<MeasurementContext, int>> contexts_;  ///< as the row gave it -> index; -1: without a GPU
  std::map<std::string, std::size_t> left_out_;
  struct Doubt {
    std::size_t rows = 0;
    std::string first;
  };
  std::map<std::string, Doubt> doubts_;  ///< rows that no machine could have measured, by reason
  std::optional<Error> error_;
};

}  // namespace stepcast::calibrate
