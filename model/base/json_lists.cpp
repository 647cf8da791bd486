// Lists of plain values; the single values are in json_reader.cpp.
#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "model/base/json_value.h"

namespace stepcast {
namespace {

using detail::JsonType;
using detail::JsonValue;

bool is_number_in(const JsonValue& value, NumberRange range) {
  const bool number = value.type == JsonType::integer || value.type == JsonType::number;
  return number && value.number >= range.low && value.number <= range.high;
}

std::string range_text(NumberRange range) {
  return range.high >= 1e308 ? fmt::format("numbers of at least {}", range.low)
                             : fmt::format("numbers from {} to {}", range.low, range.high);
}

}  // namespace

void JsonObject::read_items(
    const std::string& key, const std::string& wanted, const std::function<bool(const JsonValue&)>& take) {
  const JsonValue* value = find(key);
  if (value == nullptr) return;
  if (value->type != JsonType::list) return wrong_type(key, *value, fmt::format("a list of {}", wanted));
  for (std::size_t i = 0; i < value->parts->items.size(); ++i) {
    const JsonValue& item = value->parts->items[i];
    if (take(item)) continue;
    keep({fmt::format("{}/{}", where(key), i), fmt::format("found {}", json_described(item)), wanted});
    return;
  }
}

void JsonObject::read(const std::string& key, std::vector<std::string>& out) {
  std::vector<std::string> list;
  read_items(key, "texts in quotes", [&](const JsonValue& item) {
    if (item.type == JsonType::string) list.push_back(item.parts->text);
    return item.type == JsonType::string;
  });
  if (!failed()) out = std::move(list);
}

void JsonObject::read(const std::string& key, std::vector<std::int64_t>& out, IntegerRange range) {
  std::vector<std::int64_t> list;
  read_items(key, fmt::format("integers from {} to {}", range.low, range.high), [&](const JsonValue& item) {
    list.push_back(item.integer);
    return item.type == JsonType::integer && item.integer >= range.low && item.integer <= range.high;
  });
  if (!failed()) out = std::move(list);
}

void JsonObject::read(const std::string& key, std::vector<double>& out, NumberRange range) {
  std::vector<double> list;
  read_items(key, range_text(range), [&](const JsonValue& item) {
    list.push_back(item.number);
    return is_number_in(item, range);
  });
  if (!failed()) out = std::move(list);
}

void JsonObject::read_rows(
    const std::string& key, std::vector<std::vector<double>>& out, std::size_t columns, NumberRange range) {
  std::vector<std::vector<double>> rows;
  const std::string wanted = fmt::format("rows of {} {}", columns, range_text(range));
  read_items(key, wanted, [&](const JsonValue& item) {
    if (item.type != JsonType::list || item.parts->items.size() != columns) return false;
    std::vector<double>& row = rows.emplace_back();
    for (const JsonValue& cell : item.parts->items) {
      if (!is_number_in(cell, range)) return false;
      row.push_back(cell.number);
    }
    return true;
  });
  if (!failed()) out = std::move(rows);
}

}  // namespace stepcast
