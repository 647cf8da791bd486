// The text of a constraint as its reader goes through it: names, numbers, words and symbols, and the first error.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "model/base/error.h"

namespace stepcast::sweep {

bool is_where_digit(char c);
/// In any case: "AND" is refused as a keyword, not as a unit of the number before it.
bool is_where_keyword(std::string_view name);
/// Of a long text its beginning.
std::string short_where(std::string_view text);

/// The first error ends the text: from there on nothing stands anywhere.
class WhereText {
 public:
  /// `where` names the text in errors and outlives this.
  WhereText(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] bool ended() const { return at_ == text_.size(); }
  [[nodiscard]] char here() const { return ended() ? '\0' : text_[at_]; }
  [[nodiscard]] bool stands_here(std::string_view symbol) const { return text_.substr(at_).starts_with(symbol); }
  /// What stands here, for an error: "'tp'", "the end".
  [[nodiscard]] std::string found() const;
  /// [begin, end) without the space around it, for an error.
  [[nodiscard]] std::string shown(std::size_t begin, std::size_t end) const;

  /// "memory.peak" or "GiB"; empty when no letter stands here.
  [[nodiscard]] std::string_view name_here() const;
  /// "70", "1e-3", ".5"; of "70GiB" and "2e" only the digits.
  [[nodiscard]] std::string_view digits_here() const;

  /// Goes on, and past the space behind.
  void pass(std::size_t characters);
  bool accept(std::string_view symbol);
  bool accept_word(std::string_view word) { return name_here() == word && accept(word); }
  /// Goes past 'quoted words', "quoted words" or whatever has no space and no parenthesis.
  std::string_view take_word();

  /// Keeps the first one, with the column (from 1, in bytes), and goes to the end.
  void fail_at(std::size_t at, std::string what, std::string hint);
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::optional<Error> error_;
};

}  // namespace stepcast::sweep
