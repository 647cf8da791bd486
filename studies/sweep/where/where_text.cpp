#include "studies/sweep/where/where_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/text.h"

namespace stepcast::sweep {
namespace {

bool is_where_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
/// Bytes of UTF-8 too: a micro sign begins a unit.
bool is_where_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

bool is_where_digit(char c) { return c >= '0' && c <= '9'; }

bool is_where_keyword(std::string_view name) {
  const std::string lower = lower_case(name.substr(0, 4));
  return lower == "and" || lower == "or" || lower == "not";
}

std::string short_where(std::string_view text) {
  constexpr std::size_t longest = 60;
  return text.size() <= longest ? std::string(text) : fmt::format("{}...", text.substr(0, longest));
}

std::string WhereText::found() const {
  if (ended()) return "the end";
  const auto byte = static_cast<unsigned char>(here());
  if (byte < 0x20 || byte == 0x7f) return fmt::format("the byte 0x{:02x}", byte);
  const std::string_view word = is_where_digit(here()) ? digits_here() : name_here();
  return fmt::format("'{}'", word.empty() ? std::string(1, here()) : short_where(word));
}

std::string WhereText::shown(std::size_t begin, std::size_t end) const {
  return short_where(stripped(text_.substr(begin, end - begin)));
}

std::string_view WhereText::name_here() const {
  std::size_t end = at_;
  const auto inside = [&](char c) { return is_where_letter(c) || (end > at_ && (is_where_digit(c) || c == '.')); };
  while (end < text_.size() && inside(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

std::string_view WhereText::digits_here() const {
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

void WhereText::pass(std::size_t characters) {
  at_ = std::min(at_ + characters, text_.size());
  while (!ended() && is_where_space(text_[at_])) ++at_;
}

bool WhereText::accept(std::string_view symbol) {
  if (error_ || !stands_here(symbol)) return false;
  return pass(symbol.size()), true;
}

std::string_view WhereText::take_word() {
  const std::size_t begin = at_;
  const bool quoted = here() == '"' || here() == '\'';
  const auto inside = [&](char c) { return quoted ? c != text_[begin] : !is_where_space(c) && c != '(' && c != ')'; };
  const std::size_t from = at_ + (quoted ? 1 : 0);
  std::size_t end = from;
  while (end < text_.size() && inside(text_[end])) ++end;
  at_ = end;
  if (quoted && end == text_.size())
    fail_at(begin, "the quotation has no end", fmt::format("close it with {}", text_[begin]));
  pass(quoted ? 1 : 0);
  return text_.substr(from, end - from);
}

void WhereText::fail_at(std::size_t at, std::string what, std::string hint) {
  if (!error_) error_ = Error{fmt::format("{}, column {}", where_, at + 1), std::move(what), std::move(hint)};
  at_ = text_.size();
}

}  // namespace stepcast::sweep
