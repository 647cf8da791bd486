// Writes JSON that a person may edit: two spaces of indent, keys in the order they are given, numbers with the fewest
// digits that read back to the same double, quantities as text with a unit ("80 GiB") unless asked for in base units.
//
//   JsonWriter json;
//   json.open();
//   json.field("id", spec.id);
//   json.field("memory", gpu.memory);                // "memory": "80 GiB"
//   json.open_list("levels");
//   for (const Level& level : levels) json.row("name", level.name, "width", level.width);
//   json.close();
//   json.close();
//   return json.text();
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/quantity_text.h"
#include "model/base/units.h"

namespace stepcast {

class JsonWriter {
 public:
  // An object or list as an item of the open list (or the whole document), or under a key of the open object.
  void open();
  void open(std::string_view key);
  void open_list();
  void open_list(std::string_view key);
  void close();  ///< what was opened last

  void field(std::string_view key, std::string_view value);
  void field(std::string_view key, const char* value) { field(key, std::string_view(value)); }
  void field(std::string_view key, bool value);
  void field(std::string_view key, double value);  ///< NaN and infinity, which JSON lacks, become null
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) void field(std::string_view key, Integer value) {
    integer_field(key, static_cast<std::int64_t>(value));
  }
  /// In words: "400 GB/s".
  template <int S, int B, int F> void field(std::string_view key, Quantity<S, B, F> value) {
    field(key, std::string_view(exact_text(value)));
  }
  /// Base units as a number; the key has to end in the unit.
  template <int S, int B, int F> void base_field(std::string_view key, Quantity<S, B, F> value) {
    field(key, value.value());
  }
  /// Several in the order they are given: fields("m", m, "n", n).
  template <class Value, class... Rest> void fields(std::string_view key, const Value& value, const Rest&... rest) {
    field(key, value);
    if constexpr (sizeof...(rest) > 0) fields(rest...);
  }
  template <class Value, class... Rest>
  void base_fields(std::string_view key, const Value& value, const Rest&... rest) {
    base_field(key, value);
    if constexpr (sizeof...(rest) > 0) base_fields(rest...);
  }
  /// A whole object of fields, under a key of the open object or as an item of the open list.
  template <class... Fields> void object(std::string_view key, const Fields&... all) {
    open(key);
    fields(all...);
    close();
  }
  template <class... Fields> void row(const Fields&... all) {
    open();
    fields(all...);
    close();
  }
  /// An object for each row, whose fields `write` writes.
  template <class Rows, class Write> void list(std::string_view key, const Rows& rows, const Write& write) {
    open_list(key);
    for (const auto& row : rows) {
      open();
      write(row);
      close();
    }
    close();
  }
  /// An object with a field for each name.
  template <class Map> void map(std::string_view key, const Map& values) {
    open(key);
    for (const auto& [name, value] : values) field(name, value);
    close();
  }
  void null_field(std::string_view key);
  void field(std::string_view key, const std::vector<std::string>& values);  ///< on one line where it fits
  void field(std::string_view key, const std::vector<double>& values);
  void field(std::string_view key, const std::vector<std::int64_t>& values);

  // Items of the open list.
  void item(std::string_view value);
  void item(const char* value) { item(std::string_view(value)); }
  void item(double value);
  void item(const std::vector<double>& row);  ///< a list on one line

  /// The document with a final newline. Everything must be closed.
  [[nodiscard]] std::string text() const;

 private:
  void begin(std::string_view key, bool in_list);  ///< comma, newline, indent, key
  void integer_field(std::string_view key, std::int64_t value);
  void open_with(char bracket);

  struct Open {
    char close;
    bool empty;
  };
  std::vector<Open> open_;
  std::string text_;
};

/// The value in quotes with everything escaped that JSON wants escaped; bytes that are not UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);
/// The fewest digits that read back to the same double; "null" where it is not finite.
std::string json_number(double value);

}  // namespace stepcast
