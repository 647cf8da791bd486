#include "calibrate/import/shell/printed.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/shell/text_tools.h"
#include "calibrate/import/shell/words.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

// Longer texts are no list of a launch; tools could make them grow without end.
constexpr std::size_t longest_text = 65'536;
constexpr int deepest = 32;

/// One of the commands between "|"; `given`: what stands behind its "<<<".
struct PipedCommand {
  std::string text;
  std::optional<std::string> given = {};
};

/// Nothing where there are other signs of a shell than these, and errors that go nowhere.
std::optional<std::vector<PipedCommand>> piped_commands(std::string_view line) {
  std::vector<PipedCommand> commands(1);
  char quote = 0;
  const auto put = [&](std::string_view text) {
    PipedCommand& last = commands.back();
    (last.given ? *last.given : last.text) += text;
  };
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    const std::string_view rest = line.substr(at);
    constexpr std::string_view no_errors = "2>/dev/null";
    if (c == '\\' && quote != '\'' && rest.size() > 1) {
      put(rest.substr(0, 2)), ++at;
    } else if (quote != '\'' && (rest.starts_with("$(") || rest.starts_with("${"))) {
      const std::size_t end = after_bracket(line, at + 1);
      if (end == line.npos) return std::nullopt;
      put(line.substr(at, end - at)), at = end - 1;
    } else if (quote == 0 && rest.starts_with(no_errors)) {
      at += no_errors.size() - 1;
    } else if (quote == 0 && rest.starts_with("<<<") && !commands.back().given) {
      commands.back().given = "", at += 2;
    } else if (quote == 0 && c == '|' && !rest.starts_with("||")) {
      commands.emplace_back();
    } else if (quote == 0 && std::string_view("|;&<>()\n").find(c) != std::string_view::npos) {
      return std::nullopt;
    } else {
      if (quote != 0) quote = c == quote ? char{0} : quote;
      else if (c == '"' || c == '\'') quote = c;
      put(rest.substr(0, 1));
    }
  }
  return commands;
}

/// The words of one command as the tool gets them.
struct StageWords {
  std::vector<std::string> words;
  std::string unset;
  bool known = true;
};
StageWords words_of(std::string_view stage, ShellVariables& variables, int depth, std::set<std::string>& doubts) {
  StageWords out;
  ShellWords reader(ShellSource(stage, 1), &variables, depth + 1);
  while (reader.next()) {
    const auto unset = reader.word().unset();
    if (!unset.empty() && out.unset.empty()) out.unset = unset.front();
    out.words.push_back(reader.word().shown());
    const bool names_files = !reader.quoted() && out.words.back().find_first_of("*?[{") != std::string::npos;
    out.known = out.known && !names_files && unset.empty();
  }
  doubts.insert(reader.doubts().begin(), reader.doubts().end());
  out.known = out.known && !reader.cut() && !out.words.empty();
  return out;
}

using PrintedWords = std::vector<std::string>;
using PrintedText = std::optional<std::string>;

/// echo, also with -n; -e where there is nothing for it to do.
PrintedText echoed(PrintedWords words) {
  words.erase(words.begin());
  bool open = false;
  for (; !words.empty() && is_echo_option(words[0]); words.erase(words.begin()))
    open = open || words[0].find('n') != std::string::npos;
  const std::string text = fmt::format("{}", fmt::join(words, " "));
  if (text.starts_with('-') || text.find('\\') != text.npos) return std::nullopt;
  return open ? text : text + "\n";
}

/// printf with as many words as its format has %s and %d.
PrintedText formatted(PrintedWords words) {
  if (words.size() < 2) return std::nullopt;
  std::string out;
  std::size_t next = 2;
  const std::string& format = words[1];
  for (std::size_t at = 0; at < format.size(); ++at) {
    const std::string_view rest = std::string_view(format).substr(at, 2);
    if (rest == "\\n") out += '\n', ++at;
    else if ((rest == "%s" || rest == "%d") && next < words.size()) out += words[next++], ++at;
    else if (format[at] == '%' || format[at] == '\\') return std::nullopt;
    else out += format[at];
  }
  return next == words.size() ? PrintedText(out) : std::nullopt;
}

