// What stands behind a $ in a shell script: ${NAME:-otherwise}, ${LIST[@]}, $((...)), $(...).
#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "calibrate/import/shell/expand.h"
#include "calibrate/import/shell/heredoc.h"
#include "calibrate/import/shell/printed.h"
#include "calibrate/import/shell/words.h"
#include "model/base/contains.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::calibrate {

/// The parts of ${...}.
struct ShellParameterParts {
  bool length = false, indirect = false, subscripted = false;
  std::string_view name, subscript, rest;

  explicit ShellParameterParts(std::string_view inside) {
    constexpr std::string_view special = "@*#?!$-";
    length = inside.size() > 1 && inside[0] == '#';
    indirect = inside.size() > 1 && inside[0] == '!';
    if (length || indirect) inside.remove_prefix(1);
    std::size_t end = 0;
    while (end < inside.size() && is_shell_name(inside[end])) ++end;
    if (end == 0 && !inside.empty() && special.find(inside[0]) != special.npos) end = 1;
    name = inside.substr(0, end);
    rest = inside.substr(end);
    const std::size_t close = rest.starts_with('[') ? rest.find(']') : rest.npos;
    subscripted = close != rest.npos;
    if (!subscripted) return;
    subscript = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
  }
  [[nodiscard]] bool all() const { return subscript == "@" || subscript == "*"; }
  [[nodiscard]] bool given() const { return name == "@" || name == "*"; }
  /// ":2", ": -1" and no ":-otherwise"
  [[nodiscard]] bool slices() const {
    return rest.size() > 1 && rest[0] == ':' && std::string_view("-=?+").find(rest[1]) == std::string_view::npos;
  }
};

