// Lists of fields for documents that hold many of them.
#pragma once

#include <string_view>

#include "model/base/json_writer.h"

namespace stepcast::print {

/// json_fields(json, "name", name, "time_s", time): a field each, quantities in base units.
template <typename Value, typename... More>
void json_fields(JsonWriter& json, std::string_view key, const Value& value, const More&... more) {
  if constexpr (requires { json.base_field(key, value); }) json.base_field(key, value);
  else json.field(key, value);
  if constexpr (sizeof...(more) > 0) json_fields(json, more...);
}

/// An object of these fields: an item of the open list.
template <typename... Fields> void json_item(JsonWriter& json, const Fields&... fields) {
  json.open();
  json_fields(json, fields...);
  json.close();
}

/// An object of these fields under `name`.
template <typename... Fields> void json_object(JsonWriter& json, std::string_view name, const Fields&... fields) {
  json.open(name);
  json_fields(json, fields...);
  json.close();
}

/// A list with whatever `write` makes of each row.
template <typename Rows, typename Write>
void json_list(JsonWriter& json, std::string_view name, const Rows& rows, Write write) {
  json.open_list(name);
  for (const auto& row : rows) write(json, row);
  json.close();
}

}  // namespace stepcast::print
