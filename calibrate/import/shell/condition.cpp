// Conditions of a shell script that can be told from what the script itself sets.
#include <algorithm>
#include <optional>
#include <vector>

#include "calibrate/import/shell/expand.h"
#include "calibrate/import/shell/words.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::calibrate {
namespace {

ShellTruth truth(bool value) { return value ? ShellTruth::yes : ShellTruth::no; }
ShellTruth opposite(ShellTruth value) {
  if (value == ShellTruth::unknown) return value;
  return truth(value == ShellTruth::no);
}

ShellTruth shell_compared(const std::string& left, std::string_view sign, const std::string& right, bool patterns) {
  if (sign == "=" || sign == "==" || sign == "!=") {
    const bool open = patterns && right.find_first_of("*?[") != right.npos;
    if (open) return sign == "!=" ? opposite(shell_pattern(right, left)) : shell_pattern(right, left);
    return truth((left == right) == (sign != "!="));
  }
  const auto a = parsed_number<long long>(left), b = parsed_number<long long>(right);
  if (!a || !b) return ShellTruth::unknown;
  if (sign == "-eq") return truth(*a == *b);
  if (sign == "-ne") return truth(*a != *b);
  if (sign == "-lt") return truth(*a < *b);
  if (sign == "-le") return truth(*a <= *b);
  if (sign == "-gt") return truth(*a > *b);
  if (sign == "-ge") return truth(*a >= *b);
  return ShellTruth::unknown;
}

/// The words between the brackets. A variable that nothing sets is empty for -z and -n, and unknown elsewhere.
ShellTruth tested(std::vector<ShellText> words, bool patterns, ShellQuestions& questions) {
  bool turned = false;
  for (ShellText& word : words) word = shell_emptied(word, questions);
  while (!words.empty() && words.front().marked() == "!") turned = !turned, words.erase(words.begin());
  ShellTruth result = ShellTruth::unknown;
  const auto known = [&](std::size_t i) { return words[i].unset().empty(); };
  if (words.size() == 2 && (words[0].marked() == "-z" || words[0].marked() == "-n")) {
    const bool empty = words[1].empty() || words[1].whole_unset();
    const bool from_command = words[1].whole_unset() && words[1].unset().front().find('(') != std::string::npos;
    if (known(1) || (empty && !from_command)) result = truth(empty == (words[0].marked() == "-z"));
    if (!known(1) && result != ShellTruth::unknown) questions.assumed.push_back(words[1].unset().front());
  } else if (words.size() == 3 && known(0) && known(1) && known(2)) {
    result = shell_compared(words[0].marked(), words[1].marked(), words[2].marked(), patterns);
  } else if (words.size() == 1 && known(0)) {
    result = truth(!words[0].empty());
  }
  if (result == ShellTruth::unknown)
    for (const ShellText& word : words) add_open(word, questions);
  return turned ? opposite(result) : result;
}

/// "--*=?" of letters, "*" and "?".
bool glob_matches(std::string_view pattern, std::string_view subject) {
  std::size_t p = 0, s = 0, star = pattern.npos, from = 0;
  while (s < subject.size()) {
    if (p < pattern.size() && pattern[p] == '*') star = p++, from = s;
    else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == subject[s])) ++p, ++s;
    else if (star != pattern.npos) p = star + 1, s = ++from;
    else return false;
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

/// ((A > 1)) and ((A)): one comparison, or a number.
ShellTruth sum_shell_compared(std::string_view inside, ShellVariables& variables) {
  for (const auto& [sign, name] :
      {std::pair{"==", "-eq"}, {"!=", "-ne"}, {"<=", "-le"}, {">=", "-ge"}, {"<", "-lt"}, {">", "-gt"}}) {
    const std::string_view written = sign;
    const std::size_t at = inside.find(written);
    if (at == inside.npos) continue;
    std::string unset;
    return shell_compared(shell_number(inside.substr(0, at), variables, unset, 0), name,
        shell_number(inside.substr(at + written.size()), variables, unset, 0), false);
  }
  std::string unset;
  const auto number = parsed_number<long long>(shell_number(inside, variables, unset, 0));
  return number ? truth(*number != 0) : ShellTruth::unknown;
}

/// Of "a && b" and "a || b", where one may decide for both.
ShellTruth joined_truth(ShellTruth left, std::string_view sign, ShellTruth right) {
  const ShellTruth decides = sign == "&&" ? ShellTruth::no : ShellTruth::yes;
  if (left == decides || right == decides) return decides;
  return left == ShellTruth::unknown || right == ShellTruth::unknown ? ShellTruth::unknown : opposite(decides);
}

ShellTruth bracket_truth(
    std::string_view inside, std::size_t line, bool patterns, ShellVariables& variables, ShellQuestions& questions) {
  ShellWords reader(ShellSource(inside, line), &variables);
  std::vector<ShellText> words;
  while (reader.next()) words.push_back(reader.word());
  const std::size_t end = reader.position();
  if (reader.cut() || end > inside.size()) return ShellTruth::unknown;
  const std::string_view sign = end >= 2 ? inside.substr(end - 2, 2) : std::string_view();
  if (patterns && end < inside.size() && (sign == "&&" || sign == "||"))
    return joined_truth(tested(std::move(words), patterns, questions), sign,
        bracket_truth(inside.substr(end), line, patterns, variables, questions));
  return end < inside.size() ? ShellTruth::unknown : tested(std::move(words), patterns, questions);
}

}  // namespace

