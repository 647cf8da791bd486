#include "calibrate/import/launch_words.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "calibrate/import/delimited.h"
#include "calibrate/import/launch_expand.h"
#include "calibrate/import/plain_words.h"

namespace stepcast {
namespace {

/// Where a quote has not closed after this much, the line was no command.
constexpr std::size_t most_command_bytes = 64 * 1024;

constexpr std::string_view shell_keywords[] = {"then", "else", "do",      "exec",   "eval",  "nohup",
                                               "time", "sudo", "command", "export", "local", "readonly"};

/// "NAME=", "NAME+=", and how long that is; 0 where the word is no assignment.
std::size_t assignment_length(std::string_view word) {
  std::size_t at = 0;
  while (at < word.size() && is_shell_name(word[at])) ++at;
  if (at == 0 || std::isdigit(static_cast<unsigned char>(word[0])) || at >= word.size()) return 0;
  if (word[at] == '+') ++at;
  return at < word.size() && word[at] == '=' ? at + 1 : 0;
}

bool is_keyword(std::string_view word) {
  return std::find(std::begin(shell_keywords), std::end(shell_keywords), word) != std::end(shell_keywords);
}

class ShellReader {
 public:
  ShellReader(std::string_view text, const std::string& where, bool (*wanted)(std::string_view))
      : text_(text), where_(where), wanted_(wanted) {}

