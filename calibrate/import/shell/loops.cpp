// Loops of a shell script. What is done is read once, but for loops over the script's own arguments, which are read
// turn by turn.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "calibrate/import/shell/reader.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::calibrate {
namespace {

// Nobody hands a script more arguments.
constexpr int most_turns = 1000;

bool holds_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_shell_name(text[at - 1]), end = at + word.size() >= text.size();
    if (begins && (end || !is_shell_name(text[at + word.size()]))) return true;
  }
  return false;
}

/// As a command of its own: in front of a line, or behind what ends another.
bool runs_shift(std::string_view text) {
  constexpr std::string_view word = "shift";
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if (end < text.size() && (is_shell_name(text[end]) || text[end] == '-')) continue;
    std::string_view before = text.substr(0, at);
    while (before.ends_with(' ') || before.ends_with('\t')) before.remove_suffix(1);
    const bool fresh = before.empty() || std::string_view("\n;)&|{").find(before.back()) != std::string_view::npos;
    if (fresh || before.ends_with(" then") || before.ends_with(" else") || before.ends_with("\nelse")) return true;
  }
  return false;
}

/// Without $(...), whose $1 may be another program's.
std::string without_commands(std::string_view condition) {
  const std::size_t open = condition.find("$("), close = condition.rfind(')');
  if (open == condition.npos || close == condition.npos || close < open) return std::string(condition);
  return std::string(condition.substr(0, open)) + std::string(condition.substr(close + 1));
}

bool is_always(std::string_view condition) { return condition == "true" || condition == ":"; }

/// Does a loop with this condition take the script's own arguments, one turn after another?
bool takes_own(std::string_view condition, std::string_view body) {
  if (holds_word(condition, "getopts")) return true;
  if (is_always(condition)) return runs_shift(body);
  const bool tests = condition.starts_with('[') || condition.starts_with("((") || condition.starts_with("! [");
  const std::string tested = without_commands(condition);
  for (const std::string_view own : {"$#", "${#}", "$1", "${1", "$@", "$*"})
    if (tests && tested.find(own) != tested.npos) return true;
  return false;
}

}  // namespace

/// for NAME in A B: what is done is read once; its variable is known where there is one value only, or --define says
/// which. Of the script's own arguments, or of none, it is read for each.
bool ShellReader::take_loop(Place& place) {
  std::string_view rest = stripped(place.rest().substr(3));
  const std::string name(first_token(rest));
  const bool reads = assignment_length(name + "=") > 0 && blocks_.active();
  rest = stripped(rest.substr(name.size()));
  rest = stripped(rest.substr(0, rest.find(';')));
  const bool own = rest == "in $*" || rest == "in $@" || rest == "in \"$@\"" || rest.empty();
  if (reads && own) return take_own_for(place, name);
  loops_ += 'f';
  pass_over(place);
  if (!reads) return true;
  variables_.forget(name);
  if (const auto told = defined_.find(name); told != defined_.end()) {
    set_plain(name, told->second, place.line());
    return true;
  }
  if (rest.starts_with("in ") && stripped(rest.substr(3)).find_first_of(" \t$`*{") == rest.npos)
    set_plain(name, stripped(rest.substr(3)), place.line());
  return true;
}

/// The condition of the loop at `place`, and what it does; nothing where its end is not found.
std::optional<ShellReader::Loop> ShellReader::loop_here(Place& place, std::size_t keyword) {
  const std::string_view text = place.source.text;
  const std::size_t behind = text.find_first_of(";\n", place.at);
  const std::size_t open = missing_ends_ > most_unclosed ? text.npos : text.find("do", behind);
  const std::size_t close = loop_end(text, open);
  if (close == text.npos) return ++missing_ends_, std::nullopt;
  const std::size_t condition = place.at + keyword;
  Loop loop;
  loop.line = place.line();
  loop.condition = {stripped(text.substr(condition, std::max(condition, behind) - condition)), loop.line};
  loop.body = place.source.part(open + 2, close - open - 2, place.counter.line(place.source, open + 2));
  loop.body.text.remove_suffix(std::string_view("done").size());
  loop.end = close;
  return loop;
}

/// Nobody gives the script arguments unless they are defined: then it is never run, and a note says so.
bool ShellReader::passes_own(Place& place, const Loop& loop) {
  place.at = loop.end, place.line_known = false;
  if (variables_.own()) return false;
  assumed_.insert(fmt::format("line {} goes through the script's arguments: read as if there were none", loop.line));
  return true;
}

bool ShellReader::take_own_for(Place& place, const std::string& name) {
  const auto loop = loop_here(place, 3);
  if (!loop) return loops_ += 'f', pass_over(place), true;
  if (passes_own(place, *loop)) return true;
  const ShellOwnArguments given = *variables_.own();
  for (std::size_t i = given.first; i < given.each.size() && inner_; ++i) {
    variables_.set(name, given.each[i]);
    if (take_turn(*loop, place.depth)) break;
  }
  return true;
}

