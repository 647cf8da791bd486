#include "calibrate/import/config/python_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

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
    if (value.kind != PythonValue::Kind::literal || value.quoted || read.ec != std::errc() || read.ptr != last)
      return std::nullopt;
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

  /// What stands behind a dot: a keyword of a call that has one of the name; of torch a number type; else it is
  /// computed, and a call in front of the dot is kept as "of".
  PythonValue attribute(std::size_t start, PythonValue before, bool called) {
    const std::string key = name();
    const std::string_view whole = text_.substr(start, at_ - start);
    const auto known = std::find_if(
        before.keywords.begin(), before.keywords.end(), [&](const auto& keyword) { return keyword.first == key; });
    if (before.kind == PythonValue::Kind::call && !called && known != before.keywords.end()) return known->second;
    PythonValue value = whole.starts_with("torch.") ? literal(std::string(whole)) : computed(whole);
    if (called) value.keywords.emplace_back("of", std::move(before));
    return value;
  }

  /// Calls, attributes and indices behind a value.
  PythonValue behind() {
    skip();
    const std::size_t start = at_;
    PythonValue value = atom();
    bool called = false;
    int parts = 0;
    for (bool more = true; more;) {
      if (++parts > deepest) return at_ = text_.size(), computed(text_.substr(start));
      more = false;
      if (take(".")) {
        more = true;
        value = attribute(start, std::move(value), std::exchange(called, false));
      } else if (take("(")) {
        more = called = true;
        PythonValue call{PythonValue::Kind::call, std::string(text_.substr(start, at_ - 1 - start)), line_, {}};
        if (value.kind == PythonValue::Kind::computed) call.keywords = std::move(value.keywords);
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
    while (at_ < text_.size() && is_python_letter(text_[at_])) ++at_;
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
    if (!is_python_letter(c) && c != '"' && c != '\'' && c != '[' && c != '{' && c != '(' && c != '.') ++at_;
    --depth_;
    return value;
  }
  PythonValue quoted(char quote) {
    const std::size_t start = ++at_;
    while (at_ < text_.size() && text_[at_] != quote) ++at_;
    const std::string_view inside = text_.substr(start, at_ - start);
    if (at_ < text_.size()) ++at_;
    PythonValue value = literal(std::string(inside));
    value.quoted = true;
    return value;
  }
  PythonValue number() {
    std::string digits;
    for (; at_ < text_.size() && (is_python_letter(text_[at_]) || text_[at_] == '.' ||
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

/// Where the next whole mention of a name begins, from `at` on.
std::size_t next_mention(std::string_view text, std::string_view name, std::size_t at) {
  for (at = text.find(name, at); at != text.npos && !name.empty(); at = text.find(name, at + 1))
    if ((at == 0 || !is_python_letter(text[at - 1])) &&
        (at + name.size() == text.size() || !is_python_letter(text[at + name.size()])))
      return at;
  return text.npos;
}

/// Behind the last "=" outside of brackets and strings that sets something; 0 where there is none.
std::size_t end_of_targets(std::string_view text) {
  std::size_t end = 0;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at], before = at > 0 ? text[at - 1] : ' ', behind = at + 1 < text.size() ? text[at + 1] : ' ';
    if (c == '"' || c == '\'') {
      at = std::min(text.find(c, at + 1), text.size());
      continue;
    }
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    const bool shifts = at > 1 && (before == '<' || before == '>') && text[at - 2] == before;
    const bool compares =
        behind == '=' || before == '=' || before == '!' || (!shifts && (before == '<' || before == '>'));
    if (c == '=' && depth == 0 && !compares) end = at + 1;
  }
  return end;
}

/// "if big: a = 1; b = 2": the condition is that of both.
bool opens_block(std::string_view text) {
  constexpr std::string_view words[] = {
      "if", "elif", "else", "for", "while", "with", "try", "except", "finally", "def", "class"};
  return std::ranges::any_of(words, [&](std::string_view word) {
    return text.starts_with(word) && (text.size() == word.size() || !is_python_letter(text[word.size()]));
  });
}

}  // namespace

bool mentions_name(std::string_view text, std::string_view name) { return next_mention(text, name, 0) != text.npos; }

bool may_set_name(std::string_view statement, std::string_view name) {
  constexpr std::string_view words[] = {"for", "as", "import", "from", "def", "class", "global", "nonlocal", "del"};
  const bool begins = std::ranges::any_of(words, [&](std::string_view word) {
    return statement.starts_with(word) && statement.substr(word.size()).starts_with(' ');
  });
  const std::size_t targets = end_of_targets(statement);
  for (std::size_t at = next_mention(statement, name, 0); at != statement.npos;
       at = next_mention(statement, name, at + 1)) {
    const std::string_view front = stripped(statement.substr(0, at)),
                           behind = stripped(statement.substr(at + name.size()));
    if (front.ends_with('.')) continue;  // the part of another
    const auto call = std::ranges::find_if_not(behind, [](char c) { return is_python_letter(c) || c == '.'; });
    const bool calls = behind.starts_with('.') && call != behind.end() && *call == '(';
    if (begins || at < targets || behind.starts_with(":=") || front.ends_with(" as") || calls) return true;
  }
  return false;
}

std::vector<PythonStatement> python_statements(std::string_view text) {
  std::vector<PythonStatement> out;
  PythonStatement now;
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
    if (c == ';' && depth == 0 && !opens_block(now.text)) {
      const std::size_t indent = now.indent;
      end();
      now.indent = indent;
      while (at + 1 < text.size() && (text[at + 1] == ' ' || text[at + 1] == '\t')) ++at;
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

bool is_python_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

PythonValue python_value(std::string_view text, std::size_t line, const PythonNames& names) {
  return PythonExpression(text, line, names).read();
}

}  // namespace stepcast::calibrate