/// basename PATH [ENDING].
PrintedText last_part(PrintedWords words) {
  if (words.size() < 2 || words.size() > 3 || words[1].starts_with('-')) return std::nullopt;
  while (words[1].size() > 1 && words[1].ends_with('/')) words[1].pop_back();
  std::string name(last_of_path(words[1]));
  if (words.size() == 3 && name.ends_with(words[2]) && name != words[2]) name.resize(name.size() - words[2].size());
  return name + "\n";
}

/// python -c "print(2 * 4)" of whole numbers; a single "/" would make others.
PrintedText python_sum(PrintedWords words) {
  if (words.size() != 3 || words[1] != "-c") return std::nullopt;
  const std::string_view code = stripped(words[2]);
  if (!code.starts_with("print(") || !code.ends_with(')')) return std::nullopt;
  // Comparisons print words, and what is negative is rounded down.
  const bool rounds = code.find('/') != code.npos || code.find('%') != code.npos;
  if (code.find_first_of("<>=!?") != code.npos || (rounds && code.find('-') != code.npos)) return std::nullopt;
  std::string sum;
  for (const char c : code.substr(6, code.size() - 7)) {
    if (c == '/' && sum.ends_with('/')) continue;
    sum += c;
  }
  const auto divisions = std::count(sum.begin(), sum.end(), '/');
  if (std::count(code.begin(), code.end(), '/') != 2 * divisions) return std::nullopt;
  const std::string number = shell_arithmetic(sum);
  return number.empty() ? std::nullopt : PrintedText(number + "\n");
}

struct PrintingTool {
  std::string_view name;
  PrintedText (*printed)(PrintedWords);
};
constexpr PrintingTool printing_tools[] = {
    {"echo", echoed}, {"printf", formatted}, {"basename", last_part}, {"python", python_sum}, {"python3", python_sum}};

const PrintingTool* printing_tool(const StageWords& command) {
  const auto row = std::find_if(std::begin(printing_tools), std::end(printing_tools),
      [&](const PrintingTool& tool) { return !command.words.empty() && tool.name == command.words[0]; });
  return row == std::end(printing_tools) ? nullptr : row;
}

}  // namespace

ShellPrinted shell_printed(std::string_view command, ShellVariables& variables, int depth) {
  ShellPrinted out;
  const auto piped = depth < deepest ? piped_commands(command) : std::nullopt;
  if (!piped) return out;
  for (std::size_t i = 0; i < piped->size(); ++i) {
    const PipedCommand& one = (*piped)[i];
    StageWords stage = words_of(one.text, variables, depth, out.doubts);
    const PrintingTool* prints = i == 0 ? printing_tool(stage) : nullptr;
    if (i == 0 && prints == nullptr && !one.given) return out;
    if (one.given) {
      const StageWords given = words_of(*one.given, variables, depth, out.doubts);
      if (!given.unset.empty()) out.unset = given.unset;
      if (given.words.size() != 1 || !given.known) return out.text.reset(), out;
      out.text = given.words[0] + "\n";
    }
    if (!stage.unset.empty()) out.unset = stage.unset;
    if (!stage.known) return out.text.reset(), out;
    if (prints != nullptr) out.text = prints->printed(std::move(stage.words));
    else if (stage.words != PrintedWords{"cat"}) out.text = text_tool(stage.words, *out.text);
    if (!out.text || out.text->size() > longest_text || !variables.spend(out.text->size()))
      return out.text.reset(), out;
  }
  while (out.text->ends_with('\n')) out.text->pop_back();
  return out;
}

}  // namespace stepcast::calibrate
