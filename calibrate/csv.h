// Comma-separated tables with a header line, read strictly: a missing column, a short row or a bad number is an error
// that names the file and line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace stepcast {

class CsvTable {
 public:
  /// Fields may stand in double quotes. Every row has as many fields as the header.
  static Expected<CsvTable> parse(std::string_view text, std::string where);

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  /// Fails with the nearest column name when there is none of this name.
  [[nodiscard]] Expected<std::size_t> column(const std::string& name) const;
  [[nodiscard]] const std::string& text(std::size_t row, std::size_t column) const { return rows_[row].fields[column]; }
  /// A finite number; fails on anything else, the empty field too.
  [[nodiscard]] Expected<double> number(std::size_t row, std::size_t column) const;
  /// "table.csv:17".
  [[nodiscard]] std::string where(std::size_t row) const;

 private:
  struct Row { std::vector<std::string> fields; std::size_t line = 0; };
  std::string where_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

/// The values of several columns by name, row by row; fails on the first bad one. `keep(row)` says which rows count.
template <typename Keep, typename Take>
Expected<void> for_each_row(const CsvTable& table, const std::vector<std::string>& names, Keep keep, Take take) {
  std::vector<std::size_t> at;
  for (const std::string& name : names) {
    const auto column = table.column(name);
    if (!column) return tl::unexpected<Error>(column.error());
    at.push_back(*column);
  }
  std::vector<double> values(names.size());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!keep(row)) continue;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto value = table.number(row, at[i]);
      if (!value) return tl::unexpected<Error>(value.error());
      values[i] = *value;
    }
    take(row, values);
  }
  return {};
}

}  // namespace stepcast
