// The text of a constraint with a place in it: names, numbers, symbols; the first error ends the text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/base/error.h"

namespace stepcast {

class WhereText {
 public:
  WhereText(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char here() const { return at_end() ? '\0' : text_[at_]; }
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  /// Goes past it, and past the space behind.
  bool accept(std::string_view symbol);
  bool accept_word(std::string_view word);
  void pass(std::size_t characters);
  void skip_space();

  /// "memory.peak" or "GiB"; empty when no letter stands here.
  [[nodiscard]] std::string_view name() const;
  /// "70", "1e-3", ".5"; of "70GiB" and "2e" only the digits.
  [[nodiscard]] std::string_view digits() const;
  [[nodiscard]] bool begins_number() const;
  /// Goes past 'quoted words', "quoted words" or whatever has no space and no parenthesis.
  std::string_view word();

  /// What stands here, for an error: "'tp'", "the end".
  [[nodiscard]] std::string found() const;
  /// [begin, end) without the space behind it, at most 60 characters.
  [[nodiscard]] std::string shown(std::size_t begin, std::size_t end) const;
  /// Keeps the first one, with the column (from 1, in bytes), and goes to the end.
  void error(std::size_t at, std::string what, std::string hint = {});
  /// Something stands here that does not continue a complete constraint.
  void error_here();
  [[nodiscard]] const std::optional<Error>& failed() const { return error_; }

 private:
  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::optional<Error> error_;
};

/// At most 60 characters of it.
std::string short_where(std::string_view text);
/// In any case: "AND" is refused as a keyword, not as a unit of the number before it.
bool is_where_keyword(std::string_view name);

}  // namespace stepcast
