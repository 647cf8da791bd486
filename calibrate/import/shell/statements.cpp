// Statements of a shell script: branches and functions.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "calibrate/import/shell/reader.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

// Real scripts: a few functions, called once.
constexpr int most_function_calls = 200;

}  // namespace

bool ShellReader::take_block_word(Place& place, std::string_view token) {
  const std::string_view rest = place.rest();
  if (rest.starts_with(";;")) return blocks_.end_label(), place.at += 2, true;
  if (token == "if" || token == "elif") {
    const bool asked = blocks_.active() || token == "elif";
    const ShellTruth holds = asked ? truth_of(condition_of(place, token.size())) : ShellTruth::no;
    token == "if" ? blocks_.open_if(holds) : blocks_.else_if(holds);
    return pass_over(place), true;
  }
  if (token == "case" && (rest.find(" in ") != rest.npos || stripped(rest).ends_with(" in")))
    return open_case(place), true;
  if (token == "esac" || token == "fi") return blocks_.close(token == "esac"), place.at += token.size(), true;
  if (blocks_.wants_label()) return take_label(place), true;
  if (token == "else") return blocks_.else_if(ShellTruth::yes), place.at += token.size(), true;
  if (token == "for") return take_loop(place);
  if (token == "while" || token == "until") return take_while(place, token);
  if (token == "done") end_loop();
  if (token == "then" || token == "do" || token == "done" || token == "{" || token == "}")
    return place.at += token.size(), true;
  if (rest.starts_with(';') || rest.starts_with('&') || rest.starts_with('|')) return ++place.at, true;
  return take_subshell(place);
}

/// "(TP=4; export TP; ./in.sh)" on one line: what it sets ends with it. Over several lines the brackets are passed
/// over.
bool ShellReader::take_subshell(Place& place) {
  const std::string_view rest = place.rest();
  if (!rest.starts_with('(') || rest.starts_with("((") || !blocks_.active()) return false;
  const std::size_t close = after_bracket(rest, 0);
  if (close == rest.npos || rest.substr(0, close).find(';') == rest.npos) return false;
  const auto variables = variables_;
  const auto exported = exported_;
  ShellText inside;
  inside.put(rest.substr(1, close - 2), place.line());
  place.at += close;
  inner_ = take_inner(std::move(inside), place.depth);
  variables_ = variables, exported_ = exported;
  return true;
}

ShellTruth ShellReader::truth_of(const ShellSource& condition) {
  ShellQuestions questions{empty_, {}, {}};
  const ShellTruth holds = shell_condition(condition, variables_, questions);
  for (const std::string& name : questions.assumed)
    assumed_.insert(fmt::format("line {} asks whether {} is set: nothing sets it", condition.line, name));
  if (holds == ShellTruth::unknown)
    for (const std::string& name : questions.open) out_.open.emplace(name, condition.line);
  return holds;
}

ShellSource ShellReader::condition_of(Place& place, std::size_t skipped) const {
  std::string_view rest = place.rest().substr(skipped);
  return {rest, place.line()};
}

void ShellReader::open_case(Place& place) {
  const std::string_view rest = place.rest().substr(4);
  const std::size_t in = std::min(rest.rfind(" in"), rest.find(" in "));
  const std::string_view written = stripped(rest.substr(0, in));
  ShellQuestions questions{empty_, {}, {}};
  const ShellText subject =
      shell_emptied(ShellWords(ShellSource(written, place.line()), &variables_).piece(true), questions);
  add_open(subject, questions);
  if (blocks_.active())
    for (const std::string& name : questions.open) out_.open.emplace(name, place.line());
  const bool known = subject.unset().empty();
  blocks_.open_case(known ? std::optional(subject.marked()) : std::nullopt);
  place.at += 4 + std::min(in + 3, rest.size());
}

/// "7b|7B)" of a case; a line that has none is passed over.
void ShellReader::take_label(Place& place) {
  std::string_view rest = place.rest();
  const std::size_t open = rest.starts_with('(') ? 1 : 0, close = rest.find(')');
  if (close == rest.npos) return void(place.at = place.line_end + 1);
  blocks_.label(stripped(rest.substr(open, close - open)));
  place.at += close + 1;
}

/// NAME() { ... }: read where it is called, else at the end.
bool ShellReader::take_function(Place& place) {
  std::string_view rest = place.rest();
  const bool said = rest.starts_with("function ");
  if (said) rest = stripped(rest.substr(9));
  std::size_t length = 0;
  while (length < rest.size() && (is_shell_name(rest[length]) || rest[length] == '-' || rest[length] == ':')) ++length;
  const std::string name(rest.substr(0, length));
  std::string_view behind = stripped(rest.substr(length));
  if (length == 0 || (!said && !behind.starts_with("()"))) return false;
  if (behind.starts_with("()")) behind = stripped(behind.substr(2));
  if (!behind.empty() && !behind.starts_with('{')) return false;
  const std::string_view text = place.source.text;
  const std::size_t open = text.find('{', place.at);
  const std::size_t close =
      open == text.npos || missing_ends_ > most_unclosed ? text.npos : function_end(text, open, place);
  if (close == text.npos) return ++missing_ends_, false;
  if (blocks_.active())
    functions_[name] = place.source.part(open + 1, close - open - 1, place.counter.line(place.source, open));
  place.at = close + 1;
  place.line_known = false;
  return true;
}

