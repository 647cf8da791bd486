#include "calibrate/import/delimited.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::calibrate {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
/// The widest export known has twenty; looking columns up takes time with the square of their number.
constexpr std::size_t most_columns = 512;

/// The fields of a line; nothing where a quote does not close.
std::optional<std::vector<std::string>> delimited_fields(std::string_view line, char delimiter) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') fields.back() += line[i++];
    else if (c == '"') quoted = !quoted;
    else if (c == delimiter && !quoted) fields.emplace_back();
    else fields.back() += c;
  }
  if (quoted) return std::nullopt;
  for (std::string& field : fields) field = std::string(stripped(field));
  return fields;
}

char delimiter_of(std::string_view header) {
  constexpr std::array candidates{',', ';', '\t'};
  std::array<std::size_t, candidates.size()> found{};
  bool quoted = false;
  for (const char c : header) {
    if (c == '"') quoted = !quoted;
    for (std::size_t i = 0; i < candidates.size(); ++i) found[i] += !quoted && c == candidates[i] ? 1 : 0;
  }
  return candidates[static_cast<std::size_t>(std::max_element(found.begin(), found.end()) - found.begin())];
}

bool holds_control_bytes(std::string_view line) {
  return std::any_of(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t'; });
}

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 60)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return out;
}

}  // namespace

Expected<double> finite_number(std::string_view text, const std::string& where, const std::string& what) {
  if (const auto value = parsed_number<double>(text); value && std::isfinite(*value)) return *value;
  const bool comma = text.find(',') != std::string_view::npos;
  return fail(where, fmt::format("'{}' in {}", shown(text), what),
      comma ? "a number with a decimal point and no separators" : "a number");
}

Expected<void> DelimitedTable::take_header(std::vector<std::string> fields, std::size_t line) {
  if (fields.size() < 2)
    return fail(fmt::format("{}:{}", where_, line), fmt::format("'{}' is one column", shown(fields.front())),
        "a header line with the names of the columns between commas, semicolons or tabs");
  if (fields.size() > most_columns)
    return fail(fmt::format("{}:{}", where_, line), fmt::format("{} columns", fields.size()),
        fmt::format("at most {}", most_columns));
  if (!fields.front().empty() && finite_number(fields.front(), "", ""))
    return fail(fmt::format("{}:{}", where_, line), "numbers where the names of the columns are expected",
        "a header line such as m,n,k,dtype,time_us");
  columns_ = std::move(fields);
  header_line_ = line;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (find(columns_[i]) != i)
      return fail(fmt::format("{}:{}", where_, line), fmt::format("column '{}' stands twice", shown(columns_[i])),
          "one column of each name, whatever its case");
  return {};
}

Expected<void> DelimitedTable::take_row(std::vector<std::string> fields, std::size_t line) {
  if (fields.size() != columns_.size())
    return fail(fmt::format("{}:{}", where_, line), fmt::format("{} fields", fields.size()),
        fields.size() < columns_.size()
            ? fmt::format("the header has {}: a row that was cut off?", columns_.size())
            : fmt::format(
                  "the header has {}: decimal commas, or text with a delimiter outside quotes?", columns_.size()));
  rows_.push_back({std::move(fields), line});
  return {};
}

Expected<DelimitedTable> DelimitedTable::parse(std::string_view text, std::string where, std::size_t first_line) {
  DelimitedTable table;
  table.where_ = std::move(where);
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  for (std::size_t number = first_line; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (stripped(line).empty() || line.front() == '#') continue;
    const std::string at = fmt::format("{}:{}", table.where_, number);
    if (holds_control_bytes(line)) return fail(at, "bytes that are no text", "a table as UTF-8 text");
    if (table.columns_.empty()) table.delimiter_ = delimiter_of(line);
    auto fields = delimited_fields(line, table.delimiter_);
    if (!fields) return fail(at, "a double quote that does not close on its line", "\"text\"");
    const bool header = table.columns_.empty();
    TRY(header ? table.take_header(std::move(*fields), number) : table.take_row(std::move(*fields), number));
  }
  if (table.columns_.empty()) return fail(table.where_, "empty table", "a header line with the names of the columns");
  return table;
}

std::optional<std::size_t> DelimitedTable::find(std::string_view name) const {
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (lower_case(columns_[i]) == lower_case(name)) return i;
  return std::nullopt;
}

Expected<double> DelimitedTable::number(std::size_t row, std::size_t column) const {
  return finite_number(text(row, column), where(row), fmt::format("column '{}'", columns_[column]));
}

std::string DelimitedTable::where(std::size_t row) const { return fmt::format("{}:{}", where_, rows_[row].line); }

std::string DelimitedTable::header_where() const { return fmt::format("{}:{}", where_, header_line_); }

}  // namespace stepcast::calibrate
