#include "calibrate/import/shell/text_tools.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/shell/words.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::calibrate {
namespace {

using ToolText = std::optional<std::string>;
using ToolWords = std::span<const std::string>;

/// Lines without their ends; a text without a last line end has that line too.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// At each `sign`, empty ones too.
std::vector<std::string> split_at(const std::string& line, const std::string& sign) {
  std::vector<std::string> fields(1);
  for (std::size_t at = 0; at < line.size();) {
    const bool here = line.compare(at, sign.size(), sign) == 0;
    if (here) fields.emplace_back(), at += sign.size();
    else fields.back() += line[at++];
  }
  return fields;
}

std::vector<std::string> split_at_blanks(const std::string& line) {
  std::vector<std::string> fields;
  bool in_field = false;
  for (const char c : line) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!blank && !in_field) fields.emplace_back();
    if (!blank) fields.back() += c;
    in_field = !blank;
  }
  return fields;
}

/// Letters that mean themselves in patterns of sed, grep and awk.
bool means_itself(std::string_view pattern) {
  return !pattern.empty() && pattern.find_first_of(".*?[]^$\\+(){}|") == pattern.npos;
}

/// "-d," and "-d ,": the options of one letter with a value, by their letter; nothing where there are others, or words.
struct LetterOptions {
  std::vector<std::pair<char, std::string>> values;
  bool known = true;
  [[nodiscard]] const std::string* find(char letter) const {
    for (const auto& [name, value] : values)
      if (name == letter) return &value;
    return nullptr;
  }
};
LetterOptions options_of(ToolWords words, std::string_view letters) {
  LetterOptions out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word[0] != '-' || letters.find(word[1]) == letters.npos) return out.known = false, out;
    const bool glued = word.size() > 2;
    if (!glued && i + 1 == words.size()) return out.known = false, out;
    out.values.emplace_back(word[1], glued ? word.substr(2) : words[++i]);
  }
  return out;
}

/// cut -d: -f1 (also -f2- and -f1,3), cut -c1-3. A line without the sign stays whole.
ToolText cut_text(ToolWords words, const std::string& input) {
  const LetterOptions options = options_of(words, "dfc");
  const std::string *sign = options.find('d'), *fields = options.find('f'), *letters = options.find('c');
  const std::string* wanted = fields != nullptr ? fields : letters;
  if (!options.known || wanted == nullptr || (fields != nullptr && letters != nullptr)) return std::nullopt;
  if (sign != nullptr && sign->size() != 1) return std::nullopt;
  std::vector<std::string> out;
  for (const std::string& line : lines_of(input)) {
    const std::string between = letters != nullptr ? "" : sign != nullptr ? *sign : "\t";
    std::vector<std::string> parts;
    if (letters == nullptr) parts = split_at(line, between);
    else
      for (const char c : line) parts.emplace_back(1, c);
    if (letters == nullptr && parts.size() < 2) {
      out.push_back(line);
      continue;
    }
    std::vector<bool> is_wanted(parts.size(), false);  // printed in the line's order, each once
    for (const std::string& range : split_at(*wanted, ",")) {
      const std::size_t dash = range.find('-');
      const auto first = dash == 0 ? std::optional<std::size_t>(1) : parsed_number<std::size_t>(range.substr(0, dash));
      const auto last = dash == range.npos         ? first
                        : dash + 1 == range.size() ? std::optional(parts.size())
                                                   : parsed_number<std::size_t>(range.substr(dash + 1));
      if (!first || !last || *first == 0) return std::nullopt;
      for (std::size_t at = *first; at <= std::min(*last, parts.size()); ++at) is_wanted[at - 1] = true;
    }
    std::vector<std::string> kept;
    for (std::size_t at = 0; at < parts.size(); ++at)
      if (is_wanted[at]) kept.push_back(parts[at]);
    out.push_back(fmt::format("{}", fmt::join(kept, between)));
  }
  return text_of(out);
}

