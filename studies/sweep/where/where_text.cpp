#include "studies/sweep/where/where_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace stepcast {
namespace {

/// What people write who know another notation.
struct ForeignSymbol { std::string_view text, hint; };
constexpr ForeignSymbol foreign_symbols[] = {
    {"=", "equality is written =="}, {"&", "write 'and'"}, {"|", "write 'or'"}, {"!", "write 'not'"},
    {",", "join conditions with 'and' or 'or'; a number has no separators"}};

bool is_where_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_where_digit(char c) { return c >= '0' && c <= '9'; }
/// Bytes of UTF-8 too: a micro sign begins a unit.
bool is_where_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::string short_where(std::string_view text) {
  constexpr std::size_t longest = 60;
  return text.size() <= longest ? std::string(text) : fmt::format("{}...", text.substr(0, longest));
}

bool is_where_keyword(std::string_view name) {
  std::string lower(name.substr(0, 4));
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return lower == "and" || lower == "or" || lower == "not";
}

bool WhereText::accept(std::string_view symbol) {
  if (error_ || !text_.substr(at_).starts_with(symbol)) return false;
  pass(symbol.size());
  return true;
}

bool WhereText::accept_word(std::string_view word) { return name() == word && accept(word); }

void WhereText::pass(std::size_t characters) {
  at_ = std::min(at_ + characters, text_.size());
  skip_space();
}

void WhereText::skip_space() {
  while (!at_end() && is_where_space(text_[at_])) ++at_;
}

std::string_view WhereText::name() const {
  if (at_end() || !is_where_letter(text_[at_])) return {};
  std::size_t end = at_;
  while (end < text_.size() && (is_where_letter(text_[end]) || is_where_digit(text_[end]) || text_[end] == '.')) ++end;
  return text_.substr(at_, end - at_);
}

std::string_view WhereText::digits() const {
  const auto run = [this](std::size_t at) {
    while (at < text_.size() && is_where_digit(text_[at])) ++at;
    return at;
  };
  std::size_t end = run(at_);
  if (end < text_.size() && text_[end] == '.') end = run(end + 1);
  if (end > at_ && end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    const bool sign = end + 1 < text_.size() && (text_[end + 1] == '+' || text_[end + 1] == '-');
    const std::size_t exponent = end + (sign ? 2 : 1);
    if (run(exponent) > exponent) end = run(exponent);
  }
  return text_.substr(at_, end - at_);
}

bool WhereText::begins_number() const { return is_where_digit(here()) || here() == '.' || here() == '$'; }

std::string_view WhereText::word() {
  const std::size_t begin = at_;
  const bool quoted = here() == '"' || here() == '\'';
  const auto inside = [&](char c) { return quoted ? c != text_[begin] : !is_where_space(c) && c != '(' && c != ')'; };
  if (quoted) ++at_;
  const std::size_t from = at_;
  while (!at_end() && inside(text_[at_])) ++at_;
  const std::string_view word = text_.substr(from, at_ - from);
  if (quoted && at_end()) error(begin, "the quotation has no end", fmt::format("close it with {}", text_[begin]));
  pass(quoted ? 1 : 0);
  return word;
}

std::string WhereText::found() const {
  if (at_end()) return "the end";
  const auto byte = static_cast<unsigned char>(here());
  if (byte < 0x20 || byte == 0x7f) return fmt::format("the byte 0x{:02x}", byte);
  if (!name().empty()) return fmt::format("'{}'", short_where(name()));
  return fmt::format("'{}'", is_where_digit(here()) ? short_where(digits()) : std::string(1, here()));
}

std::string WhereText::shown(std::size_t begin, std::size_t end) const {
  while (end > begin && is_where_space(text_[end - 1])) --end;
  return short_where(text_.substr(begin, end - begin));
}

void WhereText::error(std::size_t at, std::string what, std::string hint) {
  if (!error_) error_ = Error{fmt::format("{}, column {}", where_, at + 1), std::move(what), std::move(hint)};
  at_ = text_.size();
}

void WhereText::error_here() {
  const std::vector<std::string> joins = {"and", "or"};
  std::string hint = nearest_name(name(), joins);
  if (!hint.empty()) hint = fmt::format("did you mean '{}'?", hint);
  for (const ForeignSymbol& symbol : foreign_symbols)
    if (text_.substr(at_).starts_with(symbol.text)) hint = symbol.hint;
  error(at_, fmt::format("expected an operator, 'and', 'or' or the end, found {}", found()), hint);
}

}  // namespace stepcast