/// while and until: one that takes the script's own arguments is read turn by turn.
bool ShellReader::take_while(Place& place, std::string_view token) {
  const std::size_t start = place.at;
  const auto loop = blocks_.active() ? loop_here(place, token.size()) : std::nullopt;
  if (!loop || !takes_own(loop->condition.text, loop->body.text))
    return loops_ += token[0], place.at = start + token.size(), true;
  if (passes_own(place, *loop)) return true;
  const bool options = holds_word(loop->condition.text, "getopts");
  for (int turn = 0; inner_; ++turn) {
    ShellTruth holds = options ? next_option(loop->condition) : loop_holds(*loop, token == "until");
    if (turn == most_turns) holds = ShellTruth::unknown;
    if (holds == ShellTruth::unknown)
      out_.unfollowed.push_back(fmt::format("line {} loops over the script's arguments as a run decides", loop->line));
    if (holds != ShellTruth::yes) return true;
    const std::size_t before = variables_.own()->size();
    if (take_turn(*loop, place.depth)) return true;
    if (!options && variables_.own()->size() == before) turn = most_turns - 1;  // it would go on without end
  }
  return true;
}

/// Of $1 to $9 those that nobody gives are empty: which are there is known here.
ShellTruth ShellReader::loop_holds(const Loop& loop, bool until) {
  std::set<std::string> empty = empty_ == nullptr ? std::set<std::string>() : *empty_;
  for (std::size_t i = variables_.own()->size() + 1; i < 10; ++i) empty.insert(fmt::format("{}", i));
  ShellQuestions questions{&empty, {}, {}};
  const ShellTruth holds =
      is_always(loop.condition.text) ? ShellTruth::yes : shell_condition(loop.condition, variables_, questions);
  if (!until || holds == ShellTruth::unknown) return holds;
  return holds == ShellTruth::yes ? ShellTruth::no : ShellTruth::yes;
}

/// One turn; true where it leaves the loop.
bool ShellReader::take_turn(const Loop& loop, int depth) {
  const std::size_t outer = std::exchange(own_loop_, loops_.size() + 1);
  inner_ = take_text(loop.body, depth + 1);
  own_loop_ = outer;
  return std::exchange(leaves_, Leaves::none) == Leaves::loop;
}

/// break and continue of a loop that is read turn by turn; of other loops they are passed over. What leaves more than
/// this loop is not followed.
bool ShellReader::take_leave(Place& place, std::string_view token) {
  const bool ends = token == "return" || token == "exit", leaves = token == "break" || token == "continue";
  if (own_loop_ == 0 || (!ends && !leaves)) return false;
  const std::string_view rest = stripped(place.rest().substr(token.size()));
  const bool counted = leaves && !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
  if (ends || counted) {
    out_.unfollowed.push_back(fmt::format("line {} leaves a loop as a run decides", place.line()));
    return false;
  }
  if (own_loop_ != loops_.size() + 1) return false;
  if (blocks_.undecided())
    out_.unfollowed.push_back(fmt::format("line {} leaves a loop as a run decides", place.line()));
  leaves_ = token == "break" ? Leaves::loop : Leaves::turn;
  return place.at += token.size(), true;
}

/// getopts "t:p:" NAME: the next option goes into NAME, and its value into OPTARG.
ShellTruth ShellReader::next_option(const ShellSource& condition) {
  ShellWords reader(condition, &variables_);
  std::vector<std::string> words;
  while (reader.next()) words.push_back(reader.word().shown());
  if (words.size() != 3 || words[0] != "getopts") return ShellTruth::unknown;
  const std::string &letters = words[1], &name = words[2];
  const ShellValue* index = variables_.find("OPTIND");
  const auto at =
      index == nullptr ? std::optional<std::size_t>(1) : parsed_number<std::size_t>(index->joined().shown());
  const ShellOwnArguments& own = *variables_.own();
  if (!at || *at == 0) return ShellTruth::unknown;
  const auto word = [&](std::size_t number) { return own.each[own.first + number - 1].joined(); };
  const std::string option = *at <= own.size() ? word(*at).shown() : "";
  set_plain("OPTIND", fmt::format("{}", *at), condition.line);
  if (option.size() < 2 || option[0] != '-' || option == "--") return ShellTruth::no;
  const std::size_t row = letters.find(option[1]);
  const bool valued = row != letters.npos && row + 1 < letters.size() && letters[row + 1] == ':';
  const bool glued = option.size() > 2;
  if (row == letters.npos || glued != (glued && valued) || (valued && !glued && *at == own.size()))
    return ShellTruth::unknown;
  set_plain(name, option.substr(1, 1), condition.line);
  if (valued && !glued) variables_.set("OPTARG", own.each[own.first + *at]);
  else if (valued) set_plain("OPTARG", std::string_view(option).substr(2), condition.line);
  set_plain("OPTIND", fmt::format("{}", *at + (valued && !glued ? 2 : 1)), condition.line);
  return ShellTruth::yes;
}

/// Behind the "done" of the loop whose "do" is at `open`, each a word at the front of a line or behind a semicolon.
std::size_t ShellReader::loop_end(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size();) {
    const std::string_view word = first_token(text.substr(at));
    if (word == "do") ++depth;
    if (word == "done" && --depth == 0) return at + 4;
    at = std::min(text.find_first_of(";\n", at), text.size());
    at = std::min(text.find_first_not_of("; \t\n", at), text.size());
  }
  return text.npos;
}

void ShellReader::end_loop() {
  if (!loops_.empty()) loops_.pop_back();
  if (!loops_.empty() || loop_shift_ == 0) return;
  if (variables_.own() && variables_.own()->size() > 0)
    out_.unfollowed.push_back(
        fmt::format("line {} shifts the script's arguments in a loop, of which one turn is read", loop_shift_));
  loop_shift_ = 0;
}

}  // namespace stepcast::calibrate