ShellText shell_emptied(const ShellText& text, const ShellQuestions& questions) {
  const std::vector<std::string> unset = text.unset();
  const auto* empty = questions.empty;
  if (empty == nullptr || unset.empty() ||
      !std::all_of(unset.begin(), unset.end(), [&](const std::string& name) { return empty->contains(name); }))
    return text;
  ShellText left;
  const std::string& marked = text.marked();
  for (std::size_t at = 0; at < marked.size(); ++at) {
    if (marked[at] == unset_begin) at = std::min(marked.find(unset_end, at), marked.size());
    else left.put(marked[at], text.line(at));
  }
  return left;
}

void add_open(const ShellText& text, ShellQuestions& questions) {
  for (std::string& name : text.unset())
    if (name.find('(') == std::string::npos) questions.open.push_back(std::move(name));
}

ShellTruth shell_pattern(std::string_view pattern, std::string_view subject) {
  bool unknown = false;
  for (std::size_t at = 0; at <= pattern.size();) {
    const std::size_t end = std::min(pattern.find('|', at), pattern.size());
    std::string_view one = stripped(pattern.substr(at, end - at));
    at = end + 1;
    if (one.size() >= 2 && (one[0] == '"' || one[0] == '\'') && one.back() == one[0])
      one = one.substr(1, one.size() - 2);
    if (one.find_first_of("()[]$`\"'\\") != one.npos) unknown = true;
    else if (glob_matches(one, subject)) return ShellTruth::yes;
  }
  return unknown ? ShellTruth::unknown : ShellTruth::no;
}

ShellTruth shell_condition(const ShellSource& source, ShellVariables& variables, ShellQuestions& questions) {
  constexpr std::size_t longest = 4096;
  std::string_view text = stripped(source.text.substr(0, longest));
  const bool turned = text.starts_with("! ");
  if (turned) text = stripped(text.substr(2));
  const bool sum = text.starts_with("(("), patterns = text.starts_with("[[");
  if (!sum && !text.starts_with("[")) return ShellTruth::unknown;
  const std::string_view closing = sum ? "))" : patterns ? " ]]" : " ]";
  const std::size_t open = sum || patterns ? 2 : 1, close = text.find(closing, open);
  if (close == text.npos) return ShellTruth::unknown;
  const std::string_view inside = text.substr(open, close - open);
  ShellTruth result =
      sum ? sum_shell_compared(inside, variables) : bracket_truth(inside, source.line, patterns, variables, questions);
  if (turned) result = opposite(result);
  const std::string_view behind = stripped(text.substr(close + closing.size()));
  const std::string_view sign = behind.substr(0, 2);
  if (sign == "&&" || sign == "||")
    return joined_truth(result, sign, shell_condition({behind.substr(2), source.line}, variables, questions));
  const bool ends = behind.empty() || behind[0] == ';' || behind[0] == '#';
  return ends ? result : ShellTruth::unknown;
}

}  // namespace stepcast::calibrate
