// One shell command's words, one after the other, as bash would hand them over: quotes taken off, variables put in.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "calibrate/import/launch_words.h"

namespace stepcast {

class ShellWords {
 public:
  /// Both must outlive this. The command ends at a line's end, at ; & | > < or with the text.
  ShellWords(std::string_view text, const ShellVariables& variables) : text_(text), variables_(variables) {}

  /// To the next word; false behind the last one.
  bool next();
  [[nodiscard]] const std::string& word() const { return word_; }
  /// As written; empty for the second and later words that one variable became.
  [[nodiscard]] std::string_view raw() const { return raw_; }
  [[nodiscard]] bool is_array() const { return array_; }  ///< NAME=(...): the elements joined by blanks
  [[nodiscard]] bool cut() const { return cut_; }         ///< the text ended inside a quote or a bracket
  [[nodiscard]] std::size_t position() const { return at_; }

 private:
  void take_word();
  void take_array();
  void take_single_quote();
  void take_double_quote();
  void take_escape(bool quoted);
  void take_variable(bool quoted);
  std::string variable(std::string_view name_and_more);
  std::string arithmetic();
  void put(const std::string& value, bool quoted);
  void finish_word();
  bool skip_blanks(bool over_lines);
  [[nodiscard]] bool at_end_of_word() const;

  std::string_view text_;
  const ShellVariables& variables_;
  std::size_t at_ = 0;
  std::string word_, piece_;
  std::string_view raw_;
  std::deque<std::string> waiting_;
  bool array_ = false, cut_ = false, has_piece_ = false, splits_ = true;
};

/// Letters, digits and _.
bool is_shell_name(char c);

}  // namespace stepcast