namespace {

bool is_plain_pattern(std::string_view pattern) { return pattern.find_first_of("*?[]$`\"'\\") == pattern.npos; }

/// ${X%tail} ${X%%.*} ${X#head} ${X##*/}: with one * at most, at the end that is not held on to.
std::optional<std::string> without_end(std::string text, std::string_view rest) {
  const char sign = rest[0];
  const bool longest = rest.size() > 1 && rest[1] == sign;
  std::string_view pattern = rest.substr(longest ? 2 : 1);
  const bool front = sign == '#', any = front ? pattern.starts_with('*') : pattern.ends_with('*');
  if (any) front ? pattern.remove_prefix(1) : pattern.remove_suffix(1);
  if (!is_plain_pattern(pattern)) return std::nullopt;
  if (!any) {
    const bool there = front ? text.starts_with(pattern) : text.ends_with(pattern);
    if (!there) return text;
    return front ? text.substr(pattern.size()) : text.substr(0, text.size() - pattern.size());
  }
  const std::size_t found = front == longest ? text.rfind(pattern) : text.find(pattern);
  if (found == text.npos) return text;
  return front ? text.substr(found + pattern.size()) : text.substr(0, found);
}

/// ${X/a/b} ${X//a/b}.
std::optional<std::string> with_other(const std::string& text, std::string_view rest) {
  const bool all = rest.starts_with("//");
  rest.remove_prefix(all ? 2 : 1);
  const std::size_t slash = rest.find('/');
  const std::string_view from = rest.substr(0, slash), to = slash == rest.npos ? "" : rest.substr(slash + 1);
  if (from.empty() || !is_plain_pattern(from) || !is_plain_pattern(to)) return std::nullopt;
  std::string out;
  std::size_t at = 0;
  for (std::size_t found = text.find(from); found != text.npos; found = text.find(from, at)) {
    out.append(text, at, found - at).append(to);
    at = found + from.size();
    if (!all) break;
  }
  return out.append(text, at, text.npos);
}

/// ${X:first} ${X:first:count}, each a sum.
std::optional<std::string> part_of(const std::string& text, std::string_view rest, ShellVariables& variables) {
  rest.remove_prefix(1);
  const std::size_t colon = rest.find(':');
  const auto number = [&](std::string_view sum) {
    std::string unset;
    return parsed_number<std::size_t>(shell_number(sum, variables, unset, 0));
  };
  const auto first = number(rest.substr(0, colon));
  const auto count = colon == rest.npos ? std::optional(text.npos) : number(rest.substr(colon + 1));
  if (!first || !count) return std::nullopt;
  return text.substr(std::min(*first, text.size()), *count);
}

/// ${@:2} ${@:1:3} ${A[@]:1}: words from there on, or so many of them. $1 is the first of the script's own.
std::optional<std::vector<ShellText>> slice_of(const std::vector<ShellText>& words, std::string_view rest, bool own) {
  rest.remove_prefix(1);
  const std::size_t colon = rest.find(':'), all = words.size();
  const auto from = parsed_number<std::int64_t>(stripped(rest.substr(0, colon)));
  const auto count = colon == rest.npos ? std::optional(all) : parsed_number<std::size_t>(rest.substr(colon + 1));
  if (!from || !count || (own && *from == 0)) return std::nullopt;
  const std::int64_t first = *from < 0 ? static_cast<std::int64_t>(all) + *from : *from - (own ? 1 : 0);
  const std::size_t begin = first < 0 ? all : std::min(static_cast<std::size_t>(first), all);
  const std::size_t end = begin + std::min(*count, all - begin);
  return std::vector(
      words.begin() + static_cast<std::ptrdiff_t>(begin), words.begin() + static_cast<std::ptrdiff_t>(end));
}

std::optional<std::string> reshaped(std::string text, std::string_view rest, ShellVariables& variables) {
  if (rest[0] == '%' || rest[0] == '#') return without_end(std::move(text), rest);
  if (rest[0] == '/') return with_other(text, rest);
  if (rest[0] == ':') return part_of(text, rest, variables);
  if (rest == ",,") return lower_case(text);
  if (rest != "^^") return std::nullopt;
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// The script's own folder, from which its files are looked for anyway; "" where the command asks something else.
std::string folder_command(std::string_view command) {
  const auto begins = [&](std::string_view word) { return command.starts_with(word); };
  const auto has = [&](std::string_view word) { return command.find(word) != command.npos; };
  if (command == "pwd") return ".";
  const bool own = has("$0") || has("${0") || has("BASH_SOURCE");
  if (!own || !(begins("cd") || begins("dirname") || begins("realpath") || begins("readlink"))) return {};
  return has("/../..") ? "../.." : has("/..") ? ".." : ".";
}

/// The name of which "realpath -e NAME" or "readlink -f NAME" prints where it lies: the same file or folder. Nothing
/// where the command prints something else.
std::optional<std::string_view> resolved_name(std::string_view command) {
  const auto next = [&command] {
    const std::size_t end = std::min(command.find_first_of(" \t"), command.size());
    const std::string_view word = command.substr(0, end);
    command = stripped(command.substr(end));
    return word;
  };
  const std::string_view program = next();
  bool resolves = program == "realpath";
  if (!resolves && program != "readlink") return std::nullopt;
  constexpr std::string_view letters = "efmLPsqz", resolving = "efm";
  constexpr std::string_view words[] = {"--canonicalize", "--canonicalize-existing", "--canonicalize-missing"};
  while (command.starts_with('-')) {
    const std::string_view option = next();
    if (option == "--") break;
    const bool whole = contains(words, option);
    if (!whole && (option.starts_with("--") || option.find_first_not_of(letters, 1) != option.npos))
      return std::nullopt;
    resolves = resolves || whole || option.find_first_of(resolving, 1) != option.npos;
  }
  if (!resolves || command.empty() || command.find_first_of(" \t\n|;&<>") != command.npos) return std::nullopt;
  return command;
}

}  // namespace

namespace {

/// Of ([7b]=32 [13b]=40) the word that a key has, the last one where several have it.
std::optional<std::vector<ShellText>> keyed_words(const ShellValue& value, const std::string& key) {
  const std::string front = "[" + key + "]=";
  const auto found = std::find_if(value.words.rbegin(), value.words.rend(),
      [&](const ShellText& word) { return word.marked().starts_with(front); });
  if (found == value.words.rend()) return std::nullopt;
  ShellText word = *found;
  word.cut(front.size(), std::string::npos);
  return std::vector<ShellText>{std::move(word)};
}

}  // namespace

/// The words that it holds, an element of a list, or all of one; nothing where the list has no such element.
std::optional<std::vector<ShellText>> ShellWords::held_words(
    const ShellParameterParts& parts, const ShellValue& value) {
  doubts_.insert(value.doubts.begin(), value.doubts.end());
  if (value.array && !parts.subscripted && !parts.given() && value.words.size() > 1)
    doubts_.insert(
        fmt::format("{} is a list: bash would hand over its first word, all of them are read here", parts.name));
  if (!parts.subscripted || parts.all()) return value.words;
  const std::string key = expanded(parts.subscript, true).shown();
  if (!value.words.empty() && value.words.front().marked().starts_with('[')) return keyed_words(value, key);
  const auto index = parsed_number<std::size_t>(key);
  if (!index || *index >= value.words.size()) return std::nullopt;
  return std::vector<ShellText>{value.words[*index]};
}

namespace {

/// What nothing sets may be any number of words of any length; braces may stand for several.
bool is_of_unknown_length(const std::vector<ShellText>& words) {
  return std::any_of(words.begin(), words.end(), [](const ShellText& word) {
    return !word.unset().empty() ||
           (word.marked().find('{') != std::string::npos && word.marked().find("..") != std::string::npos);
  });
}

}  // namespace

void ShellWords::put_plain(const std::string& text) {
  for (const char c : text) piece_.put(c, here());
  has_piece_ = true;
}

/// ${NAME:-otherwise} and its kin; true where it is one of them and done with.
bool ShellWords::take_otherwise(
    const ShellParameterParts& parts, const std::vector<ShellText>& words, bool is_set, bool quoted) {
  const std::string_view rest = parts.rest;
  const bool colon =
      rest.size() > 1 && rest[0] == ':' && std::string_view("-=?+").find(rest[1]) != std::string_view::npos;
  const char sign = rest.empty() ? ' ' : rest[colon ? 1 : 0];
  const bool empty = std::all_of(words.begin(), words.end(), [](const ShellText& word) { return word.empty(); });
  const bool there = is_set && !(empty && colon);
  const bool replaces = sign == '-' || sign == '=';
  if (sign != '+' && !replaces && sign != '?') return false;
  if (sign == '+' ? there : (replaces && !there)) {
    const ShellText otherwise = expanded(rest.substr(colon ? 2 : 1), true);
    if (sign == '=' && !parts.name.empty())
      variables_->set(std::string(parts.name), ShellValue{{otherwise}, false, here(), 0, {}});
    put(otherwise, quoted);
    return true;
  }
  if (sign == '+') return true;
  if (!is_set) return false;
  put_words(words, quoted);
  return true;
}

void ShellWords::take_parameter(std::string_view inside, std::string_view written, bool quoted) {
  if (variables_ == nullptr) return put_plain("$");
  const ShellParameterParts parts(inside);
  const ShellValue* value = parts.indirect ? nullptr : variables_->find(parts.given() ? "@" : parts.name);
  if (value != nullptr && !variables_->spend(value->size())) value = nullptr;
  vanishes_ = (parts.given() || parts.all()) && (value == nullptr || value->words.empty());
  if (parts.given() && value == nullptr && parts.slices()) return put_unset(written, written);
  if (parts.given() && value == nullptr)
    return void(
        doubts_.insert("the script's own arguments ($@) are not known: those that would be handed on are not here"));
  std::vector<ShellText> words;
  if (value != nullptr) {
    auto held = held_words(parts, *value);
    if (!held) return put_unset(fmt::format("{}[{}]", parts.name, parts.subscript), written);
    words = std::move(*held);
  }
  const bool many = parts.all() || parts.given();
  if (parts.length && is_of_unknown_length(words)) return put_unset(written, written);
  if (parts.length && value != nullptr)
    return put_plain(fmt::format("{}", many ? words.size() : value->joined().shown().size()));
  if (!parts.length && take_otherwise(parts, words, value != nullptr, quoted)) return;
  if (value == nullptr) return put_unset(parts.name.empty() || parts.indirect ? written : parts.name, written);
  if (parts.rest.empty()) return put_words(words, quoted);
  if (const std::string shown = many && parts.slices() ? expanded(parts.rest, true).shown() : ""; !shown.empty())
    if (const auto some = slice_of(words, shown, parts.given())) {
      vanishes_ = some->empty();
      return put_words(*some, quoted);
    }
  const ShellText whole = value->joined();
  const auto shaped = whole.unset().empty() && !many ? reshaped(whole.shown(), parts.rest, *variables_) : std::nullopt;
  if (!shaped) return put_unset(written, written);
  ShellText out;
  out.put(*shaped, here());
  put(out, quoted);
}

/// Of $(cat <<EOT ... EOT), whose last line ends are gone.
ShellText ShellWords::heredoc_value(std::string_view body, bool expands) {
  while (body.ends_with('\n')) body.remove_suffix(1);
  if (expands) return expanded(body, false);
  ShellText text;
  text.put(std::string(body), here());
  return text;
}

void ShellWords::take_command(std::string_view inside, std::string_view written, bool quoted) {
  if (variables_ == nullptr) return put_plain("$");
  const std::string_view command = stripped(inside);
  if (command.empty() || command[0] == '#') return;  // a comment between the lines of a command
  ShellText known;
  known.put(folder_command(command), here());
  if (const auto text = command.starts_with("cat ") ? heredoc_at(command, 0) : std::nullopt;
      text && text->header == "cat" && text->target.empty())
    known = heredoc_value(command.substr(text->body, text->end - text->body), text->expands);
  for (const std::string_view finds : {"which ", "command -v "})
    if (command.starts_with(finds)) known = expanded(stripped(command.substr(finds.size())), true);
  if (const auto name = resolved_name(command); name && known.empty()) known = expanded(*name, true);
  if (command.starts_with("expr ")) {
    std::string sum(command.substr(5)), unset;
    std::erase(sum, '\\');
    known.put(shell_number(sum, *variables_, unset, depth_), here());
  }
  if (!known.empty()) return put(known, quoted);
  const ShellPrinted printed = shell_printed(command, *variables_, depth_);
  doubts_.insert(printed.doubts.begin(), printed.doubts.end());
  if (printed.text) return known.put(*printed.text, here()), put(known, quoted);
  if (!printed.unset.empty()) return put_unset(printed.unset, written);
  constexpr std::size_t longest_name = 80;
  put_unset(fmt::format("$({})", command.substr(0, longest_name)), written);
}

void ShellWords::take_arithmetic(std::string_view inside, std::string_view written, bool) {
  if (variables_ == nullptr) return put_plain("$");
  std::string unset;
  const std::string value = shell_number(inside, *variables_, unset, depth_);
  if (value.empty()) return put_unset(unset.empty() ? written : unset, written);
  put_plain(value);
}

std::string shell_number(std::string_view inside, ShellVariables& variables, std::string& unset, int depth) {
  constexpr int deepest = 32;
  if (depth >= deepest) return {};
  const ShellText text = ShellWords(ShellSource(inside, 1), &variables, depth + 1).piece(true);
  if (const auto names = text.unset(); !names.empty()) return unset = names.front(), std::string();
  const std::string& plain = text.marked();
  std::string numbers;
  for (std::size_t i = 0; i < plain.size();) {
    std::size_t length = 0;
    while (i + length < plain.size() && is_shell_name(plain[i + length])) ++length;
    if (length == 0 || std::isdigit(static_cast<unsigned char>(plain[i])) != 0) {
      numbers += plain.substr(i, std::max<std::size_t>(1, length));
    } else {
      const std::string name = plain.substr(i, length);
      const ShellValue* value = variables.find(name);
      if (value == nullptr || !variables.spend(value->size())) return unset = name, std::string();
      const ShellText held = value->joined();
      if (const auto names = held.unset(); !names.empty()) return unset = names.front(), std::string();
      numbers += "(" + held.shown() + ")";
    }
    i += std::max<std::size_t>(1, length);
  }
  return shell_arithmetic(numbers);
}

}  // namespace stepcast::calibrate
