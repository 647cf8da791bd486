// Rows of the catalogue: what every one begins with (id, name, source, aliases), and lists of members that serve
// reading and writing alike.
//
//   const auto road_members = [](auto& file, auto& road) {
//     file.head(road);
//     file.read("lanes", road.lanes, lane_range);
//     file.choice("surface", road.surface, surface_names);
//     file.rare("toll", road.toll);  // written where it is not its type's zero
//   };
//   RowReader file(text, where); road_members(file, road); return file.finish(std::move(road));
//   return row_json(road, road_members);
#pragma once

#include <string>

#include "model/base/json_reader.h"
#include "model/base/json_writer.h"

namespace stepcast {

/// Lower-case letters, digits, hyphens and dots, beginning with a letter or digit, at most 80.
bool is_row_id(const std::string& id);

void read_row_id(JsonObject& file, std::string& id);

/// Reads the members of a list: an object with calls for what only one of the two sides does.
class RowReader : public JsonObject {
 public:
  using JsonObject::JsonObject;
  explicit RowReader(const JsonObject& object) : JsonObject(object) {}

  /// "id" is required; "name" defaults to the id, "source" and "aliases" may be absent in a user's file.
  template <class Row> void head(Row& row) {
    read_row_id(*this, row.id);
    row.name = row.id;
    optional("name", row.name);
    optional("source", row.source);
    optional("aliases", row.aliases);
  }
  template <class Value, class... Limits> void rare(const char* key, Value& value, Limits... limits) {
    optional(key, value, limits...);
  }
  template <class Enum, std::size_t N> void rare_choice(const char* key, Enum& value, const Choice<Enum> (&table)[N]) {
    optional_choice(key, value, table);
  }
  template <class Value, class... Limits>
  void unless(const Value& /*usual*/, const char* key, Value& value, Limits... limits) {
    optional(key, value, limits...);
  }
  template <class Part, class List> void part(const char* key, bool /*there*/, Part& part, const List& list) {
    if (auto object = optional_object(key)) {
      RowReader file(*object);
      list(file, part);
    }
  }
  template <class Step, class... Members> void reading(const Step& step, Members&... members) {
    step(*this, members...);
  }
  template <class Step, class... Members> void writing(const Step& /*step*/, Members&... /*members*/) {}
};

/// Writes the members of a list by the same calls; limits are the reader's.
class RowWriter : public JsonWriter {
 public:
  template <class Row> void head(const Row& row) {
    fields("id", row.id, "name", row.name);
    rare("aliases", row.aliases);
    rare("source", row.source);
  }
  template <class Value, class... Limits> void read(const char* key, const Value& value, Limits... /*limits*/) {
    field(key, value);
  }
  template <class Enum, std::size_t N> void choice(const char* key, Enum value, const Choice<Enum> (&table)[N]) {
    field(key, name_of<Enum>(table, value));
  }
  template <class Value, class... Limits> void optional(const char* key, const Value& value, Limits... /*limits*/) {
    field(key, value);
  }
  template <class Enum, std::size_t N>
  void optional_choice(const char* key, Enum value, const Choice<Enum> (&table)[N]) {
    choice(key, value, table);
  }
  template <class Value, class... Limits> void rare(const char* key, const Value& value, Limits... /*limits*/) {
    unless(Value{}, key, value);
  }
  template <class Enum, std::size_t N> void rare_choice(const char* key, Enum value, const Choice<Enum> (&table)[N]) {
    if (value != Enum{}) choice(key, value, table);
  }
  template <class Value, class... Limits>
  void unless(const Value& usual, const char* key, const Value& value, Limits... /*limits*/) {
    if (value != usual) field(key, value);
  }
  template <class Part, class List> void part(const char* key, bool there, const Part& part, const List& list) {
    if (!there) return;
    open(key);
    list(*this, part);
    close();
  }
  template <class Step, class... Members> void reading(const Step& /*step*/, const Members&... /*members*/) {}
  template <class Step, class... Members> void writing(const Step& step, const Members&... members) {
    step(*this, members...);
  }
};

/// A file of one row.
template <class Row, class List> std::string row_json(const Row& row, const List& list) {
  RowWriter json;
  json.open();
  list(json, row);
  json.close();
  return json.text();
}

}  // namespace stepcast
