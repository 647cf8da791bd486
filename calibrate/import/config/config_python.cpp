#include "calibrate/import/config/config_python.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

bool is_name_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// A value of an expression: a literal, a list or call, or what would have to be computed.
struct PythonValue {
  enum class Kind : std::uint8_t { literal, call, computed } kind = Kind::computed;
  std::string text;  ///< of a literal or what is computed; a call's name
  std::size_t line = 0;
  std::vector<std::pair<std::string, PythonValue>> keywords;  ///< of a call; "" = by place
};
using PythonNames = std::map<std::string, PythonValue, std::less<>>;

struct Statement {
  std::string text;  ///< without comments; one line of it
  std::size_t line = 0, indent = 0;
};

/// Statements with their indentation: brackets and strings of three quotes go over lines.
std::vector<Statement> statements_of(std::string_view text) {
  std::vector<Statement> out;
  Statement now;
  std::size_t line = 1, depth = 0;
  bool begun = false;
  const auto end = [&] {
    if (begun && !stripped(now.text).empty()) out.push_back(now);
    now = {}, begun = false;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size()) - 1;
      continue;
    }
    if (c == '\n') {
      ++line;
      if (depth == 0) end();
      else now.text += ' ';
      continue;
    }
    if (!begun && (c == ' ' || c == '\t')) {
      ++now.indent;
      continue;
    }
    if (!begun) begun = true, now.line = line;
    if (c == '"' || c == '\'') {
      const std::string three(3, c), quote = text.substr(at).starts_with(three) ? three : std::string(1, c);
      std::size_t close = text.find(quote, at + quote.size());
      if (close == text.npos) close = text.size() - quote.size();
      const std::string_view whole = text.substr(at, close + quote.size() - at);
      line += static_cast<std::size_t>(std::count(whole.begin(), whole.end(), '\n'));
      now.text += whole;
      at = close + quote.size() - 1;
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    now.text += c;
  }
  end();
  return out;
}

class PythonExpression {
 public:
  PythonExpression(std::string_view text, std::size_t line, const PythonNames& names)
      : text_(text), line_(line), names_(names) {}

  PythonValue read() {
    PythonValue value = sum();
    skip();
    return at_ == text_.size() ? value : computed(stripped(text_));
  }

 private:
  static constexpr int deepest = 64;

  [[nodiscard]] PythonValue computed(std::string_view what) const {
    return {PythonValue::Kind::computed, std::string(what), line_, {}};
  }
  [[nodiscard]] PythonValue literal(std::string what) const {
    return {PythonValue::Kind::literal, std::move(what), line_, {}};
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool take(std::string_view what) {
    skip();
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  static std::optional<std::int64_t> whole(const PythonValue& value) {
    std::int64_t number = 0;
    const char *first = value.text.data(), *last = first + value.text.size();
    const auto read = std::from_chars(first, last, number);
    constexpr std::int64_t most = 1'000'000'000'000;
    if (value.kind != PythonValue::Kind::literal || read.ec != std::errc() || read.ptr != last) return std::nullopt;
    return number > -most && number < most ? std::optional(number) : std::nullopt;
  }

  PythonValue sum() {
    const std::size_t start = at_;
    PythonValue value = product();
    for (;;) {
      const bool plus = take("+"), minus = !plus && take("-");
      if (!plus && !minus) return value;
      const PythonValue next = product();
      const auto a = whole(value), b = whole(next);
      value = a && b ? literal(std::to_string(plus ? *a + *b : *a - *b)) : computed(text_.substr(start, at_ - start));
    }
  }
  PythonValue product() {
    const std::size_t start = at_;
    PythonValue value = sign();
    for (;;) {
      const bool part = take("//"), times = !part && take("*");
      if (!part && !times) return value;
      const PythonValue next = sign();
      const auto a = whole(value), b = whole(next);
      constexpr std::int64_t most = 1'000'000;
      const bool known = a && b && (part ? *b > 0 : std::abs(*a) < most && std::abs(*b) < most);
      value = known ? literal(std::to_string(part ? *a / *b : *a * *b)) : computed(text_.substr(start, at_ - start));
    }
  }
  PythonValue sign() {
    if (!take("-")) return behind();
    PythonValue value = behind();
    if (value.kind == PythonValue::Kind::literal) value.text.insert(0, "-");
    return value;
  }

  /// Calls, attributes and indices behind a value.
  PythonValue behind() {
    skip();
    const std::size_t start = at_;
    PythonValue value = atom();
    for (bool more = true; more;) {
      more = false;
      if (take(".")) {
        more = true;
        name();
        value = computed(text_.substr(start, at_ - start));
      } else if (take("(")) {
        more = true;
        PythonValue call{PythonValue::Kind::call, std::string(text_.substr(start, at_ - 1 - start)), line_, {}};
        if (++depth_ > deepest) return computed(text_);
        while (!take(")") && at_ < text_.size()) call.keywords.push_back(argument()), take(",");
        --depth_;
        value = std::move(call);
      } else if (take("[")) {
        more = true;
        while (at_ < text_.size() && text_[at_] != ']') ++at_;
        take("]");
        value = computed(text_.substr(start, at_ - start));
      }
    }
    return value;
  }
  std::pair<std::string, PythonValue> argument() {
    skip();
    const std::size_t start = at_;
    std::string key = name();
    skip();
    const bool keyword =
        !key.empty() && at_ < text_.size() && text_[at_] == '=' && !text_.substr(at_).starts_with("==");
    if (keyword) ++at_;
    else key.clear(), at_ = start;
    PythonValue value = sum();
    skip();
    if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ')') {  // "x if y else z" and the like
      int depth = 0;
      for (; at_ < text_.size() && (depth > 0 || (text_[at_] != ',' && text_[at_] != ')')); ++at_)
        depth += text_[at_] == '(' || text_[at_] == '[' ? 1 : text_[at_] == ')' || text_[at_] == ']' ? -1 : 0;
      value = computed(stripped(text_.substr(start, at_ - start)));
    }
    return {std::move(key), std::move(value)};
  }

  std::string name() {
    skip();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_name_letter(text_[at_])) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }
  PythonValue named(const std::string& word) const {
    if (word == "True" || word == "False" || word == "None") return literal(lower_case(word));
    const auto known = names_.find(word);
    return known == names_.end() ? computed(word) : known->second;
  }

