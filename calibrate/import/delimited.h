// Reads tables as text: a header line, then rows of fields between commas, semicolons or tabs. Reading is strict: a
// short row, a column that stands twice and bytes that are no text are errors with file and line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"

namespace stepcast::calibrate {

class DelimitedTable {
 public:
  /// Fields may stand in double quotes ("" inside is one quote) and are stripped of blanks around them. Lines that are
  /// empty or begin with # are passed over, and so are a byte order mark and carriage returns. The delimiter is the one
  /// that the header holds most of. The header is the first line of `text`, whose number in the file is `first_line`.
  static Expected<DelimitedTable> parse(std::string_view text, std::string where, std::size_t first_line = 1);

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  /// Finds a column by name, whatever its case.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::size_t row, std::size_t column) const { return rows_[row].fields[column]; }
  /// A finite number; fails on anything else, the empty field too.
  [[nodiscard]] Expected<double> number(std::size_t row, std::size_t column) const;
  /// The file, and with its line: "table.csv:17".
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] std::string where(std::size_t row) const;
  [[nodiscard]] std::string header_where() const;

 private:
  struct Row {
    std::vector<std::string> fields;
    std::size_t line = 0;
  };
  Expected<void> take_header(std::vector<std::string> fields, std::size_t line);
  Expected<void> take_row(std::vector<std::string> fields, std::size_t line);

  std::string where_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
  std::size_t header_line_ = 0;
  char delimiter_ = ',';
};

/// A finite number from the whole text; `where` and `what` ("column 'm'") go into the error.
Expected<double> finite_number(std::string_view text, const std::string& where, const std::string& what);

}  // namespace stepcast::calibrate
