// The parsed document behind JsonObject. Small on purpose: nlohmann's parser fills it event by event (json_parse.cpp),
// because its own DOM lets the last of two equal keys win without a word.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"

namespace stepcast::detail {

enum class JsonType : std::uint8_t { null, boolean, integer, number, string, list, object };

struct JsonMember;

/// The parts that only strings, lists and objects have; kept apart so that a list of numbers stays small.
struct JsonParts;

struct JsonValue {
  JsonType type = JsonType::null;
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;                 ///< also set for an integer
  std::unique_ptr<JsonParts> parts;  ///< set for string, list, object
};

struct JsonMember {
  std::string key;
  JsonValue value;
  bool known = false;  ///< a reader asked for it
};

struct JsonParts {
  std::string text;
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;  ///< in file order
  bool opened = false;              ///< a reader looks at this object; others are not searched for unknown keys
  bool allow_unknown = false;
  std::vector<std::string> known, missing;  ///< names that readers asked for, and needed in vain
};

struct JsonSource {
  std::string where;
  JsonValue root;
  std::optional<Error> error;  ///< the first bad value
};

/// How deep lists and objects may nest, and the largest text. Ours need 5 levels and some kilobytes.
constexpr int json_depth_limit = 64;
constexpr std::size_t json_size_limit = std::size_t{16} << 20;

/// Syntax errors name line and column, others the JSON pointer. `most`: bytes that the text may have.
Expected<JsonValue> parse_json(std::string_view text, const std::string& where, std::size_t most = json_size_limit);

/// A key or text fit for a message: control characters replaced, long ones cut.
std::string json_shown(std::string_view text);
/// `pointer` followed by the key, escaped after RFC 6901.
std::string json_pointer(const std::string& pointer, std::string_view key);
/// JSON in one line, long lists and texts cut: "[1, 2]".
std::string json_text(const JsonValue& value);
/// "'bf16'", "3", "a list of 4", "an object", "null".
std::string json_described(const JsonValue& value);

}  // namespace stepcast::detail
