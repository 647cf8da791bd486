// What every catalogue row begins with: id, name, source, aliases. One place, so that all kinds agree on the rules.
#pragma once

#include <string>

#include "model/base/json_reader.h"
#include "model/base/json_writer.h"

namespace stepcast {

/// Lower-case letters, digits, hyphens and dots, beginning with a letter or digit, at most 80.
bool is_row_id(const std::string& id);

void read_row_id(JsonObject& file, std::string& id);

/// "id" is required; "name" defaults to the id, "source" and "aliases" may be absent in a user's file.
template <typename Row> void read_row_head(JsonObject& file, Row& row) {
  read_row_id(file, row.id);
  row.name = row.id;
  file.optional("name", row.name);
  file.optional("source", row.source);
  file.optional("aliases", row.aliases);
}

template <typename Row> void write_row_head(JsonWriter& json, const Row& row) {
  json.fields("id", row.id, "name", row.name);
  if (!row.aliases.empty()) json.field("aliases", row.aliases);
  if (!row.source.empty()) json.field("source", row.source);
}

}  // namespace stepcast