  PythonValue atom() {
    skip();
    if (at_ == text_.size() || ++depth_ > deepest) return computed(text_);
    const char c = text_[at_];
    PythonValue value = c == '"' || c == '\''                                          ? quoted(c)
                        : c == '[' || c == '{' || c == '('                             ? bracket(c)
                        : std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' ? number()
                                                                                       : named(name());
    if (!is_name_letter(c) && c != '"' && c != '\'' && c != '[' && c != '{' && c != '(' && c != '.') ++at_;
    --depth_;
    return value;
  }
  PythonValue quoted(char quote) {
    const std::size_t start = ++at_;
    while (at_ < text_.size() && text_[at_] != quote) ++at_;
    const std::string_view inside = text_.substr(start, at_ - start);
    if (at_ < text_.size()) ++at_;
    return literal(std::string(inside));
  }
  PythonValue number() {
    std::string digits;
    for (; at_ < text_.size() && (is_name_letter(text_[at_]) || text_[at_] == '.' ||
                                     ((text_[at_] == '-' || text_[at_] == '+') && (digits.ends_with('e'))));
         ++at_)
      if (text_[at_] != '_') digits += text_[at_];
    return literal(digits);
  }
  /// A list keeps its text; of one value in round brackets it is the value.
  PythonValue bracket(char open) {
    const std::size_t start = at_++;
    if (open == '(') {
      PythonValue value = sum();
      if (take(")")) return value;
    }
    int depth = 1;
    at_ = start + 1;
    for (; at_ < text_.size() && depth > 0; ++at_)
      depth += text_[at_] == '[' || text_[at_] == '{' || text_[at_] == '('   ? 1
               : text_[at_] == ']' || text_[at_] == '}' || text_[at_] == ')' ? -1
                                                                             : 0;
    PythonValue whole = computed(text_.substr(start, at_ - start));
    if (open != '(') whole.kind = PythonValue::Kind::literal;
    return whole;
  }

  std::string_view text_;
  std::size_t at_ = 0, line_;
  int depth_ = 0;
  const PythonNames& names_;
};

/// "llama3_8b" of "def llama3_8b(...) -> Trainer.Config:"; "" of others.
std::string config_function(const Statement& statement) {
  constexpr std::string_view def = "def ";
  if (statement.indent > 0 || !statement.text.starts_with(def)) return {};
  if (statement.text.find("-> Trainer.Config") == std::string::npos) return {};
  const std::size_t open = statement.text.find('(');
  return open == std::string::npos ? "" : statement.text.substr(def.size(), open - def.size());
}

class PythonConfigReader {
 public:
  PythonConfigReader(std::string_view text, const std::string& where)
      : statements_(statements_of(text)), where_(where) {}

  Expected<PythonValue> config_of(const std::string& function, int depth = 0) {
    constexpr int deepest = 8;
    const auto start = std::find_if(statements_.begin(), statements_.end(),
        [&](const Statement& statement) { return config_function(statement) == function; });
    if (start == statements_.end() || depth > deepest)
      return fail(where_, fmt::format("no function '{:.60}' that gives a Trainer.Config", function),
          "one that is called in at most 8 steps and returns Trainer.Config(...)");
    PythonNames names;
    for (auto at = start + 1; at != statements_.end() && at->indent > 0; ++at) {
      TRY(auto returned, run(*at, names, depth));
      if (returned) return std::move(*returned);
    }
    return fail(fmt::format("{}:{}", where_, start->line), fmt::format("{} returns nothing that is read", function),
        "return Trainer.Config(...)");
  }

