#include "calibrate/import/launch_expand.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace stepcast {
namespace {

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool ends_command(char c) { return c == ';' || c == '&' || c == '|' || c == '>' || c == '<'; }

/// "NAME=" or "NAME+=" at the front of a word: its value is one word whatever its variables hold.
bool is_assignment(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_shell_name(text[at])) ++at;
  return at > 0 && (text.substr(at).starts_with('=') || text.substr(at).starts_with("+="));
}

}  // namespace

bool is_shell_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool ShellWords::next() {
  if (waiting_.empty()) {
    raw_ = {};
    if (cut_ || !skip_blanks(false)) return false;
    const std::size_t start = at_;
    take_word();
    raw_ = text_.substr(start, at_ - start);
    if (cut_) return false;
    if (at_ < text_.size() && text_[at_] == '>' && raw_.find_first_not_of("0123456789") == raw_.npos)
      return waiting_.clear(), false;  // 2>&1
    if (waiting_.empty()) return next();
  } else {
    raw_ = {};
  }
  word_ = std::move(waiting_.front());
  waiting_.pop_front();
  return true;
}

/// Over blanks and continued lines to a word; false at the command's end, which is passed.
bool ShellWords::skip_blanks(bool over_lines) {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (blank(c) || (over_lines && c == '\n'))
      ++at_;
    else if (c == '\\' && text_.substr(at_ + 1).starts_with("\r\n"))
      at_ += 3;
    else if (c == '\\' && text_.substr(at_ + 1).starts_with("\n"))
      at_ += 2;
    else if (c == '#')
      at_ = std::min(text_.find('\n', at_), text_.size());
    else if (c == '\n')
      return ++at_, false;
    else if (ends_command(c) && !over_lines) {
      while (at_ < text_.size() && (ends_command(text_[at_]))) ++at_;
      return false;
    } else
      return true;
  }
  return false;
}

bool ShellWords::at_end_of_word() const {
  const char c = text_[at_];
  return blank(c) || c == '\n' || ends_command(c) || c == ')';
}

void ShellWords::take_word() {
  array_ = false, has_piece_ = false;
  piece_.clear();
  splits_ = !is_assignment(text_.substr(at_));
  const std::size_t start = at_;
  while (at_ < text_.size() && !at_end_of_word() && !cut_) {
    const char c = text_[at_];
    if (c == '(' && !splits_ && !piece_.empty() && piece_.back() == '=')
      take_array();
    else if (c == '\'')
      take_single_quote();
    else if (c == '"')
      take_double_quote();
    else if (c == '\\')
      take_escape(false);
    else if (c == '$')
      take_variable(false);
    else
      piece_ += c, has_piece_ = true, ++at_;
  }
  if (at_ == start) ++at_;  // a bracket on its own
  finish_word();
}

void ShellWords::take_array() {
  ShellWords elements(text_.substr(at_ + 1), variables_);
  std::string joined;
  while (elements.skip_blanks(true) && elements.text_[elements.at_] != ')') {
    elements.take_word();
    for (const std::string& element : elements.waiting_) joined += (joined.empty() ? "" : " ") + element;
    elements.waiting_.clear();
    if (elements.cut_) break;
  }
  at_ += 1 + elements.at_;
  cut_ = elements.cut_ || at_ >= text_.size();
  if (!cut_) ++at_;
  array_ = true;
  piece_ += joined;
}

void ShellWords::take_single_quote() {
  const std::size_t end = text_.find('\'', at_ + 1);
  cut_ = end == text_.npos;
  has_piece_ = true;
  piece_ += text_.substr(at_ + 1, cut_ ? text_.npos : end - at_ - 1);
  at_ = cut_ ? text_.size() : end + 1;
}

void ShellWords::take_double_quote() {
  has_piece_ = true;
  for (++at_; at_ < text_.size() && text_[at_] != '"';) {
    if (text_[at_] == '\\')
      take_escape(true);
    else if (text_[at_] == '$')
      take_variable(true);
    else
      piece_ += text_[at_++];
  }
  cut_ = at_ >= text_.size();
  if (!cut_) ++at_;
}

