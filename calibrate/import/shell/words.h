// The commands in a shell script or in a log that shows them: quotes, continued lines, variables and arrays that the
// same text sets, functions, branches, files written from heredocs. Nothing is run: a value that only a running shell
// knows
// ($1, $(hostname)) is one that nothing sets.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/shell/text.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

struct ShellWord {
  std::string text;                ///< expanded; as written where nothing sets it
  std::size_t line = 0;            ///< where its first letter stands
  std::vector<std::string> unset;  ///< names in it that nothing sets
  bool bare = false;               ///< one such variable without quotes: it may be any number of words
};

struct ShellCommand {
  std::size_t line = 0;  ///< of the text, from 1
  std::vector<ShellWord> words;
  std::map<std::string, std::string> environment;  ///< NAME=value before the command
  std::map<std::string, std::string> exported;     ///< set by export before it
  std::vector<std::string> notes;                  ///< how values came about, where that is not sure
  bool in_for = false;                             ///< within `for`: it may run several times
  bool beside = false;                             ///< & ended it: the next one does not wait for it
  ShellWord output = {};                           ///< the file that > or >> sends what it prints to; "": none
};

/// Written by the script itself: cat <<EOT > NAME, echo '...' > NAME.
struct ShellFile {
  std::string name, text;  ///< in the text ${NAME} for what nothing sets
  std::size_t line = 0;    ///< of its first line
  std::vector<std::string> unset;
};

struct ShellScript {
  std::vector<ShellCommand> commands;
  std::vector<std::string> sourced;  ///< files that it sources and that nobody has: what they set is not known
  /// what it does that is not followed: "line 4 shifts the script's arguments as a run decides"
  std::vector<std::string> unfollowed;
  std::map<std::string, std::size_t> open;  ///< variables that nothing sets and that decide a condition: its line
  std::vector<ShellFile> files;
  std::map<std::string, std::size_t> changed;  ///< names of files that it changes in place: the line
  std::map<std::string, std::size_t>
      unclosed;  ///< variables whose value has a quote or bracket that does not close: the line
};

/// Whole-number arithmetic of $((...)): + - * / % **, one comparison, A ? B : C and
/// parentheses; "" where it is something else.
std::string shell_arithmetic(std::string_view expression);

/// Variables that nothing sets, in conditions.
struct ShellQuestions {
  const std::set<std::string>* empty = nullptr;  ///< names of those that are taken for empty; null: of none
  std::vector<std::string> assumed;              ///< out: those that -z and -n took for empty
  std::vector<std::string> open;                 ///< out: those on which it hangs whether the condition holds
};

/// Whether `[ ... ]`, `[[ ... ]]` or `(( ... ))` at the front of the text holds.
enum class ShellTruth : unsigned char { yes, no, unknown };
ShellTruth shell_condition(const ShellSource& source, ShellVariables& variables, ShellQuestions& questions);
/// The text without what nothing sets, where `questions` takes all of that for empty; else as it is.
ShellText shell_emptied(const ShellText& text, const ShellQuestions& questions);
/// Names in a text that nothing sets, without those of commands: $(hostname) can be set by nobody.
void add_open(const ShellText& text, ShellQuestions& questions);
/// Whether a pattern of a case fits; unknown where it has more signs than a * at its end.
ShellTruth shell_pattern(std::string_view pattern, std::string_view subject);

}  // namespace stepcast::calibrate