 private:
  Expected<std::optional<PythonValue>> run(const Statement& statement, PythonNames& names, int depth) {
    const std::string_view text = statement.text;
    constexpr std::string_view returns = "return ";
    const bool passed_over = text[0] == '"' || text[0] == '\'' || text.starts_with("from ") ||
                             text.starts_with("import ") || text.starts_with("assert ") || text == "pass";
    if (passed_over) return std::optional<PythonValue>{};
    if (text.starts_with(returns)) {
      TRY(auto value, evaluated(text.substr(returns.size()), statement.line, names, depth));
      if (value.kind != PythonValue::Kind::call) return tl::unexpected(not_literal(statement));
      return std::optional(std::move(value));
    }
    const std::size_t equals = text.find('=');
    std::string_view target = stripped(text.substr(0, std::min(equals, text.size())));
    target = stripped(target.substr(0, target.find(':')));  // "x: int = 1"
    const bool name = !target.empty() &&
                      std::all_of(target.begin(), target.end(), [](char c) { return is_name_letter(c) || c == '.'; });
    if (equals == text.npos || !name || text.substr(equals).starts_with("=="))
      return tl::unexpected(not_literal(statement));
    TRY(auto value, evaluated(text.substr(equals + 1), statement.line, names, depth));
    set(target, std::move(value), names);
    return std::optional<PythonValue>{};
  }

  Expected<PythonValue> evaluated(std::string_view text, std::size_t line, const PythonNames& names, int depth) {
    PythonValue value = PythonExpression(stripped(text), line, names).read();
    const bool own = value.kind == PythonValue::Kind::call &&
                     std::any_of(statements_.begin(), statements_.end(),
                         [&](const Statement& other) { return config_function(other) == value.text; });
    if (!own) return value;
    if (!value.keywords.empty())
      return fail(fmt::format("{}:{}", where_, line), fmt::format("{} is called with arguments", value.text),
          "a configuration whose values are written out");
    return config_of(value.text, depth + 1);
  }

  /// "config.training.steps": the keyword of a call in a call.
  static void set(std::string_view target, PythonValue value, PythonNames& names) {
    const std::size_t dot = target.find('.');
    PythonValue* into = &names[std::string(target.substr(0, dot))];
    for (std::string_view rest = dot == target.npos ? "" : target.substr(dot + 1); !rest.empty();) {
      const std::string key(rest.substr(0, rest.find('.')));
      rest = rest.find('.') == rest.npos ? "" : rest.substr(rest.find('.') + 1);
      auto found = std::find_if(
          into->keywords.begin(), into->keywords.end(), [&](const auto& keyword) { return keyword.first == key; });
      if (into->kind != PythonValue::Kind::call) into->kind = PythonValue::Kind::call, into->text.clear();
      if (found == into->keywords.end()) found = into->keywords.insert(into->keywords.end(), {key, PythonValue{}});
      into = &found->second;
    }
    *into = std::move(value);
  }

  [[nodiscard]] Error not_literal(const Statement& statement) const {
    return {fmt::format("{}:{}", where_, statement.line),
        fmt::format("'{:.60}' is more than literal values", statement.text),
        "a function that returns Trainer.Config(...) with values that are written out"};
  }

  std::vector<Statement> statements_;
  const std::string& where_;
};

void flatten(const PythonValue& value, const std::string& name, std::vector<GivenArgument>& out) {
  if (value.kind != PythonValue::Kind::call) {
    GivenArgument given{name, name, value.text, value.line, {}};
    if (value.kind == PythonValue::Kind::computed) given.unset.push_back(value.text);
    out.push_back(std::move(given));
    return;
  }
  const std::string dot = name.empty() ? "" : ".";
  if (!name.empty() && !value.text.empty())
    out.push_back({name + ".class", name + ".class", value.text, value.line, {}});
  std::size_t place = 0;
  for (const auto& [key, inside] : value.keywords)
    flatten(inside, name + dot + (key.empty() ? std::to_string(place++) : key), out);
}

}  // namespace

bool is_python_config(std::string_view text) { return !python_config_functions(text).empty(); }

std::vector<std::string> python_config_functions(std::string_view text) {
  std::vector<std::string> functions;
  if (text.find("Trainer.Config") == text.npos) return functions;
  for (const Statement& statement : statements_of(text))
    if (std::string name = config_function(statement); !name.empty()) functions.push_back(std::move(name));
  return functions;
}

Expected<std::vector<GivenArgument>> read_python_config(
    std::string_view text, const std::string& where, const std::string& function) {
  TRY(const auto config, PythonConfigReader(text, where).config_of(function));
  std::vector<GivenArgument> arguments;
  flatten(config, "", arguments);
  return arguments;
}

}  // namespace stepcast::calibrate