  Expected<std::vector<ShellCommand>> read() {
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const std::string_view line = text_.substr(at_, end - at_);
      next_ = std::min(end + 1, text_.size());
      if (auto good = take_line(line); !good) return tl::unexpected(good.error());
      line_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                   text_.begin() + static_cast<std::ptrdiff_t>(next_), '\n'));
      at_ = next_;
    }
    return std::move(commands_);
  }

 private:
  Expected<void> take_line(std::string_view line) {
    const std::string_view plain = stripped(line);
    if (plain.starts_with("#SBATCH")) return take_batch(plain), Expected<void>{};
    if (plain.empty() || plain[0] == '#') return {};
    std::size_t start = at_ + static_cast<std::size_t>(plain.data() - line.data());
    start += shown_prefix(plain);
    // A line may hold several commands: cd dir && NAME=1 torchrun ...
    const std::size_t line_end = at_ + line.size();
    while (start < line_end) {
      const auto after = take_command(start, line_end);
      if (!after) return tl::unexpected(after.error());
      if (*after <= start) break;
      start = *after;
    }
    return {};
  }

  /// "+ " of set -x (once per level), "$ " of a prompt, "... cmd = " of DeepSpeed's runner.
  static std::size_t shown_prefix(std::string_view plain) {
    if (const std::size_t shown = plain.find(" cmd = "); shown != plain.npos) return shown + 7;
    std::size_t plus = 0;
    while (plus < plain.size() && plain[plus] == '+') ++plus;
    if (plus > 0 && plus < plain.size() && plain[plus] == ' ') return plus + 1;
    return plain.starts_with("$ ") || plain.starts_with("# ") ? 2 : 0;
  }

  void take_batch(std::string_view plain) {
    ShellWords words(plain.substr(1), variables_);
    ShellCommand command{line_, {"#SBATCH"}, {}};
    while (words.next()) command.words.push_back(words.word());
    for (std::size_t i = 1; i < command.words.size(); ++i) take_batch_nodes(command.words, i);
    commands_.push_back(std::move(command));
  }
  void take_batch_nodes(const std::vector<std::string>& words, std::size_t i) {
    constexpr std::string_view name = "--nodes=";
    std::string nodes;
    if (words[i].starts_with(name))
      nodes = words[i].substr(name.size());
    else if ((words[i] == "-N" || words[i] == "--nodes") && i + 1 < words.size())
      nodes = words[i + 1];
    if (!nodes.empty()) variables_["SLURM_NNODES"] = variables_["SLURM_JOB_NUM_NODES"] = nodes;
  }

  /// One command or assignment from `start`; where the text behind it goes on. A command may end lines further down.
  Expected<std::size_t> take_command(std::size_t start, std::size_t line_end) {
    if (!may_begin(text_.substr(start, line_end - start))) return passed_over(start, line_end);
    ShellWords words(text_.substr(start, most_command_bytes), variables_);
    ShellCommand command{line_, {}, {}};
    while (words.next()) {
      const std::string& word = words.word();
      if (command.words.empty()) {
        if (const std::size_t name = assignment_length(words.raw()); name > 0) {
          set(words, name, command.environment);
          continue;
        }
        if (is_keyword(word)) continue;
        if (!wanted_(word)) return passed_over(start, line_end);
      }
      command.words.push_back(word);
    }
    if (words.cut()) {
      if (command.words.empty()) return line_end;
      return fail(fmt::format("{}:{}", where_, line_), "the command ends inside a quote or a bracket",
                  "give the whole command");
    }
    const std::size_t end = start + words.position();
    if (command.words.empty())
      for (auto& [name, value] : command.environment) variables_[name] = value;
    else {
      open_shells(command.words);
      commands_.push_back(std::move(command));
    }
    next_ = std::max(next_, std::min(text_.find('\n', end > 0 ? end - 1 : 0), text_.size() - 1) + 1);
    next_ = std::min(next_, text_.size());
    return end >= line_end ? line_end : end;
  }

  [[nodiscard]] bool may_begin(std::string_view rest) const {
    rest = stripped(rest);
    const std::string_view first = rest.substr(0, rest.find_first_of(" \t"));
    return assignment_length(first) > 0 || is_keyword(first) || wanted_(first) || first.starts_with('$');
  }

  /// srun bash -c "torchrun ...": the words of the inner command stand in place of its text.
  void open_shells(std::vector<std::string>& words) const {
    constexpr int deepest = 4;
    for (int depth = 0; depth < deepest; ++depth) {
      const auto shell = std::find_if(words.begin(), words.end(), [](const std::string& word) {
        return last_of_path(word) == "bash" || last_of_path(word) == "sh";
      });
      if (words.end() - shell < 3 || !std::next(shell)->starts_with('-') || !std::next(shell)->ends_with('c')) return;
      const std::string text = *std::next(shell, 2);
      std::vector<std::string> inner;
      for (std::size_t at = 0; at < text.size();) {
        ShellWords reader(std::string_view(text).substr(at), variables_);
        while (reader.next()) inner.push_back(reader.word());
        if (reader.position() == 0 || reader.cut()) break;
        at += reader.position();
      }
      words.insert(words.erase(shell, shell + 3), inner.begin(), inner.end());
    }
  }

  /// Behind a command that is none of ours: the next one of the line.
  [[nodiscard]] std::size_t passed_over(std::size_t start, std::size_t line_end) const {
    const std::string_view rest = text_.substr(start, line_end - start);
    std::size_t found = rest.size();
    for (const std::string_view separator : {"&& ", "; "})
      if (const std::size_t at = rest.find(separator); at != rest.npos) found = std::min(found, at + separator.size());
    return start + found;
  }

  void set(const ShellWords& words, std::size_t name_length, ShellVariables& into) {
    const bool appends = words.raw()[name_length - 2] == '+';
    const std::string name(words.raw().substr(0, name_length - (appends ? 2 : 1)));
    std::string value = words.word().substr(std::min(name_length, words.word().size()));
    if (appends) {
      const std::string before = into.count(name) != 0 ? into[name] : variables_[name];
      value = words.is_array() && !before.empty() ? before + " " + value : before + value;
    }
    into[name] = value;
  }

  std::string_view text_;
  const std::string& where_;
  bool (*wanted_)(std::string_view);
  std::size_t at_ = 0, next_ = 0, line_ = 1;
  ShellVariables variables_;
  std::vector<ShellCommand> commands_;
};

}  // namespace

Expected<std::vector<ShellCommand>> shell_commands(std::string_view text, const std::string& where,
                                                   bool (*wanted)(std::string_view first_word)) {
  return ShellReader(text, where, wanted).read();
}

}  // namespace stepcast