void ShellWords::take_escape(bool quoted) {
  const std::string_view rest = text_.substr(at_ + 1);
  if (rest.empty()) return void(++at_);
  if (rest.starts_with("\n")) return void(at_ += 2);
  if (rest.starts_with("\r\n")) return void(at_ += 3);
  const bool special = rest[0] == '"' || rest[0] == '\\' || rest[0] == '$' || rest[0] == '`';
  if (quoted && !special) piece_ += '\\';
  piece_ += rest[0];
  has_piece_ = true;
  at_ += 2;
}

void ShellWords::put(const std::string& value, bool quoted) {
  if (quoted || !splits_) return void(piece_ += value);
  for (const char c : value)
    if (blank(c) || c == '\n')
      finish_word();
    else
      piece_ += c, has_piece_ = true;
}

void ShellWords::finish_word() {
  if (has_piece_ || !piece_.empty()) waiting_.push_back(std::move(piece_));
  piece_.clear();
  has_piece_ = false;
}

void ShellWords::take_variable(bool quoted) {
  const std::size_t start = at_++;
  if (text_.substr(at_).starts_with("((")) return put(arithmetic(), quoted);
  std::string_view name;
  bool list = false;
  if (at_ < text_.size() && (text_[at_] == '{' || text_[at_] == '(')) {
    const std::size_t end = text_.find(text_[at_] == '{' ? '}' : ')', at_);
    cut_ = end == text_.npos;
    name = text_.substr(at_ + 1, cut_ ? 0 : end - at_ - 1);
    if (text_[at_] == '(') name = {};
    at_ = cut_ ? text_.size() : end + 1;
    list = name.ends_with("[@]");
  } else {
    const std::size_t first = at_;
    while (at_ < text_.size() && is_shell_name(text_[at_])) ++at_;
    if (at_ == first && at_ < text_.size()) ++at_;  // $@, $*
    name = text_.substr(first, at_ - first);
  }
  const std::string value = variable(name);
  if (value.empty() &&
      (name.empty() || variables_.count(std::string(name.substr(0, name.find_first_of(":-[")))) == 0)) {
    const bool optional = name.find(":-") != name.npos || name == "@" || name == "*";
    if (!optional) piece_ += text_.substr(start, at_ - start), has_piece_ = true;
    return;
  }
  put(value, quoted && !list);
}

/// NAME, NAME[@], NAME:-otherwise.
std::string ShellWords::variable(std::string_view name_and_more) {
  std::size_t end = 0;
  while (end < name_and_more.size() && is_shell_name(name_and_more[end])) ++end;
  const auto found = variables_.find(std::string(name_and_more.substr(0, end)));
  if (found != variables_.end() && !found->second.empty()) return found->second;
  std::string_view more = name_and_more.substr(end);
  if (!more.starts_with(":-") && !more.starts_with("-")) return {};
  more.remove_prefix(more.starts_with(":-") ? 2 : 1);
  ShellWords otherwise(more, variables_);
  std::string value;
  while (otherwise.next()) value += (value.empty() ? "" : " ") + otherwise.word();
  return value;
}

/// $((GPUS * NODES)); as written where a name in it is not set.
std::string ShellWords::arithmetic() {
  const std::size_t end = text_.find("))", at_);
  if (end == text_.npos) return cut_ = true, at_ = text_.size(), std::string();
  const std::string_view inside = text_.substr(at_ + 2, end - at_ - 2);
  at_ = end + 2;
  std::string numbers;
  for (std::size_t i = 0; i < inside.size();) {
    std::size_t length = 0;
    while (i + length < inside.size() && is_shell_name(inside[i + length])) ++length;
    const std::string name(inside.substr(i, length));
    const auto found = variables_.find(name);
    if (length == 0) {
      if (inside[i] != '$' && inside[i] != '{' && inside[i] != '}') numbers += inside[i];
      ++i;
    } else {
      numbers += found == variables_.end() ? name : found->second;
      i += length;
    }
  }
  const std::string value = shell_arithmetic(numbers);
  return value.empty() ? fmt::format("$(({}))", inside) : value;
}

}  // namespace stepcast