/// What stands for a letter behind a backslash; nothing where it is not known.
std::optional<char> escaped_letter(char c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case '\\': return '\\';
    default: return std::isalnum(static_cast<unsigned char>(c)) != 0 ? std::nullopt : std::optional(c);
  }
}

/// "\n" as a line end, "a-z" as its letters, "[:upper:]" as its.
ToolText letters_of_set(std::string set) {
  if (set == "[:upper:]") set = "A-Z";
  if (set == "[:lower:]") set = "a-z";
  if (set == "[:space:]") return " \t\n\v\f\r";
  if (set == "[:digit:]") set = "0-9";
  std::string out;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set[i] == '\\' && i + 1 < set.size()) {
      const auto letter = escaped_letter(set[++i]);
      if (!letter) return std::nullopt;
      out += *letter;
    } else if (i + 2 < set.size() && set[i + 1] == '-') {
      if (set[i] > set[i + 2]) return std::nullopt;
      for (int c = set[i]; c <= set[i + 2]; ++c) out += static_cast<char>(c);
      i += 2;
    } else if (set[i] == '[' && set.compare(i, 2, "[:") == 0) {
      return std::nullopt;
    } else out += set[i];
  }
  return out;
}

/// tr A B, tr -d A, tr -s A.
ToolText tr_text(ToolWords words, const std::string& input) {
  const bool deletes = words.size() == 2 && words[0] == "-d", squeezes = words.size() == 2 && words[0] == "-s";
  if (words.size() != 2) return std::nullopt;
  const ToolText from = letters_of_set(words[deletes || squeezes ? 1 : 0]), to = letters_of_set(words[1]);
  if (!from || !to || from->empty() || to->empty() || (!deletes && !squeezes && words[0].starts_with('-')))
    return std::nullopt;
  std::string out;
  for (const char c : input) {
    const std::size_t at = from->find(c);
    if (at == from->npos) out += c;
    else if (squeezes) out.ends_with(c) ? out : out += c;
    else if (!deletes) out += (*to)[std::min(at, to->size() - 1)];
  }
  return out;
}

/// sed 's/a/b/' and 's/a/b/g' of plain letters, with any sign between them.
ToolText sed_text(ToolWords words, const std::string& input) {
  if (!words.empty() && words[0] == "-e") words = words.subspan(1);
  if (words.size() != 1 || words[0].size() < 4 || words[0][0] != 's') return std::nullopt;
  const std::vector<std::string> parts = split_at(words[0], words[0].substr(1, 1));
  if (parts.size() != 4 || parts[0] != "s" || (!parts[3].empty() && parts[3] != "g")) return std::nullopt;
  const std::string &from = parts[1], &to = parts[2];
  if (!means_itself(from) || to.find_first_of("\\&") != to.npos) return std::nullopt;
  std::vector<std::string> lines = lines_of(input);
  for (std::string& line : lines)
    for (std::size_t at = line.find(from); at != line.npos; at = line.find(from, at + to.size())) {
      line.replace(at, from.size(), to);
      if (parts[3].empty()) break;
    }
  return text_of(lines);
}

/// awk '{print $2}', also -F, and $NF and NF.
ToolText awk_text(ToolWords words, const std::string& input) {
  std::string sign;
  if (!words.empty() && words[0].starts_with("-F")) {
    const bool glued = words[0].size() > 2;
    if (words.size() < (glued ? 2U : 3U)) return std::nullopt;
    sign = glued ? words[0].substr(2) : words[1];
    words = words.subspan(glued ? 1 : 2);
    if (sign.size() != 1 && !means_itself(sign)) return std::nullopt;  // one letter is no pattern
  }
  if (words.size() != 1) return std::nullopt;
  std::string program = words[0];
  std::erase_if(program, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0 || c == ';'; });
  constexpr std::string_view begins = "{print";
  if (!program.starts_with(begins) || !program.ends_with('}')) return std::nullopt;
  const std::string asked = program.substr(begins.size(), program.size() - begins.size() - 1);
  const auto number = asked.starts_with('$') ? parsed_number<std::size_t>(asked.substr(1)) : std::nullopt;
  if (asked != "NF" && asked != "$NF" && !number) return std::nullopt;
  std::vector<std::string> out;
  for (const std::string& line : lines_of(input)) {
    const auto fields = sign.empty() || sign == " " ? split_at_blanks(line) : split_at(line, sign);
    const std::size_t count = line.empty() ? 0 : fields.size();
    if (asked == "NF") out.push_back(fmt::format("{}", count));
    else if (number == std::size_t{0}) out.push_back(line);
    else out.push_back(number.value_or(count) <= count && count > 0 ? fields[number.value_or(count) - 1] : "");
  }
  return text_of(out);
}

