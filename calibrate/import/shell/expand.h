// Expands one shell command's words, one after the other, as bash would hand them over: it takes quotes off and puts
// variables in. Commands in $(...) and backticks are never run. They are values that nothing sets, except for a few
// that say where a file is.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/shell/text.h"

namespace stepcast::calibrate {

struct ShellParameterParts;

class ShellWords {
 public:
  /// Both must outlive this. The command ends at a line's end, at ; & | > < or with the text. No variables: only where
  /// it ends.
  ShellWords(ShellSource source, ShellVariables* variables, int depth = 0)
      : source_(source), text_(source.text), variables_(variables), depth_(depth) {}

  /// Goes to the next word; false behind the last one.
  bool next();
  [[nodiscard]] const ShellText& word() const { return word_; }
  /// "> log --tp 8": a redirection takes its own word and the command goes on behind it; else it ends the command.
  void go_on_behind_redirections(bool on) { redirections_ = on; }
  /// The word as written; empty for the second and later words that one variable became.
  [[nodiscard]] std::string_view raw() const { return raw_; }
  [[nodiscard]] bool quoted() const { return quoted_; }  ///< any of it stands in quotes
  [[nodiscard]] bool cut() const { return cut_; }        ///< the text ended inside a quote or a bracket
  [[nodiscard]] std::size_t position() const { return at_; }
  /// The word behind the last > or >>, as written; empty: none stood there.
  [[nodiscard]] std::string_view output() const { return output_; }
  /// One & ended the command: the next one does not wait for it.
  [[nodiscard]] bool beside() const { return beside_; }
  /// Where a comment behind a continued line ended the command; 0 where none did.
  [[nodiscard]] std::size_t comment_line() const { return comment_line_; }
  [[nodiscard]] const std::set<std::string>& doubts() const { return doubts_; }
  /// NAME=(...): its elements; else empty.
  [[nodiscard]] const std::vector<ShellText>& elements() const { return elements_; }
  [[nodiscard]] bool is_array() const { return array_; }

  /// All of the text as one piece. `quotes`: they are taken off; else they are letters (heredocs).
  ShellText piece(bool quotes);

 private:
  void take_word();
  void take_array();
  void take_marked();
  void take_single_quote();
  void take_letters_quote();
  void take_double_quote();
  void take_escape(bool quoted);
  void take_dollar(bool quoted);
  void take_parameter(std::string_view inside, std::string_view written, bool quoted);
  std::optional<std::vector<ShellText>> held_words(const ShellParameterParts& parts, const ShellValue& value);
  bool take_otherwise(const ShellParameterParts& parts, const std::vector<ShellText>& words, bool is_set, bool quoted);
  void put_plain(const std::string& text);
  ShellText heredoc_value(std::string_view body, bool expands);
  void take_command(std::string_view inside, std::string_view written, bool quoted);
  void take_arithmetic(std::string_view inside, std::string_view written, bool quoted);
  void put(const ShellText& value, bool quoted);
  void put_words(const std::vector<ShellText>& words, bool quoted);
  void put_unset(std::string_view name, std::string_view written);
  void finish_word();
  bool skip_blanks(bool over_lines);
  bool skip_redirection();
  [[nodiscard]] std::size_t unfilled_value() const;
  [[nodiscard]] bool at_end_of_word() const;
  [[nodiscard]] std::size_t here() { return counter_.line(source_, at_); }
  ShellText expanded(std::string_view inside, bool quotes);

  ShellSource source_;
  std::string_view text_;
  ShellVariables* variables_;
  int depth_;
  LineCounter counter_;
  std::size_t at_ = 0, comment_line_ = 0;
  ShellText word_, piece_;
  std::string_view raw_, output_;
  std::deque<ShellText> waiting_;
  std::vector<ShellText> elements_;
  std::set<std::string> doubts_;
  bool array_ = false, cut_ = false, has_piece_ = false, splits_ = true, quoted_ = false, vanishes_ = false,
       redirections_ = false, beside_ = false;
};

/// The place behind the bracket that closes the one at `open` ('{' or '('), over quotes and inner ones; npos: none
/// does.
std::size_t after_bracket(std::string_view text, std::size_t open);
/// Whole-number arithmetic of $((...)) with names; nothing that is set in it leaves its name in `unset`.
std::string shell_number(std::string_view inside, ShellVariables& variables, std::string& unset, int depth);

}  // namespace stepcast::calibrate
