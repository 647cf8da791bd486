#include "model/base/json_writer.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/utf8.h"

namespace stepcast {
namespace {

/// "[a, b]" on one line, or one item per line from 120 columns on.
std::string list_text(const std::vector<std::string>& items, std::size_t indent) {
  const std::string line = fmt::format("[{}]", fmt::join(items, ", "));
  if (line.size() + indent <= 120) return line;
  const std::string pad(indent, ' ');
  return fmt::format("[\n{}  {}\n{}]", pad, fmt::join(items, ",\n  " + pad), pad);
}

template <typename Value, typename Text> std::vector<std::string> texts(const std::vector<Value>& values, Text text) {
  std::vector<std::string> result;
  for (const Value& value : values) result.push_back(text(value));
  return result;
}

}  // namespace

std::string json_quoted(std::string_view text) {
  constexpr std::string_view no_character = "\xef\xbf\xbd";  // U+FFFD, for bytes that are not UTF-8
  std::string result = "\"";
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) >= 0x80) {
      const std::size_t size = utf8_size(text.substr(at));
      const char32_t number = size > 0 ? utf8_number(text.substr(at, size)) : 0;
      if (size == 0) result += no_character;
      else if (steers(number)) result += fmt::format("\\u{:04x}", static_cast<unsigned>(number));  // none beyond U+FFFF
      else result += text.substr(at, size);
      at += std::max<std::size_t>(size, 1) - 1;
    } else if (c == '"' || c == '\\') (result += '\\') += c;
    else if (c == '\n') result += "\\n";
    else if (c == '\t') result += "\\t";
    else if (steers(static_cast<unsigned char>(c))) result += fmt::format("\\u{:04x}", static_cast<int>(c));
    else result += c;
  }
  return result + '"';
}

std::string json_number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

void JsonWriter::begin(std::string_view key, bool in_list) {
  assert(open_.empty() ? text_.empty() : (open_.back().close == ']') == in_list);
  if (open_.empty()) return;
  if (!open_.back().empty) text_ += ',';
  open_.back().empty = false;
  text_ += '\n' + std::string(2 * open_.size(), ' ');
  if (!in_list) text_ += json_quoted(key) + ": ";
}

void JsonWriter::open_with(char bracket) {
  text_ += bracket;
  open_.push_back({bracket == '{' ? '}' : ']', true});
}

void JsonWriter::open() { begin({}, true), open_with('{'); }
void JsonWriter::open(std::string_view key) { begin(key, false), open_with('{'); }
void JsonWriter::open_list() { begin({}, true), open_with('['); }
void JsonWriter::open_list(std::string_view key) { begin(key, false), open_with('['); }

void JsonWriter::close() {
  assert(!open_.empty());
  const Open last = open_.back();
  open_.pop_back();
  if (!last.empty) text_ += '\n' + std::string(2 * open_.size(), ' ');
  text_ += last.close;
}

void JsonWriter::field(std::string_view key, std::string_view value) { begin(key, false), text_ += json_quoted(value); }
void JsonWriter::field(std::string_view key, bool value) { begin(key, false), text_ += value ? "true" : "false"; }
void JsonWriter::field(std::string_view key, double value) { begin(key, false), text_ += json_number(value); }
void JsonWriter::null_field(std::string_view key) { begin(key, false), text_ += "null"; }

void JsonWriter::integer_field(std::string_view key, std::int64_t value) {
  begin(key, false), text_ += fmt::format("{}", value);
}

void JsonWriter::field(std::string_view key, const std::vector<std::string>& values) {
  begin(key, false);
  text_ += list_text(texts(values, [](const std::string& v) { return json_quoted(v); }), 2 * open_.size());
}

void JsonWriter::field(std::string_view key, const std::vector<double>& values) {
  begin(key, false), text_ += list_text(texts(values, json_number), 2 * open_.size());
}

void JsonWriter::field(std::string_view key, const std::vector<std::int64_t>& values) {
  begin(key, false);
  text_ += list_text(texts(values, [](std::int64_t v) { return fmt::format("{}", v); }), 2 * open_.size());
}

void JsonWriter::item(std::string_view value) { begin({}, true), text_ += json_quoted(value); }
void JsonWriter::item(double value) { begin({}, true), text_ += json_number(value); }
void JsonWriter::item(const std::vector<double>& row) {
  begin({}, true), text_ += list_text(texts(row, json_number), 2 * open_.size());
}

std::string JsonWriter::text() const {
  assert(open_.empty());
  return text_ + '\n';
}

}  // namespace stepcast