/// wc -l counts line ends, wc -w words.
ToolText wc_text(ToolWords words, const std::string& input) {
  if (words.size() != 1) return std::nullopt;
  if (words[0] == "-l") return fmt::format("{}\n", std::count(input.begin(), input.end(), '\n'));
  if (words[0] == "-w") return fmt::format("{}\n", split_at_blanks(input).size());
  return std::nullopt;
}

/// grep -o of plain letters: one line for each place that has them.
ToolText grep_text(ToolWords words, const std::string& input) {
  if (words.size() != 2 || words[0] != "-o" || !means_itself(words[1])) return std::nullopt;
  std::string out;
  for (const std::string& line : lines_of(input))
    for (std::size_t at = line.find(words[1]); at != line.npos; at = line.find(words[1], at + words[1].size()))
      out += words[1] + "\n";
  return out;
}

/// How many lines head and tail keep: -n 1, -n1 and -1.
std::optional<std::size_t> kept_lines(ToolWords words) {
  if (words.empty()) return 10;
  if (words.size() == 2 && words[0] == "-n") return parsed_number<std::size_t>(words[1]);
  if (words.size() != 1 || !words[0].starts_with('-')) return std::nullopt;
  return parsed_number<std::size_t>(std::string_view(words[0]).substr(words[0].starts_with("-n") ? 2 : 1));
}
ToolText head_text(ToolWords words, const std::string& input) {
  const auto count = kept_lines(words);
  if (!count) return std::nullopt;
  auto lines = lines_of(input);
  lines.resize(std::min(*count, lines.size()));
  return text_of(lines);
}
ToolText tail_text(ToolWords words, const std::string& input) {
  const auto count = kept_lines(words);
  if (!count) return std::nullopt;
  auto lines = lines_of(input);
  lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(std::min(*count, lines.size())));
  return text_of(lines);
}

/// ToolWords with one blank between them.
ToolText xargs_text(ToolWords words, const std::string& input) {
  if (!words.empty()) return std::nullopt;
  return fmt::format("{}\n", fmt::join(split_at_blanks(input), " "));
}

/// bc without -l counts in whole numbers, as long as nothing sets its scale.
ToolText bc_text(ToolWords words, const std::string& input) {
  if (!words.empty() || input.find_first_of("<>=!?&|^~") != input.npos)
    return std::nullopt;  // other rules than a shell's
  const std::string number = shell_arithmetic(stripped(input));
  return number.empty() ? std::nullopt : ToolText(number + "\n");
}

struct TextTool {
  std::string_view name;
  ToolText (*made)(ToolWords, const std::string&);
};
constexpr TextTool text_tools[] = {{"cut", cut_text}, {"tr", tr_text}, {"sed", sed_text}, {"awk", awk_text},
    {"wc", wc_text}, {"grep", grep_text}, {"head", head_text}, {"tail", tail_text}, {"xargs", xargs_text},
    {"bc", bc_text}};

}  // namespace

std::optional<std::string> text_tool(const std::vector<std::string>& words, const std::string& input) {
  const auto row = std::find_if(std::begin(text_tools), std::end(text_tools),
      [&](const TextTool& tool) { return !words.empty() && tool.name == words[0]; });
  return row == std::end(text_tools) ? std::nullopt : row->made(ToolWords(words).subspan(1), input);
}

}  // namespace stepcast::calibrate
