#include "studies/print/csv.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace stepcast::print {
namespace {

using Json = nlohmann::ordered_json;
using CsvRow = std::vector<std::pair<std::string, std::string>>;  ///< column and text

std::string csv_quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + '"';
}

bool is_list_of_objects(const Json& value) { return value.is_array() && !value.empty() && value.front().is_object(); }

void add_plain(const std::string& column, const Json& value, CsvRow& row) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) add_plain(column + "." + key, member, row);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) add_plain(fmt::format("{}.{}", column, i), value[i], row);
  } else if (!value.is_null()) {
    row.emplace_back(column, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

/// One row, or one for each object of its inner list, behind what they share.
void add_rows(const Json& item, const CsvRow& shared, std::vector<CsvRow>& rows) {
  CsvRow row = shared;
  const std::pair<std::string, Json>* none = nullptr;
  std::pair<std::string, Json> inner;
  for (const auto& [key, value] : item.items()) {
    if (is_list_of_objects(value) && none == nullptr) inner = {key, value}, none = &inner;
    else add_plain(key, value, row);
  }
  if (none == nullptr) return rows.push_back(std::move(row));
  for (const Json& one : inner.second) {
    CsvRow whole = row;
    for (const auto& [key, value] : one.items()) add_plain(inner.first + "." + key, value, whole);
    rows.push_back(std::move(whole));
  }
}

}  // namespace

std::string csv_of(const std::string& json_document, const std::vector<std::string_view>& paths) {
  const Json document = Json::parse(json_document);
  std::vector<CsvRow> rows;
  for (const std::string_view path : paths) {
    const Json::json_pointer at("/" + std::string(path));
    if (!document.contains(at)) continue;
    for (const Json& item : document.at(at))
      add_rows(item, paths.size() > 1 ? CsvRow{{"list", std::string(path)}} : CsvRow{}, rows);
  }
  std::vector<std::string> columns;
  for (const CsvRow& row : rows)
    for (const auto& [column, text] : row)
      if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
  const auto line = [&](const auto& text_of) {
    std::vector<std::string> cells;
    for (const std::string& column : columns) cells.push_back(csv_quoted(text_of(column)));
    return fmt::format("{}\r\n", fmt::join(cells, ","));
  };
  std::string text = line([](const std::string& column) { return column; });
  for (const CsvRow& row : rows)
    text += line([&](const std::string& column) {
      const auto cell = std::ranges::find(row, column, &CsvRow::value_type::first);
      return cell == row.end() ? std::string() : cell->second;
    });
  return text;
}

}  // namespace stepcast::print
