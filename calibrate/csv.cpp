#include "calibrate/csv.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace stepcast {
namespace {

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) fields.emplace_back();
    else if (c != '\r') fields.back() += c;
  }
  return fields;
}

}  // namespace

Expected<CsvTable> CsvTable::parse(std::string_view text, std::string where) {
  CsvTable table;
  table.where_ = std::move(where);
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (line.empty() || line == "\r") continue;
    std::vector<std::string> fields = split(line);
    if (table.columns_.empty()) {
      table.columns_ = std::move(fields);
    } else if (fields.size() != table.columns_.size()) {
      return fail(fmt::format("{}:{}", table.where_, line_number), fmt::format("{} fields", fields.size()),
                  fmt::format("the header has {}", table.columns_.size()));
    } else {
      table.rows_.push_back({std::move(fields), line_number});
    }
  }
  if (table.columns_.empty()) return fail(table.where_, "empty table", "a header line with column names");
  return table;
}

Expected<std::size_t> CsvTable::column(const std::string& name) const {
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i] == name) return i;
  return fail(where_, fmt::format("no column '{}'", name), name_hint(name, columns_));
}

Expected<double> CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string& field = rows_[row].fields[column];
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error == std::errc() && end == field.data() + field.size() && std::isfinite(value)) return value;
  return fail(where(row), fmt::format("'{}' in column '{}'", field, columns_[column]), "a number");
}

std::string CsvTable::where(std::size_t row) const { return fmt::format("{}:{}", where_, rows_[row].line); }

}  // namespace stepcast
