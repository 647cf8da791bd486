// One-line conditions ([ A = B ] && C), sums that set variables (((N *= 2)), let), and what read sets.
#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibrate/import/shell/reader.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// Of an unquoted `sign` in `text`; npos: none.
std::size_t find_unquoted(std::string_view text, std::string_view sign) {
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote == 0 && text.substr(at).starts_with(sign) && (sign != "\n" || at == 0 || text[at - 1] != '\\')) return at;
    if (c == '\\' && quote != '\'') ++at;
    else if (quote != 0) quote = c == quote ? char{0} : quote;
    else if (c == '\'' || c == '"') quote = c;
  }
  return text.npos;
}

struct GuardForm {
  std::string_view opens, closes;
};
constexpr GuardForm guard_forms[] = {{"[[", " ]]"}, {"[", " ]"}, {"((", "))"}, {"test", " "}};

/// As read splits a line: blanks in a row are one separator, other signs one each; the last of `most` pieces takes the
/// rest. 0: as many as there are.
std::vector<std::string> split_for_read(std::string_view text, std::string_view separators, std::size_t most) {
  constexpr std::string_view blanks = " \t\n";
  const bool runs = separators.find_first_not_of(blanks) == separators.npos;
  std::vector<std::string> pieces;
  if (runs) text = stripped(text);
  while (!text.empty()) {
    const std::size_t end = separators.empty() || pieces.size() + 1 == most
                                ? text.size()
                                : std::min(text.find_first_of(separators), text.size());
    pieces.emplace_back(stripped(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (runs) text = stripped(text);
  }
  return pieces;
}

ShellTruth turned(ShellTruth holds) {
  return holds == ShellTruth::unknown ? holds : holds == ShellTruth::yes ? ShellTruth::no : ShellTruth::yes;
}

}  // namespace

/// What stands behind "&&" or "||" of a test, up to the end of the line or a semicolon, is read as if in an if; what
/// follows "A && B ||" as its else. Other commands in front of these signs are taken to succeed.
bool ShellReader::take_guard(Place& place, std::string_view token) {
  const auto form = std::find_if(std::begin(guard_forms), std::end(guard_forms),
      [&](const GuardForm& row) { return token == row.opens || (row.opens == "((" && token.starts_with("((")); });
  if (form == std::end(guard_forms)) return false;
  const std::string_view here = place.rest();
  if (here.find("&&") == here.npos && here.find("||") == here.npos && form->opens != "((") return false;
  const std::string_view rest = place.source.text.substr(place.at, window(place));
  const std::size_t newline = find_unquoted(rest, "\n");
  if (newline == rest.npos && place.at + rest.size() < place.source.text.size()) return ++unclosed_, false;
  const std::string_view line = rest.substr(0, std::min(newline, rest.size()));
  const bool test = form->opens == "test";
  std::size_t end = std::min(find_unquoted(line, "&&"), find_unquoted(line, "||"));
  // A sum may hold brackets of its own.
  const std::size_t whole = form->opens == "((" ? after_bracket(line, 0) : line.npos;
  const std::size_t close = test                  ? line.npos
                            : form->opens != "((" ? line.find(form->closes)
                            : whole == line.npos  ? whole
                                                  : whole - form->closes.size();
  if (close != line.npos) {
    const std::size_t behind = close + form->closes.size();
    const std::size_t sign = line.find_first_not_of(" \t", behind);
    end = sign != line.npos && (line.substr(sign, 2) == "&&" || line.substr(sign, 2) == "||") ? sign : line.npos;
    if (form->opens == "((" && end == line.npos) return take_sum(place, line.substr(2, close - 2), behind);
  }
  if (end >= line.size()) return false;
  std::string condition(stripped(line.substr(0, end)));
  if (test) condition = fmt::format("[ {} ]", stripped(std::string_view(condition).substr(4)));
  const bool both = line[end] == '&';
  const ShellTruth holds = truth_of(ShellSource(condition, place.line()));
  const std::size_t start = end + 2;
  std::size_t stop = start + std::min(find_unquoted(line.substr(start), ";"), line.size() - start);
  const std::size_t brace = line.find_first_not_of(" \t", start);
  const bool braced = brace != line.npos && line[brace] == '{';
  if (braced && missing_ends_ <= most_unclosed) {
    const std::size_t close = function_end(place.source.text, place.at + brace, place);
    if (close == rest.npos) ++missing_ends_;
    else stop = close + 1 - place.at;
  }
  const std::string_view body = rest.substr(start, stop - start);
  const std::size_t other = both && !braced ? std::min(find_unquoted(body, "||"), body.size()) : body.size();
  const auto part = [&](std::size_t at, std::size_t count) {
    return place.source.part(place.at + start + at, count, place.counter.line(place.source, place.at));
  };
  blocks_.open_if(both ? holds : turned(holds));
  inner_ = take_text(part(0, other), place.depth + 1);
  if (inner_ && other < body.size()) {
    blocks_.else_if(ShellTruth::yes);
    inner_ = take_text(part(other + 2, body.size() - other - 2), place.depth + 1);
  }
  blocks_.close(false);
  place.at += stop, place.line_known = false;
  return true;
}

/// "N=8", "N*=2", "N++"; of anything else N is not known. `length`: of the whole command.
bool ShellReader::take_sum(Place& place, std::string_view inside, std::size_t length) {
  set_by_sum(stripped(inside), place.line());
  place.at += length, place.line_known = false;
  return true;
}

void ShellReader::set_by_sum(std::string_view sum, std::size_t line) {
  std::size_t end = 0;
  while (end < sum.size() && is_shell_name(sum[end])) ++end;
  const std::string name(sum.substr(0, end));
  const std::string_view behind = stripped(sum.substr(end));
  const std::size_t equals = behind.find('=');
  const bool steps = behind == "++" || behind == "--", plain = equals == 0 && !behind.starts_with("==");
  const bool changes = equals == 1 && std::string_view("+-*/%").find(behind[0]) != std::string_view::npos;
  if (assignment_length(name + "=") == 0 || (!steps && !plain && !changes)) return;
  const std::string text = plain     ? std::string(behind.substr(1))
                           : changes ? fmt::format("{} {} ({})", name, behind[0], behind.substr(2))
                                     : fmt::format("{} {} 1", name, behind[0]);
  std::string unset;
  const std::string value = shell_number(text, variables_, unset, 0);
  if (!unset.empty() || value.empty()) return variables_.forget(name);
  ShellText number;
  number.put(value, line);
  apply({{name, ShellValue{{number}, false, line, 0, {}}}}, true);
}

/// let "N *= 2" M=3.
Expected<void> ShellReader::take_let(Place& place) {
  const std::size_t line = place.line();
  const WordsHere here = words_here(place);
  for (std::size_t i = 1; i < here.words.size(); ++i) set_by_sum(here.words[i].marked(), line);
  return here.cut ? pass_over(place) : step_over(place, here.length);
}

/// "IFS=, read -ra SIZES <<< $LIST" sets words of a text that is known. What read and mapfile take from elsewhere is
/// not.
Expected<void> ShellReader::take_read(Place& place) {
  const std::size_t line = place.line();
  const WordsHere here = words_here(place);
  std::string separators = " \t\n";
  std::size_t command = 0;
  if (const std::string first = here.words.empty() ? "" : here.words[0].shown(); first.starts_with("IFS="))
    separators = first.substr(4), command = 1;
  bool separated = command == 0 || here.words[0].unset().empty();
  if (const ShellValue* set = variables_.find("IFS"); set != nullptr && command == 0) {
    const ShellText own = set->joined();
    const bool usual = own.whole_unset() && own.unset() == std::vector<std::string>{"IFS"};  // OLD=$IFS; IFS=$OLD
    separated = usual || (own.unset().empty() && set->doubts.empty());
    if (!usual) separators = own.shown();
  }
  bool array = false, plain = separated && here.words.size() > command && here.words[command].shown() == "read";
  std::vector<std::string> names;
  for (std::size_t i = command + 1; i < here.words.size(); ++i) {
    const std::string word = here.words[i].shown();
    if (assignment_length(word + "=") > 0) names.push_back(word), variables_.forget(word);
    else if (word == "-a" || word == "-ra" || word == "-ar") array = true;
    else plain = plain && word == "-r";
  }
  if (here.cut) return pass_over(place);
  TRY(step_over(place, here.length));
  // the signs ended the command
  if (!place.line_known || !place.source.text.substr(0, place.at).ends_with("<<<")) return {};
  const WordsHere text = words_here(place);
  if (text.cut || text.words.empty()) return pass_over(place);
  std::string whole;  // a variable without quotes stays one text there
  for (const ShellText& word : text.words) {
    plain = plain && word.unset().empty();
    whole += (whole.empty() ? "" : " ") + word.shown();
  }
  whole.resize(std::min(whole.find('\n'), whole.size()));  // it reads one line
  if (plain && (array ? names.size() == 1 : !names.empty())) {
    Settings set;
    std::vector<ShellText> pieces;
    for (std::string& piece : split_for_read(whole, separators, array ? 0 : names.size()))
      pieces.emplace_back().put(piece, line);
    if (array) set.emplace_back(names.front(), ShellValue{std::move(pieces), true, line, 0, {}});
    for (std::size_t i = 0; !array && i < names.size(); ++i)
      set.emplace_back(names[i], ShellValue{{i < pieces.size() ? pieces[i] : ShellText()}, false, line, 0, {}});
    apply(std::move(set), true);
  }
  return step_over(place, text.length);
}

/// "IFS=, read ...", whose command stands behind what is set for it alone.
bool ShellReader::reads_behind(Place& place, std::string_view token) {
  if (!token.starts_with("IFS=")) return false;
  const WordsHere here = words_here(place);
  const std::string command = here.words.size() < 2 ? "" : here.words[1].shown();
  return command == "read" || command == "mapfile" || command == "readarray";
}

}  // namespace stepcast::calibrate
