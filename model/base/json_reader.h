// Strict reading of JSON files that anybody may have written: every network, machine, profile and scenario file comes
// through here. One mistake gives one Error that names the file, the JSON pointer, what was found, what is allowed and
// the nearest known name.
//
// Infinity, -Infinity and NaN, which Python's json writes, are read as texts of that name, so that no number is any of
// them. Refused while parsing: syntax errors (with line:column), duplicate keys, more than 64 levels of nesting, files
// over 16 MiB, numbers beyond a double, invalid UTF-8, text after the end. Refused while reading: a missing key, a
// wrong type, a value out of range, a quantity without unit, and, at finish(), any key that nobody asked for.
//
// Reading is a straight list of lines; the first bad value is remembered and every later read does nothing:
//
//   JsonObject file(text, where);
//   NetworkSpec spec;
//   file.read("id", spec.id);
//   file.read("layers", spec.layers, IntegerRange{1, 10'000});
//   file.choice("norm", spec.norm, norms);                          // a table of {"rmsnorm", Norm::rmsnorm}, ...
//   file.optional("dropout", spec.dropout);                         // absent: keeps its default
//   for (JsonObject& level : file.objects("levels")) level.read("bandwidth", bandwidth);   // "400 GB/s"
//   file.require(spec.heads % spec.kv_heads == 0, "kv_heads", "3 does not divide heads 8", "1, 2, 4, 8");
//   return file.finish(spec);
//
// A quantity is a string with a unit; a bare number is accepted only under a key that ends in its base unit
// ("wait_s": 0.3, "bucket_bytes": 1000, "rate_bytes_per_s", "peak_flops_per_s", "work_flops", "clock_hz").
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "model/base/quantity_text.h"

namespace stepcast {

struct IntegerRange {
  std::int64_t low = 0, high = INT64_MAX;
};

struct NumberRange {
  double low = -1e308, high = 1e308;
};

/// A row of a name table. Tables serve reading, writing and hints: `constexpr Choice<Norm> norms[] = {...}`.
template <typename Enum> struct Choice {
  const char* name;
  Enum value;
};

template <typename Enum> const char* name_of(std::span<const Choice<Enum>> table, Enum value) {
  for (const Choice<Enum>& row : table)
    if (row.value == value) return row.name;
  return "?";
}

/// The whole text of a file, at most 16 MiB. Errors name the path and the system's reason.
Expected<std::string> read_text_file(const std::string& path);

namespace detail {
struct JsonSource;
struct JsonValue;
}  // namespace detail

/// One object of a parsed file. Copies and children share the document and its first error; they may outlive `text`.
class JsonObject {
 public:
  /// Parses a document whose top is an object. `where` names the file in errors.
  JsonObject(std::string_view text, std::string where);

  // Required values: absent is an error.
  void read(const std::string& key, std::string& out);
  void read(const std::string& key, bool& out);
  void read(const std::string& key, std::int64_t& out, IntegerRange range);
  void read(const std::string& key, int& out, IntegerRange range);
  void read(const std::string& key, double& out, NumberRange range);
  void read(const std::string& key, std::vector<std::string>& out);
  void read(const std::string& key, std::vector<std::int64_t>& out, IntegerRange range);
  void read(const std::string& key, std::vector<double>& out, NumberRange range);
  /// A list of rows of `columns` numbers each: [[1024, 3e-5], [2048, 4e-5]].
  void read_rows(const std::string& key, std::vector<std::vector<double>>& out, std::size_t columns, NumberRange range);
  template <int S, int B, int F> void read(const std::string& key, Quantity<S, B, F>& out, Zero zero = Zero::refused);
  template <typename Enum, std::size_t N>
  void choice(const std::string& key, Enum& out, const Choice<Enum> (&table)[N]);

  /// The same with absence allowed: `out` keeps its value. An explicit null counts as absent.
  template <typename Out, typename... Limits> void optional(const std::string& key, Out& out, Limits... limits) {
    if (has(key)) read(key, out, limits...);
  }
  template <typename Enum, std::size_t N>
  void optional_choice(const std::string& key, Enum& out, const Choice<Enum> (&table)[N]) {
    if (has(key)) choice(key, out, table);
  }