/// The bracket on its own line (or at the end of the first one) that closes the one at `open`.
std::size_t ShellReader::function_end(std::string_view text, std::size_t open, const Place& place) {
  if (const std::string_view first = stripped(text.substr(open + 1, std::max(open + 1, place.line_end) - open - 1));
      first.ends_with('}'))
    return text.rfind('}', place.line_end);
  int depth = 1;
  constexpr int most_lines = 2000;
  std::size_t at = std::min(text.find('\n', open), text.size());
  for (int lines = 0; at < text.size() && lines < most_lines; ++lines) {
    ++at;
    if (const auto here = heredoc_at(text, at)) {
      at = here->next - 1;
      continue;
    }
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = stripped(text.substr(at, end - at));
    if (line.starts_with('}') && --depth == 0) return static_cast<std::size_t>(line.data() - text.data());
    if (line.ends_with('{') && !line.starts_with('#')) ++depth;
    at = end;
  }
  return text.npos;
}

Expected<void> ShellReader::call(Place& place, const std::string& name, ShellSource body) {
  const WordsHere here = words_here(place);
  const std::vector<ShellText>& given = here.words;
  assumed_.insert(here.doubts.begin(), here.doubts.end());
  place.at += std::max<std::size_t>(1, here.length);
  called_.insert(name);
  if (++calls_ > most_function_calls || given.empty()) return {};
  const auto outer = variables_.own();
  variables_.set_own(ShellOwnArguments(std::span(given).subspan(1), place.line()));
  auto good = take_text(body, place.depth + 1);
  variables_.set_own(outer);
  return good;
}

namespace {

/// "\\n" and its kin, as echo -e writes them.
ShellText unescaped(const ShellText& text) {
  ShellText out;
  const std::string& marked = text.marked();
  for (std::size_t at = 0; at < marked.size(); ++at) {
    const std::size_t known = marked[at] == '\\' && at + 1 < marked.size()
                                  ? std::string_view("nt\\").find(marked[at + 1])
                                  : std::string_view::npos;
    if (known == std::string_view::npos) out.put(marked[at], text.line(at));
    else out.put("\n\t\\"[known], text.line(at)), ++at;
  }
  return out;
}

}  // namespace

bool is_echo_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word.find_first_not_of("neE", 1) == std::string_view::npos;
}

/// echo '{...}' > ds_config.json.
Expected<void> ShellReader::take_echo(Place& place, ShellWords& words) {
  words.go_on_behind_redirections(false);
  ShellText text;
  bool escapes = false;
  while (words.next()) {
    const std::string& word = words.word().marked();
    if (text.empty() && is_echo_option(word)) {
      escapes = escapes || word.find('e') != word.npos;
      continue;
    }
    if (word.starts_with('-') && text.empty()) continue;
    if (!text.empty()) text.put(' ', words.word().line());
    text.put(words.word());
  }
  const std::string_view whole = place.source.text.substr(place.at);
  const std::size_t end = std::min(words.position(), whole.size());
  if (words.cut()) ++unclosed_;
  if (words.cut() || end == 0 || whole[end - 1] != '>' || text.empty()) return pass_over(place);
  const std::string_view behind = whole.substr(end, std::min(whole.find('\n', end), whole.size()) - end);
  const bool cut = behind.starts_with('>'), appends = cut || (end > 1 && whole[end - 2] == '>');
  ShellWords target(ShellSource(behind.substr(cut ? 1 : 0), place.line()), &variables_);
  if (escapes) text = unescaped(text);
  text.put('\n', text.line());
  const std::size_t line = text.line();
  if (target.next() && !target.word().empty()) keep_file(target.word().shown(), std::move(text), line, appends);
  return step_over(place, end + behind.size());
}

/// In a branch that is not taken: over the whole command, which may have several lines.
Expected<void> ShellReader::pass_over_command(Place& place, std::string_view token) {
  if (assignment_length(token) == 0 && !is_setting_keyword(token)) return pass_over(place);
  ShellWords words(place.source.part(place.at, window(place), place.line()), nullptr);
  while (words.next()) {
  }
  if (words.cut()) return ++unclosed_, to_next_line(place);
  return step_over(place, words.position());
}

/// Behind a command that is none of ours: the next one of the line, or the next line.
Expected<void> ShellReader::pass_over(Place& place) {
  const std::string_view rest = place.rest();
  char quote = 0;
  std::size_t found = rest.npos, unquoted = rest.npos;
  for (std::size_t at = 0; at + 1 < rest.size() && found == rest.npos; ++at) {
    const char c = rest[at];
    const bool separates = c == ';' || rest.substr(at).starts_with("&&") || rest.substr(at).starts_with("||");
    if (separates && unquoted == rest.npos) unquoted = at;
    if (c == '\\' && quote != '\'') ++at;
    else if (quote != 0) quote = c == quote ? char{0} : quote;
    else if (c == '"' || c == '\'') quote = c;
    else if (separates) found = at;
  }
  if (found == rest.npos && quote != 0 && rest.back() != quote) found = unquoted;  // "it's" of a log
  if (found == rest.npos) return to_next_line(place);
  place.at += found + (rest.substr(found).starts_with(";;") ? 0 : rest[found] == ';' ? 1 : 2);
  return {};
}

Expected<void> ShellReader::step_over(Place& place, std::size_t count) {
  place.at += std::max<std::size_t>(1, count);
  const std::string_view text = place.source.text;
  std::size_t signs = std::min(place.at, text.size());
  while (signs > 0 && text[signs - 1] == ';') --signs;
  if (place.at - signs >= 2) place.at -= 2;  // ;; ends a branch of a case
  place.line_known = place.line_known && place.at <= place.line_end;
  return {};
}

}  // namespace stepcast::calibrate
