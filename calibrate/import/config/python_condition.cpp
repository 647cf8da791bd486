#include "calibrate/import/config/python_condition.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// Longer ones first: ">=" is no ">".
constexpr std::string_view comparisons[] = {" is not ", " not in ", " is ", " in ", "==", "!=", ">=", "<=", ">", "<"};

struct Found {
  std::size_t at = std::string_view::npos;
  std::string_view sign;
};

/// All places outside of brackets and strings where one of `signs` stands.
template <std::size_t Count> std::vector<Found> outside(std::string_view text, const std::string_view (&signs)[Count]) {
  std::vector<Found> found;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = std::min(text.find(c, at + 1), text.size());
      continue;
    }
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (depth != 0) continue;
    const auto sign =
        std::ranges::find_if(signs, [&](std::string_view one) { return text.substr(at).starts_with(one); });
    if (sign == std::end(signs)) continue;
    found.push_back({at, *sign});
    at += sign->size() - (sign->ends_with(' ') ? 2 : 1);  // the blank may begin the next sign
  }
  return found;
}

std::vector<std::string_view> parts_between(std::string_view text, std::string_view sign) {
  const std::string_view signs[] = {sign};
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (const Found& found : outside(text, signs)) {
    parts.push_back(stripped(text.substr(begin, found.at - begin)));
    begin = found.at + sign.size();
  }
  parts.push_back(stripped(text.substr(begin)));
  return parts;
}

class PythonCondition {
  using Kind = PythonValue::Kind;

 public:
  explicit PythonCondition(const PythonNames& names) : names_(names) {}

  [[nodiscard]] std::optional<bool> any(std::string_view text, int depth = 0) const {
    if (depth > deepest) return std::nullopt;
    return joined(parts_between(text, " or "), true, [&](std::string_view part) {
      return joined(parts_between(part, " and "), false, [&](std::string_view one) { return single(one, depth); });
    });
  }

 private:
  /// "or" is decided by one that holds, "and" by one that does not.
  template <typename Truth>
  static std::optional<bool> joined(const std::vector<std::string_view>& parts, bool decides, Truth truth_of) {
    bool known = true;
    for (const std::string_view part : parts) {
      const std::optional<bool> truth = truth_of(part);
      if (truth == decides) return decides;
      known = known && truth.has_value();
    }
    return known ? std::optional(!decides) : std::nullopt;
  }

  static constexpr int deepest = 16;

  [[nodiscard]] std::optional<bool> single(std::string_view text, int depth) const {
    if (depth > deepest) return std::nullopt;
    if (text.starts_with("not ")) {
      const auto truth = single(stripped(text.substr(4)), depth + 1);
      return truth ? std::optional(!*truth) : std::nullopt;
    }
    if (text.starts_with('(') && text.ends_with(')') && is_one_bracket(text))
      return any(stripped(text.substr(1, text.size() - 2)), depth + 1);
    if (text.starts_with("isinstance(") && text.ends_with(')')) return is_instance(text);
    const std::vector<Found> signs = outside(text, comparisons);
    if (signs.empty()) return truth_of(operand(text));
    if (signs.size() > 1) return std::nullopt;  // "0 < a < 8"
    const std::string_view sign = signs.front().sign, left = stripped(text.substr(0, signs.front().at)),
                           right = stripped(text.substr(signs.front().at + sign.size()));
    return compared(left, stripped(sign), right);
  }

  /// The first bracket closes at the end.
  static bool is_one_bracket(std::string_view text) {
    int depth = 0;
    for (std::size_t at = 0; at + 1 < text.size(); ++at) {
      depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
      if (depth == 0) return false;
    }
    return text.find_first_of("\"'") == text.npos;
  }

  /// A name's or a literal's value, "NAME.lower()" among them.
  [[nodiscard]] PythonValue operand(std::string_view text) const {
    constexpr std::string_view lower = ".lower()";
    const bool lowers = text.ends_with(lower);
    if (lowers) text.remove_suffix(lower.size());
    PythonValue value = python_value(text, 0, names_);
    if (lowers && !(value.kind == Kind::literal && value.quoted)) value.kind = Kind::computed;
    if (lowers) value.text = lower_case(value.text);
    return value;
  }

