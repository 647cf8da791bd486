// First error, notes, and the small pieces that programs of the notation are made of.
#include "dataflow/translate/import_log.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "dataflow/notation/arch_properties.h"
#include "dataflow/notation/lexer.h"

namespace stepcast::dataflow {
namespace {

std::string place_text(const Position& where) {
  if (where.line == 0) return where.file;
  return fmt::format("{}:{}:{}", where.file, where.line, where.column);
}

bool is_name_character(char c) { return is_letter(c) || is_digit(c); }

}  // namespace

void ImportLog::refuse(const Position& where, std::string what, std::string hint) {
  if (!error_) error_ = Error{place_text(where), std::move(what), std::move(hint)};
}

void ImportLog::note(const Position& where, std::string what) {
  notes_.push_back(fmt::format("{}: {}", place_text(where), what));
}

std::string notation_name(const std::string& foreign, const Position& where, ImportLog& log) {
  std::string name = foreign;
  for (char& c : name)
    if (!is_name_character(c)) c = '_';
  if (name.empty() || is_digit(name.front())) name.insert(0, 1, '_');
  if (name != foreign)
    log.note(where, fmt::format("'{}' is called {} here: names are letters, digits and '_'", foreign, name));
  return name;
}

ArchLevel::Property arch_property(const std::string& name, double value, bool per_cycle) {
  ArchLevel::Property property{name, value, per_cycle, {}};
  property.text = property_text(property);
  return property;
}

Statement level_line(
    const std::string& level, std::vector<LevelItem> items, const Position& where, const std::string& scope) {
  Statement line;
  if (!scope.empty()) line.scope = {scope};
  line.body = LevelStatement{level, std::move(items)};
  line.position = where;
  return line;
}

WrittenAccess plain_access(const std::string& tensor, const std::vector<std::string>& loops) {
  WrittenAccess access{tensor, {}};
  for (const std::string& loop : loops) access.indices.push_back({{{loop, 1}}});
  return access;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  constexpr std::int64_t largest = std::int64_t{1} << 40;
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || !is_digit(text.front()) || problem != std::errc() || end != text.data() + text.size()) return {};
  if (value > largest) return {};
  return value;
}

std::int64_t capped_product(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t cap = std::int64_t{1} << 41;
  return a != 0 && b > cap / a ? cap : a * b;
}

std::optional<double> real_number(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

}  // namespace stepcast::dataflow
