// TOML by toml++, which stays behind this file.
#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

// Version 3.3.0 asserts, or assumes where NDEBUG is defined, what a file may break ("[&a]"), and then finds the error.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "calibrate/import/config/config_text.h"

namespace stepcast::calibrate {
namespace {

constexpr int deepest_toml = 32;

class TomlTree {
 public:
  TomlTree(std::string_view text, const std::string& where) : where_(where) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines_.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }

  /// Without what lies deeper than the limit.
  YamlNode node(const toml::node& from, int depth = 0, bool in_list = false) {
    YamlNode out;
    out.position = {where_, static_cast<int>(from.source().begin.line), static_cast<int>(from.source().begin.column)};
    if (depth > deepest_toml) {
      if (!too_deep_)
        too_deep_ =
            TextError{out.position, fmt::format("more than {} levels", deepest_toml), "a configuration has a few"};
      return out;
    }
    if (const toml::table* table = from.as_table()) {
      out.kind = YamlNode::Kind::map;
      for (const auto& [key, value] : *table) {
        out.entries.push_back(node(value, depth + 1));
        out.entries.back().key = std::string(key.str());
        out.entries.back().key_line = static_cast<int>(key.source().begin.line);
      }
      return out;
    }
    if (const toml::array* list = from.as_array()) {
      out.kind = YamlNode::Kind::list, out.flow = true;
      for (const toml::node& item : *list) out.items.push_back(node(item, depth + 1, true));
      return out;
    }
    out.kind = YamlNode::Kind::scalar;
    if (const auto text = from.value_exact<std::string>()) {
      const char quote = text->find('"') == text->npos ? '"' : '\'';
      out.quoted = true, out.text = in_list ? fmt::format("{}{}{}", quote, *text, quote) : *text;
    } else if (const auto whole = from.value_exact<std::int64_t>()) {
      out.text = fmt::format("{}", *whole);
    } else if (const auto number = from.value_exact<double>()) {
      out.text = number_text(from.source(), *number);
    } else {
      out.text = written(from.source());
    }
    return out;
  }
  [[nodiscard]] const std::optional<TextError>& too_deep() const { return too_deep_; }

 private:
  [[nodiscard]] std::string written(const toml::source_region& at) const {
    const std::string_view line = lines_.at(std::min<std::size_t>(at.begin.line, lines_.size()) - 1);
    const std::size_t from = std::min<std::size_t>(at.begin.column - 1, line.size());
    return std::string(line.substr(from, at.end.column - at.begin.column));
  }
  /// As it was written ("1e-8"), unless signs that are no ASCII in front of it have moved it, or it has underscores.
  [[nodiscard]] std::string number_text(const toml::source_region& at, double number) const {
    std::string text = written(at);
    double read = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), read);
    return end.ptr == text.data() + text.size() && read == number ? text : fmt::format("{}", number);
  }

  const std::string& where_;
  std::vector<std::string_view> lines_;
  std::optional<TextError> too_deep_;
};

/// The line of a name of more parts than any file has; 0 without one. toml++ goes as deep as a name has parts.
int line_of_long_name(std::string_view text) {
  int line = 1, dots = 0;
  char before = 0;
  for (const char c : text) {
    const bool named = is_argument_letter(c) || c == '"' || c == '\'';
    if (c == '\n') ++line;
    if (c == '.' && before != '.') ++dots;
    if (!named && c != ' ' && c != '\t') dots = 0;
    if (dots > deepest_toml) return line;
    if (c != ' ' && c != '\t') before = c;
  }
  return 0;
}

}  // namespace

tl::expected<YamlNode, TextError> toml_tree(const std::string& text, const std::string& where) {
  if (const int line = line_of_long_name(text); line > 0)
    return tl::unexpected(TextError{
        {where, line, 0}, fmt::format("a name of more than {} parts", deepest_toml), "a configuration has a few"});
  const toml::parse_result parsed = toml::parse(text);
  if (parsed) {
    TomlTree tree(text, where);
    YamlNode whole = tree.node(parsed.table());
    if (tree.too_deep()) return tl::unexpected(*tree.too_deep());
    return whole;
  }
  const toml::parse_error& error = parsed.error();
  const toml::source_position at = error.source().begin;
  return tl::unexpected(TextError{{where, static_cast<int>(at.line), static_cast<int>(at.column)},
      fmt::format("not TOML: {}", error.description()), "name = value"});
}

}  // namespace stepcast::calibrate
