#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/base/json_value.h"

namespace stepcast::detail {
namespace {

/// What is wrong in our words, by a part of the library's.
struct JsonFault {
  std::string_view part, what, hint;
};
constexpr JsonFault json_faults[] = {
    {"missing closing quote", "a text without its closing quote", "\"text\""},
    {"must be escaped", "a control character inside a text", "\\n for a line end, \\t for a tab"},
    {"ill-formed UTF-8", "bytes that are no UTF-8", "save the file as UTF-8"},
    {"after backslash", "an escape that JSON does not have", "\\\\ for a backslash"},
    {"'\\u' must be followed", "an escape that JSON does not have", "\\u and four hexadecimal digits"},
    {"surrogate", "half a character", "\\ud83d is followed by \\ude80, or the like"},
    {"number overflow", "a number beyond any real one", "at most 1e308"},
    {"expected end of input", "something behind the end", "one value, with every bracket closed once"},
    {"expected string literal", "a key is missing here", "\"key\": value, and no comma behind the last one"},
    {"expected ':'", "a colon is missing here", "\"key\": value"},
    {"expected ']'", "a comma or the end of the list is missing here", "[1, 2]"},
    {"expected '}'", "a comma or the end of the object is missing here", "{\"a\": 1, \"b\": 2}"},
    {"invalid number", "a number that JSON does not have", "1, 0.5 or 1e-3"},
    {"invalid literal", "a word without quotes", "true, false, null, a number or \"text\""},
    {"", "a value is missing here", "a number, \"text\", [...], {...}, true, false or null"},
};

const JsonFault& json_fault(std::string_view message) {
  return *std::ranges::find_if(
      json_faults, [&](const JsonFault& row) { return message.find(row.part) != std::string_view::npos; });
}

/// Fills a JsonValue from the parser's events; stops at the first thing a strict file may not hold.
class JsonFiller {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  JsonFiller(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  bool null() { return place({}) != nullptr; }
  bool boolean(bool value) { return place({JsonType::boolean, value, 0, 0, nullptr}) != nullptr; }
  bool number_integer(number_integer_t value) {
    return place({JsonType::integer, false, value, static_cast<double>(value), nullptr}) != nullptr;
  }
  bool number_unsigned(number_unsigned_t value) {
    // Beyond 2^63 it is no count that we read: kept as a number, which integer readers refuse.
    if (value > static_cast<number_unsigned_t>(INT64_MAX)) return number_float(static_cast<double>(value), {});
    return number_integer(static_cast<number_integer_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) {
    return place({JsonType::number, false, 0, value, nullptr}) != nullptr;
  }
  bool string(string_t& value) {
    auto parts = std::make_unique<JsonParts>();
    parts->text = std::move(value);
    return place({JsonType::string, false, 0, 0, std::move(parts)}) != nullptr;
  }
  bool binary(binary_t&) { return refuse(where_, "binary data", "JSON text"); }
  bool start_object(std::size_t) { return open(JsonType::object); }
  bool start_array(std::size_t) { return open(JsonType::list); }
  bool end_array() { return close(); }
  bool end_object() { return unique_keys() && close(); }
  bool key(string_t& name) {
    open_.back()->parts->members.push_back({std::move(name), {}, false});
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    const std::size_t end = std::min(text_.size(), position > 0 ? position - 1 : 0);
    const std::string_view before = text_.substr(0, end);
    const std::size_t line = 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
    const std::size_t column = end - (before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1) + 1;
    const bool cut = position > text_.size();
    const JsonFault& fault = json_fault(error.what());
    const std::string what = fmt::format("syntax error: {}", cut ? "the file ends too early" : fault.what);
    return refuse(fmt::format("{}:{}:{}", where_, line, column), what, std::string(fault.hint));
  }

  JsonValue root;
  std::optional<Error> error;

 private:
  /// Puts a value where the text stands: root, next item, or value of the last key.
  JsonValue* place(JsonValue value) {
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    JsonParts& parts = *open_.back()->parts;
    if (open_.back()->type == JsonType::object) {
      parts.members.back().value = std::move(value);
      return &parts.members.back().value;
    }
    return &parts.items.emplace_back(std::move(value));
  }

  bool open(JsonType type) {
    if (open_.size() >= json_depth_limit)
      return refuse(fmt::format("{}:{}", where_, json_shown(pointer())), "lists and objects nest too deeply",
          fmt::format("at most {} levels", json_depth_limit));
    open_.push_back(place({type, false, 0, 0, std::make_unique<JsonParts>()}));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  bool unique_keys() {
    std::vector<std::string_view> names;
    for (const JsonMember& member : open_.back()->parts->members) names.emplace_back(member.key);
    std::ranges::sort(names);
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return true;
    return refuse(fmt::format("{}:{}", where_, json_pointer(pointer(), *twice)), "this key stands here twice",
        "keep one of them");
  }

  [[nodiscard]] std::string pointer() const {
    std::string text;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const JsonParts& parts = *open_[i]->parts;
      const bool object = open_[i]->type == JsonType::object;
      text = json_pointer(text, object ? parts.members.back().key : fmt::format("{}", parts.items.size() - 1));
    }
    return text;
  }

  bool refuse(std::string where, std::string what, std::string hint) {
    error = Error{std::move(where), std::move(what), std::move(hint)};
    return false;
  }

  std::string_view text_;
  const std::string& where_;
  std::vector<JsonValue*> open_;
};

/// Where a word of Python's json for a number begins that JSON does not have; "" elsewhere.
std::string_view python_number_at(std::string_view text) {
  for (const std::string_view word : {"-Infinity", "Infinity", "NaN"})
    if (text.starts_with(word)) return word;
  return {};
}

/// The text with those words in quotes.
std::string with_python_numbers(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  bool quoted = false;
  std::size_t written = 0;  // of the text
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') ++i;
    else if (text[i] == '"') quoted = !quoted;
    else if (!quoted && (text[i] == '-' || text[i] == 'I' || text[i] == 'N')) {
      const std::string_view word = python_number_at(text.substr(i));
      if (word.empty()) continue;
      result += text.substr(written, i - written);
      result += fmt::format("\"{}\"", word);
      i += word.size() - 1;
      written = i + 1;
    }
  }
  result += text.substr(written);
  return result;
}

}  // namespace

Expected<JsonValue> parse_json(std::string_view text, const std::string& where, std::size_t most) {
  if (text.size() > most)
    return fail(where, fmt::format("{} bytes of JSON", text.size()), fmt::format("at most {}", most));
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return fail(where, "the file is empty", "a JSON object");
  std::string changed;
  if (text.find("Infinity") != std::string_view::npos || text.find("NaN") != std::string_view::npos)
    text = changed = with_python_numbers(text);
  JsonFiller filler(text, where);
  nlohmann::json::sax_parse(text.begin(), text.end(), &filler);
  if (filler.error) return tl::unexpected(std::move(*filler.error));
  return std::move(filler.root);
}

std::string json_shown(std::string_view text) {
  constexpr std::size_t longest = 160;
  std::string result(text.substr(0, longest));
  for (char& c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  if (text.size() > longest) result += "...";
  return result;
}

std::string json_text(const JsonValue& value) {
  constexpr std::size_t longest = 8;
  std::string text;
  switch (value.type) {
    case JsonType::string: return fmt::format("\"{}\"", json_shown(value.parts->text));
    case JsonType::list:
      for (std::size_t i = 0; i < value.parts->items.size() && i <= longest; ++i)
        text += (i == 0 ? "" : ", ") + (i == longest ? "..." : json_text(value.parts->items[i]));
      return json_shown("[" + text + "]");
    case JsonType::object: return value.parts->members.empty() ? "{}" : "{...}";
    default: return json_described(value);
  }
}

std::string json_pointer(const std::string& pointer, std::string_view key) {
  std::string escaped;
  for (const char c : json_shown(key)) {
    if (c == '~') escaped += "~0";
    else if (c == '/') escaped += "~1";
    else escaped += c;
  }
  return pointer + '/' + escaped;
}

std::string json_described(const JsonValue& value) {
  switch (value.type) {
    case JsonType::null: return "null";
    case JsonType::boolean: return value.boolean ? "true" : "false";
    case JsonType::integer: return fmt::format("{}", value.integer);
    case JsonType::number: return fmt::format("{}", value.number);
    case JsonType::string: return fmt::format("'{}'", json_shown(value.parts->text));
    case JsonType::list: return fmt::format("a list of {}", value.parts->items.size());
    case JsonType::object: return "an object";
  }
  return {};
}

}  // namespace stepcast::detail