  [[nodiscard]] std::optional<bool> is_instance(std::string_view text) const {
    const std::size_t open = text.find('(');
    const auto parts = parts_between(text.substr(open + 1, text.size() - open - 2), ",");
    if (parts.size() != 2) return std::nullopt;
    const PythonValue value = operand(parts[0]);
    if (value.kind != Kind::literal || !value.quoted) return std::nullopt;
    const bool is_name = std::ranges::all_of(parts[1], is_python_letter);
    return is_name ? std::optional(parts[1] == "str") : std::nullopt;
  }

  static bool is_none(const PythonValue& value) {
    return value.kind == Kind::literal && !value.quoted && value.text == "none";
  }
  static std::optional<double> number(const PythonValue& value) {
    double read = 0;
    const char *first = value.text.data(), *last = first + value.text.size();
    const auto [end, error] = std::from_chars(first, last, read);
    if (value.kind != Kind::literal || value.quoted || error != std::errc() || end != last) return std::nullopt;
    return read;
  }
  static bool is_list(const PythonValue& value) {
    return value.kind == Kind::literal && !value.quoted && value.text.find_first_of("[{") == 0;
  }

  static std::optional<bool> truth_of(const PythonValue& value) {
    if (value.kind != Kind::literal) return std::nullopt;
    if (value.quoted) return !value.text.empty();
    if (const auto read = number(value)) return *read != 0;
    if (value.text == "true") return true;
    if (value.text == "false" || value.text == "none") return false;
    return std::nullopt;
  }

  static std::optional<bool> equal(const PythonValue& one, const PythonValue& other) {
    if (one.kind != Kind::literal || other.kind != Kind::literal || is_list(one) || is_list(other)) return std::nullopt;
    const auto a = number(one), b = number(other);
    if (a && b) return *a == *b;
    if (one.quoted && other.quoted) return one.text == other.text;
    return is_word(one) && is_word(other) ? std::optional(one.text == other.text) : std::nullopt;
  }
  /// True, False or None.
  static bool is_word(const PythonValue& value) {
    return !value.quoted && (value.text == "true" || value.text == "false" || value.text == "none");
  }

  [[nodiscard]] std::optional<bool> is_among(const PythonValue& value, std::string_view list) const {
    const bool brackets = list.size() > 1 && std::string_view("[{(").find(list.front()) != list.npos;
    if (!brackets || (list.front() == '(' && list.find(',') == list.npos)) return std::nullopt;  // ("a") is "a"
    bool known = true;
    for (const std::string_view part : parts_between(list.substr(1, list.size() - 2), ",")) {
      if (part.empty()) continue;
      const auto same = equal(value, operand(part));
      if (same == true) return true;
      known = known && same.has_value();
    }
    return known ? std::optional(false) : std::nullopt;
  }

  [[nodiscard]] std::optional<bool> compared(
      std::string_view left, std::string_view sign, std::string_view right) const {
    const PythonValue one = operand(left);
    const bool turns = sign == "!=" || sign.find("not") != sign.npos;
    std::optional<bool> truth;
    if (sign.starts_with("is")) {
      // What a call gives is an object; another value than None is compared as one
      if (right == "None" && one.kind == Kind::literal) truth = is_none(one);
    } else if (sign.ends_with("in")) {
      truth = is_among(one, right);
    } else {
      const PythonValue other = operand(right);
      const auto a = number(one), b = number(other);
      if (sign == "==" || sign == "!=") truth = equal(one, other);
      else if (a && b) truth = sign == ">" ? *a > *b : sign == "<" ? *a < *b : sign == ">=" ? *a >= *b : *a <= *b;
    }
    return truth ? std::optional(*truth != turns) : std::nullopt;
  }

  const PythonNames& names_;
};

}  // namespace

std::optional<bool> python_condition(std::string_view text, const PythonNames& names) {
  constexpr std::string_view choices[] = {" if ", " else ", " for "};
  return outside(text, choices).empty() ? PythonCondition(names).any(stripped(text)) : std::nullopt;
}

bool only_asks(std::string_view condition) {
  constexpr std::string_view looks[] = {"", "isinstance", "hasattr", "getattr", "len", "lower", "upper", "startswith",
      "endswith", "and", "or", "not", "in", "is"};
  if (condition.find(":=") != condition.npos) return false;
  for (std::size_t at = condition.find('('); at != condition.npos; at = condition.find('(', at + 1)) {
    std::string_view before = stripped(condition.substr(0, at));
    std::size_t begin = before.size();
    while (begin > 0 && is_python_letter(before[begin - 1])) --begin;
    if (std::ranges::find(looks, before.substr(begin)) == std::end(looks)) return false;
  }
  return true;
}

}  // namespace stepcast::calibrate
