// Shells inside a script: the text that "bash -c", bcprun and shells on other nodes are handed is read as a script too.
#include "calibrate/import/shell/reader.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/contains.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// Programs that take a command as text: NVIDIA's bcprun of Base Command does, and starts it on each rank.
bool is_shell_program(std::string_view name) { return name == "bash" || name == "sh" || name == "bcprun"; }

/// They hand their last word to a shell on other nodes.
constexpr std::string_view remote_shells[] = {"pdsh", "ssh", "clush", "sshpass"};

}  // namespace

/// Its commands came about by `doubts`, too.
Expected<void> ShellReader::take_doubted(ShellText text, const std::set<std::string>& doubts, int depth) {
  const auto outer = outer_doubts_;
  outer_doubts_.insert(doubts.begin(), doubts.end());
  auto good = take_inner(std::move(text), depth);
  outer_doubts_ = outer;
  return good;
}

Expected<void> ShellReader::take_inner(ShellText text, int depth) {
  texts_.push_back(std::move(text));
  return take_text(ShellSource(texts_.back()), depth + 1);
}

/// The bash of "srun bash -c TEXT", the last word of a remote shell; behind the last word where there is none.
std::size_t ShellReader::shell_word(const std::vector<ShellWord>& words) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (const std::string_view name = last_of_path(words[i].text); is_shell_program(name)) return i;
  const std::string_view first = last_of_path(words.front().text);
  return contains(remote_shells, first) && words.size() > 2 ? words.size() - 1 : words.size();
}

std::size_t ShellReader::inner_shell(const std::vector<ShellWord>& words) {
  const std::size_t shell = shell_word(words);
  if (shell == words.size()) return shell;
  const std::string_view name = last_of_path(words[shell].text);
  if (!is_shell_program(name)) return words[shell].text.find(' ') == std::string::npos ? words.size() : shell;
  constexpr std::size_t most_options = 16;
  for (std::size_t i = shell + 1; i + 1 < words.size() && i <= shell + most_options; ++i)
    if (const std::string_view word = words[i].text;
        word == "--cmd" || (word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')))
      return words[i + 1].text == "--" && i + 2 < words.size() ? i + 2 : i + 1;  // "bash -c -- TEXT"
  return words.size();
}

}  // namespace stepcast::calibrate
