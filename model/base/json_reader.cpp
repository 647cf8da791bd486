#include "model/base/json_reader.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"
#include "model/base/json_value.h"

namespace stepcast {
namespace {

using detail::JsonMember;
using detail::JsonParts;
using detail::JsonSource;
using detail::JsonType;
using detail::JsonValue;

std::string described(IntegerRange range) {
  if (range.high == INT64_MAX) return fmt::format("an integer of at least {}", range.low);
  return fmt::format("an integer from {} to {}", range.low, range.high);
}

std::string described(NumberRange range) {
  if (range.high >= 1e308 && range.low <= -1e308) return "a number";
  if (range.high >= 1e308) return fmt::format("a number of at least {}", range.low);
  return fmt::format("a number from {} to {}", range.low, range.high);
}

bool inside(const JsonValue& value, IntegerRange range) {
  return value.type == JsonType::integer && value.integer >= range.low && value.integer <= range.high;
}

bool inside(const JsonValue& value, NumberRange range) {
  const bool number = value.type == JsonType::integer || value.type == JsonType::number;
  return number && std::isfinite(value.number) && value.number >= range.low && value.number <= range.high;
}

JsonMember* member_of(const JsonValue& object, const std::string& key) {
  for (JsonMember& member : object.parts->members)
    if (member.key == key) return &member;
  return nullptr;
}

/// An unknown key that looks like a missing one is the better message; else a missing key, else an unknown one.
std::optional<Error> key_error(const JsonParts& object, const std::string& file, const std::string& pointer) {
  const auto at = [&](const std::string& key) {
    return fmt::format("{}:{}", file, detail::json_pointer(pointer, key));
  };
  std::vector<std::string> unknown;
  for (const JsonMember& member : object.members) {
    if (member.known || object.allow_unknown) continue;
    unknown.push_back(member.key);
    if (const std::string near = nearest_name(member.key, object.missing); !near.empty())
      return Error{at(member.key), "unknown key", fmt::format("did you mean '{}'?", near)};
  }
  if (!object.missing.empty()) return Error{at(object.missing.front()), "this key is missing", "it is required"};
  if (unknown.empty()) return std::nullopt;
  const std::string what = unknown.size() == 1
                               ? "unknown key"
                               : detail::json_shown(fmt::format("unknown keys: {}", fmt::join(unknown, ", ")));
  return Error{at(unknown.front()), what, name_hint(unknown.front(), object.known)};
}

std::optional<Error> find_key_error(const JsonValue& value, const std::string& file, const std::string& pointer) {
  if (value.type == JsonType::object && value.parts->opened) {
    if (auto error = key_error(*value.parts, file, pointer)) return error;
    for (const JsonMember& member : value.parts->members)
      if (member.value.parts)
        if (auto error = find_key_error(member.value, file, detail::json_pointer(pointer, member.key))) return error;
  }
  if (value.type == JsonType::list)
    for (std::size_t i = 0; i < value.parts->items.size(); ++i)
      if (value.parts->items[i].type == JsonType::object)
        if (auto error = find_key_error(value.parts->items[i], file, fmt::format("{}/{}", pointer, i))) return error;
  return std::nullopt;
}

}  // namespace

Expected<std::string> read_text_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return fail(path, "is a folder", "name a file");
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(
        path, fmt::format("cannot be read: {}", std::strerror(errno)), "a file that is there and that you may read");
  std::string text;
  char chunk[1 << 14];
  while (text.size() <= detail::json_size_limit && (file.read(chunk, sizeof chunk), file.gcount() > 0))
    text.append(chunk, static_cast<std::size_t>(file.gcount()));
  if (file.bad()) return fail(path, "reading it failed half-way", "a file on a disk that answers");
  if (text.size() > detail::json_size_limit)
    return fail(path, "the file is too large", fmt::format("at most {} MiB", detail::json_size_limit >> 20));
  // The byte order marks of UTF-16 (RFC 2781, section 3.2).
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return fail(path, "the file is in UTF-16", "save the file as UTF-8");
  // That of UTF-8, which editors put in front, says nothing (RFC 8259, section 8.1).
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

JsonObject::JsonObject(std::string_view text, std::string where) : source_(std::make_shared<JsonSource>()) {
  source_->where = std::move(where);
  auto parsed = detail::parse_json(text, source_->where);
  if (!parsed) {
    keep(parsed.error());
    return;
  }
  source_->root = std::move(*parsed);
  const bool object = source_->root.type == JsonType::object;
  if (!object)
    keep({source_->where, fmt::format("{} stands at the top", json_described(source_->root)), "a JSON object"});
  value_ = object ? &source_->root : nullptr;
  if (object) value_->parts->opened = true;
}

JsonObject::JsonObject(std::shared_ptr<JsonSource> source, JsonValue* value, std::string pointer)
    : source_(std::move(source)), value_(value), pointer_(std::move(pointer)) {
  if (value_ != nullptr) value_->parts->opened = true;
}

bool JsonObject::failed() const { return source_->error.has_value(); }

void JsonObject::keep(const Error& error) {
  if (!source_->error) source_->error = error;
}

std::string JsonObject::where(const std::string& key) const {
  const std::string pointer = key.empty() ? pointer_ : detail::json_pointer(pointer_, key);
  return pointer.empty() ? source_->where : fmt::format("{}:{}", source_->where, pointer);
}

void JsonObject::fail_at(const std::string& key, const std::string& what, const std::string& hint) {
  keep({where(key), what, hint});
}

void JsonObject::wrong_type(const std::string& key, const JsonValue& found, const std::string& wanted) {
  fail_at(key, fmt::format("found {}", json_described(found)), wanted);
}

void JsonObject::fail_choice(const std::string& key, const std::string& found, const std::vector<std::string>& names) {
  fail_at(key, fmt::format("unknown name '{}'", detail::json_shown(found)), name_hint(found, names));
}

bool JsonObject::has(const std::string& key) {
  if (value_ == nullptr || failed()) return false;
  std::vector<std::string>& known = value_->parts->known;
  if (!contains(known, key)) known.push_back(key);
  JsonMember* member = member_of(*value_, key);
  if (member == nullptr) return false;
  member->known = true;
  return member->value.type != JsonType::null;
}

bool JsonObject::names(const std::string& key) const { return value_ != nullptr && member_of(*value_, key) != nullptr; }

const JsonValue* JsonObject::find(const std::string& key) {
  if (value_ == nullptr || failed()) return nullptr;
  const bool present = has(key);
  const JsonMember* member = member_of(*value_, key);
  if (member == nullptr) value_->parts->missing.push_back(key);
  else if (!present) fail_at(key, "found null", "a value");
  return present ? &member->value : nullptr;
}

std::vector<std::string> JsonObject::keys() const {
  std::vector<std::string> names;
  if (value_ != nullptr)
    for (const JsonMember& member : value_->parts->members) names.push_back(member.key);
  return names;
}

std::vector<JsonObject::UnreadKey> JsonObject::unread() const {
  std::vector<UnreadKey> result;
  if (value_ == nullptr) return result;
  std::vector<std::string> wanted = value_->parts->known;
  std::erase_if(wanted, [&](const std::string& key) { return member_of(*value_, key) != nullptr; });
  for (const JsonMember& member : value_->parts->members)
    if (!member.known)
      result.push_back({member.key, detail::json_text(member.value), nearest_name(member.key, wanted)});
  return result;
}

std::string JsonObject::type_of(const std::string& key) {
  if (!has(key)) return "nothing";
  switch (member_of(*value_, key)->value.type) {
    case JsonType::boolean: return "boolean";
    case JsonType::integer:
    case JsonType::number: return "number";
    case JsonType::string: return "string";
    case JsonType::list: return "list";
    default: return "object";
  }
}

void JsonObject::read(const std::string& key, std::string& out) {
  const JsonValue* value = find(key);
  if (value == nullptr) return;
  if (value->type != JsonType::string) return wrong_type(key, *value, "a text in quotes");
  out = value->parts->text;
}

void JsonObject::read(const std::string& key, bool& out) {
  const JsonValue* value = find(key);
  if (value == nullptr) return;
  if (value->type != JsonType::boolean) return wrong_type(key, *value, "true or false");
  out = value->boolean;
}

void JsonObject::read(const std::string& key, std::int64_t& out, IntegerRange range) {
  const JsonValue* value = find(key);
  if (value == nullptr) return;
  if (!inside(*value, range)) return wrong_type(key, *value, described(range));
  out = value->integer;
}

void JsonObject::read(const std::string& key, int& out, IntegerRange range) {
  std::int64_t wide = out;
  read(key, wide, {std::max<std::int64_t>(range.low, INT32_MIN), std::min<std::int64_t>(range.high, INT32_MAX)});
  out = static_cast<int>(wide);
}

void JsonObject::read(const std::string& key, double& out, NumberRange range) {
  const JsonValue* value = find(key);
  if (value == nullptr) return;
  if (!inside(*value, range)) return wrong_type(key, *value, described(range));
  out = value->number;
}

void JsonObject::read_text_or_number(const std::string& key, std::string_view suffix, std::string_view example,
    std::string& text, double& number, bool& is_text) {
  const JsonValue* value = find(key);
  if (value == nullptr) return;
  is_text = value->type == JsonType::string;
  if (is_text) {
    text = value->parts->text;
    return;
  }
  if (!inside(*value, NumberRange{})) return wrong_type(key, *value, fmt::format("a quantity like \"{}\"", example));
  // "_bytes_per_s" also ends in "_s": a rate may not pass for a time.
  const bool rate = key.ends_with("_per_s") && !suffix.ends_with("_per_s");
  if (!key.ends_with(suffix) || rate)
    return fail_at(key, fmt::format("the bare number {} has no unit", json_described(*value)),
        fmt::format("write it like \"{}\"; a bare number needs a key that ends in '{}'", example, suffix));
  number = value->number;
}

JsonObject JsonObject::object(const std::string& key) {
  const JsonValue* value = find(key);
  if (value != nullptr && value->type != JsonType::object) wrong_type(key, *value, "an object");
  const bool good = value != nullptr && value->type == JsonType::object;
  return {source_, good ? const_cast<JsonValue*>(value) : nullptr, detail::json_pointer(pointer_, key)};
}

std::optional<JsonObject> JsonObject::optional_object(const std::string& key) {
  if (!has(key)) return std::nullopt;
  return object(key);
}

std::vector<JsonObject> JsonObject::objects(const std::string& key) {
  const JsonValue* value = find(key);
  if (value == nullptr) return {};
  if (value->type != JsonType::list) {
    wrong_type(key, *value, "a list of objects");
    return {};
  }
  std::vector<JsonObject> result;
  for (JsonValue& item : value->parts->items) {
    const std::string pointer = fmt::format("{}/{}", detail::json_pointer(pointer_, key), result.size());
    if (item.type != JsonType::object) {
      keep({fmt::format("{}:{}", source_->where, pointer), fmt::format("found {}", json_described(item)), "an object"});
      return {};
    }
    result.push_back(JsonObject(source_, &item, pointer));
  }
  return result;
}

std::vector<JsonObject> JsonObject::optional_objects(const std::string& key) {
  return has(key) ? objects(key) : std::vector<JsonObject>{};
}

void JsonObject::require(bool condition, const std::string& key, const std::string& what, const std::string& hint) {
  // A rule about values that were not there would blame the wrong thing.
  const bool complete = value_ != nullptr && value_->parts->missing.empty();
  if (!condition && complete) fail_at(key, what, hint);
}

void JsonObject::allow_unknown_keys() {
  if (value_ != nullptr) value_->parts->allow_unknown = true;
}

std::optional<Error> JsonObject::first_error() const {
  if (source_->error) return source_->error;
  return find_key_error(source_->root, source_->where, "");
}

}  // namespace stepcast