  /// A child object; where it is missing or no object, the error is remembered and the child swallows all reads.
  JsonObject object(const std::string& key);
  std::optional<JsonObject> optional_object(const std::string& key);
  /// The objects of a list, in order. `optional_objects` gives none when the key is absent.
  std::vector<JsonObject> objects(const std::string& key);
  std::vector<JsonObject> optional_objects(const std::string& key);

  /// Whether the key is there and not null. Makes it a known name either way.
  [[nodiscard]] bool has(const std::string& key);
  /// Whether the file has the key at all, be it null. Unlike has() it makes no key known.
  [[nodiscard]] bool names(const std::string& key) const;
  /// All keys in file order, for objects used as maps.
  [[nodiscard]] std::vector<std::string> keys() const;
  /// Keys that no reader has asked for so far: all of what a file of another program says beyond them.
  struct UnreadKey {
    std::string key, value;  ///< the value as JSON in one line: "[1, 2]"
    std::string near;        ///< the likest key that was asked for and is not in the file; "": none
  };
  [[nodiscard]] std::vector<UnreadKey> unread() const;
  /// What stands under the key, for values of several types: "string", "number", "object", "list", ... or "nothing".
  [[nodiscard]] std::string type_of(const std::string& key);

  /// For rules between values: remembers an error at this key unless `condition` holds.
  void require(bool condition, const std::string& key, const std::string& what, const std::string& hint = {});
  /// Stops finish() from refusing keys of this object that nobody read (files of other programs).
  void allow_unknown_keys();

  [[nodiscard]] bool failed() const;
  /// "file.json:/levels/0/bandwidth".
  [[nodiscard]] std::string where(const std::string& key = {}) const;

  /// The value if all went well, else the error: a bad value first, then a missing or unknown key anywhere in the file.
  template <typename T> Expected<T> finish(T value) {
    if (auto error = first_error()) return tl::unexpected<Error>(std::move(*error));
    return value;
  }
  [[nodiscard]] std::optional<Error> first_error() const;

 private:
  JsonObject(std::shared_ptr<detail::JsonSource> source, detail::JsonValue* value, std::string pointer);
  void read_items(
      const std::string& key, const std::string& wanted, const std::function<bool(const detail::JsonValue&)>& take);
  const detail::JsonValue* find(const std::string& key);  ///< nullptr after an error was remembered
  void wrong_type(const std::string& key, const detail::JsonValue& found, const std::string& wanted);
  void fail_at(const std::string& key, const std::string& what, const std::string& hint);
  void fail_choice(const std::string& key, const std::string& found, const std::vector<std::string>& names);
  void read_text_or_number(const std::string& key, std::string_view suffix, std::string_view example, std::string& text,
      double& number, bool& is_text);
  void keep(const Error& error);

  std::shared_ptr<detail::JsonSource> source_;
  detail::JsonValue* value_ = nullptr;  ///< nullptr: swallows all reads
  std::string pointer_;
};

template <int S, int B, int F> void JsonObject::read(const std::string& key, Quantity<S, B, F>& out, Zero zero) {
  using Q = Quantity<S, B, F>;
  std::string text;
  double number = 0;
  bool is_text = true;
  const bool before = failed();
  read_text_or_number(key, key_suffix<Q>(), quantity_example<Q>(), text, number, is_text);
  if (before || failed() || !has(key)) return;
  const auto parsed = is_text ? parse_quantity<Q>(text, where(key), zero) : check_quantity<Q>(number, where(key), zero);
  parsed ? void(out = *parsed) : keep(parsed.error());
}

template <typename Enum, std::size_t N>
void JsonObject::choice(const std::string& key, Enum& out, const Choice<Enum> (&table)[N]) {
  std::string name;
  read(key, name);
  if (failed() || !has(key)) return;
  std::vector<std::string> names;
  for (const Choice<Enum>& row : table) {
    if (name == row.name) return void(out = row.value);
    names.emplace_back(row.name);
  }
  fail_choice(key, name, names);
}

}  // namespace stepcast
