#include "calibrate/import/shell/expand.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace stepcast::calibrate {
namespace {

// Values in values: real scripts nest two or three.
constexpr int deepest_piece = 32;
// Of what lies deeper, so much stands for it.
constexpr std::size_t longest_unread = 32;

bool ends_command(char c) { return c == ';' || c == '&' || c == '|' || c == '>' || c == '<'; }

/// "NAME=" or "NAME+=" at the front of a word: its value is one word whatever its variables hold.
bool is_assignment(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_shell_name(text[at])) ++at;
  return at > 0 && (text.substr(at).starts_with('=') || text.substr(at).starts_with("+="));
}

}  // namespace

std::size_t after_bracket(std::string_view text, std::size_t open) {
  const char opens = text[open], closes = opens == '{' ? '}' : ')';
  int depth = 0;
  char quote = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\' && quote != '\'') ++at;
    else if (quote != 0) quote = c == quote ? char{0} : quote;
    else if (c == '\'' || c == '"') quote = c;
    else if (c == opens) ++depth;
    else if (c == closes && --depth == 0) return at + 1;
  }
  return text.npos;
}

bool ShellWords::next() {
  raw_ = {};
  while (waiting_.empty()) {
    if (cut_ || !skip_blanks(false)) return raw_ = {}, false;
    const std::size_t start = at_;
    take_word();
    raw_ = text_.substr(start, at_ - start);
    if (cut_) return false;
    if (at_ < text_.size() && text_[at_] == '>' && raw_.find_first_not_of("0123456789") == raw_.npos) {  // 2>&1
      waiting_.clear();
      const std::string_view before = output_;
      if (!skip_redirection()) return false;
      if (raw_ != "1") output_ = before;
    }
  }
  word_ = std::move(waiting_.front());
  waiting_.pop_front();
  return true;
}

/// Over blanks and continued lines to a word; false at the command's end, which is passed.
bool ShellWords::skip_blanks(bool over_lines) {
  bool continued = false;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (is_shell_blank(c) || (over_lines && c == '\n')) ++at_;
    else if (c == '\\' && text_.substr(at_ + 1).starts_with("\r\n")) at_ += 3, continued = true;
    else if (c == '\\' && text_.substr(at_ + 1).starts_with("\n")) at_ += 2, continued = true;
    else if (c == '#') {
      if (continued && !over_lines) comment_line_ = here();
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\n') return ++at_, false;
    else if (!over_lines && skip_redirection()) continue;
    else if (ends_command(c) && !over_lines && unfilled_value() == 0) {
      const std::size_t begin = at_;
      while (at_ < text_.size() && (ends_command(text_[at_]))) ++at_;
      beside_ = text_.substr(begin, at_ - begin) == "&";
      return false;
    } else return true;
  }
  return false;
}

/// Over >, >>, <, >&1, &> and the word that it reads or writes; false where none is meant, or it is a here-document.
bool ShellWords::skip_redirection() {
  const std::string_view rest = text_.substr(at_);
  const std::size_t sign = rest.starts_with("&>") ? 1 : 0;
  const bool here_document = rest.starts_with("<<");
  if (!redirections_ || here_document || unfilled_value() > 0 || at_ + sign >= text_.size() ||
      (rest[sign] != '>' && rest[sign] != '<'))
    return false;
  at_ += sign + 1;
  while (at_ < text_.size() && (text_[at_] == '>' || text_[at_] == '|' || text_[at_] == '&')) ++at_;
  const bool writes = sign == 0 && rest[sign] == '>' && (at_ >= text_.size() || text_[at_ - 1] != '&');
  while (at_ < text_.size() && is_shell_blank(text_[at_])) ++at_;
  const std::size_t target = at_;
  char quote = 0;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '\n') break;
    const bool opens = quote != '\'' && (c == '(' || c == '{') && at_ > 0 &&
                       std::string_view("$><").find(text_[at_ - 1]) != std::string_view::npos;
    const std::size_t behind = opens ? after_bracket(text_, at_) : text_.npos;
    if (behind != text_.npos) at_ = behind - 1;
    else if (quote != 0) quote = c == quote ? char{0} : quote;
    else if (c == '\'' || c == '"') quote = c;
    else if (is_shell_blank(c) || (ends_command(c) && !text_.substr(at_ + 1).starts_with('('))) break;
  }
  if (writes) output_ = text_.substr(target, at_ - target);
  return true;
}

/// "<path to the data>" of a script that is still to be filled in: how long it is; 0 where it is none.
std::size_t ShellWords::unfilled_value() const {
  constexpr std::size_t longest = 120;
  const std::string_view rest = text_.substr(at_, longest);
  if (rest.size() < 3 || rest[0] != '<' || std::isalpha(static_cast<unsigned char>(rest[1])) == 0) return 0;
  const std::size_t end = rest.find_first_of("<>\n;|&$`\"'", 1);
  return end != rest.npos && rest[end] == '>' && !is_shell_blank(rest[end - 1]) ? end + 1 : 0;
}

bool ShellWords::at_end_of_word() const {
  const char c = text_[at_];
  if (c == '<' && unfilled_value() > 0) return false;
  return is_shell_blank(c) || c == '\n' || ends_command(c) || c == ')';
}

void ShellWords::take_word() {
  array_ = has_piece_ = quoted_ = false;
  piece_ = {};
  elements_.clear();
  splits_ = !is_assignment(text_.substr(at_));
  const std::size_t start = at_;
  while (at_ < text_.size() && !at_end_of_word() && !cut_) {
    const char c = text_[at_];
    if (c == '(' && !splits_ && depth_ < deepest_piece && !piece_.empty() && piece_.marked().back() == '=')
      take_array();
    else if (c == '\'') take_single_quote();
    else if (c == '"') take_double_quote();
    else if (c == '\\') take_escape(false);
    else if (c == '$' || c == '`') take_dollar(false);
    else if (c == unset_begin) take_marked();
    else if (const std::size_t length = c == '<' ? unfilled_value() : 0; length > 0)
      piece_.put(text_.substr(at_, length), here()), has_piece_ = true, at_ += length;
    else piece_.put(c, here()), has_piece_ = true, ++at_;
  }
  if (at_ == start) ++at_;  // a bracket on its own
  finish_word();
}

void ShellWords::take_array() {
  ShellWords inner(source_.part(at_ + 1, text_.npos, here()), variables_, depth_ + 1);
  while (inner.skip_blanks(true) && inner.text_[inner.at_] != ')') {
    inner.take_word();
    elements_.insert(elements_.end(), inner.waiting_.begin(), inner.waiting_.end());
    inner.waiting_.clear();
    if (inner.cut_) break;
  }
  doubts_.insert(inner.doubts_.begin(), inner.doubts_.end());
  at_ += 1 + inner.at_;
  cut_ = inner.cut_ || at_ >= text_.size();
  if (!cut_) ++at_;
  array_ = true;
}

/// What nothing set in the text that this one was made of stays as it is.
void ShellWords::take_marked() {
  const std::size_t end = std::min(text_.find(unset_end, at_), text_.size() - 1);
  for (; at_ <= end; ++at_) piece_.put(text_[at_], here());
  has_piece_ = true;
}

void ShellWords::take_single_quote() {
  const std::size_t end = text_.find('\'', at_ + 1);
  cut_ = end == text_.npos;
  has_piece_ = quoted_ = true;
  for (++at_; at_ < std::min(end, text_.size()); ++at_) piece_.put(text_[at_], here());
  if (!cut_) ++at_;
}

namespace {

/// How many digits of the base a text begins with, up to `most`.
std::size_t digits_of(std::string_view text, int base, std::size_t most) {
  std::size_t count = 0;
  for (unsigned value = 0; count < std::min(most, text.size()); ++count)
    if (std::from_chars(text.data() + count, text.data() + count + 1, value, base).ec != std::errc()) break;
  return count;
}

}  // namespace

/// $'a\tb': letters behind a backslash mean others (man bash, QUOTING). Letters of Unicode and control letters are not
/// read, and the quote is what nothing sets then; what means nothing stays as written.
void ShellWords::take_letters_quote() {
  struct Escape {
    char written, meant;
  };
  constexpr Escape escapes[] = {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'a', '\a'}, {'b', '\b'}, {'e', '\033'},
      {'E', '\033'}, {'f', '\f'}, {'v', '\v'}, {'\\', '\\'}, {'\'', '\''}, {'"', '"'}, {'?', '?'}};
  has_piece_ = quoted_ = true;
  const std::size_t start = at_;
  std::string meant;
  bool unread = false;
  for (at_ += 2; at_ < text_.size() && text_[at_] != '\''; ++at_) {
    if (text_[at_] != '\\' || at_ + 1 >= text_.size()) {
      meant += text_[at_];
      continue;
    }
    const std::string_view rest = text_.substr(++at_);
    const bool hex = rest[0] == 'x';
    const std::size_t digits = hex ? digits_of(rest.substr(1), 16, 2) : digits_of(rest, 8, 3);
    if (const auto row = std::ranges::find(escapes, rest[0], &Escape::written); row != std::end(escapes)) {
      meant += row->meant;
    } else if (digits > 0) {
      unsigned code = 0;
      std::from_chars(rest.data() + (hex ? 1 : 0), rest.data() + (hex ? 1 : 0) + digits, code, hex ? 16 : 8);
      const char letter = static_cast<char>(code & 0xffU);
      unread = unread || letter == 0 || letter == unset_begin || letter == unset_end;  // 0 ends the word
      meant += letter;
      at_ += digits - (hex ? 0 : 1);
    } else {
      unread = unread || std::string_view("uUc").find(rest[0]) != std::string_view::npos;
      meant += '\\', meant += rest[0];
    }
  }
  cut_ = at_ >= text_.size();
  if (!cut_) ++at_;
  if (unread) return put_unset(text_.substr(start, at_ - start), text_.substr(start, at_ - start));
  for (const char c : meant) piece_.put(c, here());
}

void ShellWords::take_double_quote() {
  const bool had_piece = has_piece_;
  has_piece_ = quoted_ = true;
  vanishes_ = false;
  for (++at_; at_ < text_.size() && text_[at_] != '"' && !cut_;) {
    if (text_[at_] == '\\') take_escape(true);
    else if (text_[at_] == '$' || text_[at_] == '`') take_dollar(true);
    else if (text_[at_] == unset_begin) take_marked();
    else piece_.put(text_[at_], here()), ++at_;
  }
  cut_ = cut_ || at_ >= text_.size();
  if (!cut_) ++at_;
  if (vanishes_ && piece_.empty()) has_piece_ = had_piece;  // "$@" of nothing is no word
}

void ShellWords::take_escape(bool quoted) {
  const std::string_view rest = text_.substr(at_ + 1);
  if (rest.empty()) return void(++at_);
  if (rest.starts_with("\n")) return void(at_ += 2);
  if (rest.starts_with("\r\n")) return void(at_ += 3);
  const bool special = rest[0] == '"' || rest[0] == '\\' || rest[0] == '$' || rest[0] == '`';
  if (quoted && !special) piece_.put('\\', here());
  piece_.put(rest[0], here());
  has_piece_ = true;
  at_ += 2;
}

void ShellWords::put(const ShellText& value, bool quoted) {
  if (quoted || !splits_) return piece_.put(value);
  const std::string& text = value.marked();
  bool marked = false;  // what nothing sets is one word, whatever it is written like
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == unset_begin) marked = true;
    if (!marked && (is_shell_blank(text[i]) || text[i] == '\n')) finish_word();
    else piece_.put(text[i], value.line(i)), has_piece_ = true;
    if (text[i] == unset_end) marked = false;
  }
}

void ShellWords::put_words(const std::vector<ShellText>& words, bool quoted) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && splits_) finish_word();
    if (i > 0 && !splits_) piece_.put(' ', words[i].line());
    put(words[i], quoted);
    if (quoted) has_piece_ = true;
  }
}

void ShellWords::put_unset(std::string_view name, std::string_view written) {
  piece_.put_unset(name, written, here());
  has_piece_ = true;
}

void ShellWords::finish_word() {
  if (has_piece_ || !piece_.empty()) waiting_.push_back(std::move(piece_));
  piece_ = {};
  has_piece_ = false;
}

void ShellWords::take_dollar(bool quoted) {
  const std::size_t start = at_;
  if (text_[at_] == '`') {
    const std::size_t end = text_.find('`', at_ + 1);
    cut_ = end == text_.npos;
    if (cut_) return void(at_ = text_.size());
    take_command(text_.substr(at_ + 1, end - at_ - 1), text_.substr(at_, end + 1 - at_), quoted);
    return void(at_ = end + 1);
  }
  const std::string_view rest = text_.substr(at_ + 1);
  if (!quoted && rest.starts_with('\'')) return take_letters_quote();
  if (rest.starts_with('{') || rest.starts_with('(')) {
    const std::size_t end = after_bracket(text_, at_ + 1);
    cut_ = end == text_.npos;
    if (cut_) return void(at_ = text_.size());
    const std::string_view inside = text_.substr(at_ + 2, end - at_ - 3), written = text_.substr(at_, end - at_);
    if (rest.starts_with('{')) take_parameter(inside, written, quoted);
    else if (rest.starts_with("((") && inside.ends_with(')'))
      take_arithmetic(inside.substr(1, inside.size() - 2), written, quoted);
    else take_command(inside, written, quoted);
    return void(at_ = end);
  }
  std::size_t length = 0;
  if (!rest.empty() && std::isdigit(static_cast<unsigned char>(rest[0])) != 0) length = 1;
  else
    while (length < rest.size() && is_shell_name(rest[length])) ++length;
  constexpr std::string_view special = "@*#?!$-";
  if (length == 0 && !rest.empty() && special.find(rest[0]) != special.npos) length = 1;
  if (length == 0) return piece_.put('$', here()), has_piece_ = true, void(++at_);
  take_parameter(rest.substr(0, length), text_.substr(start, length + 1), quoted);
  at_ = start + 1 + length;
}

ShellText ShellWords::expanded(std::string_view inside, bool quotes) {
  ShellText out;
  if (depth_ >= deepest_piece) {
    const std::string_view shown = inside.substr(0, longest_unread);
    return out.put_unset(shown, shown, here()), out;
  }
  const std::size_t at = static_cast<std::size_t>(inside.data() - text_.data());
  ShellWords inner(source_.part(at, inside.size(), counter_.line(source_, at)), variables_, depth_ + 1);
  out = inner.piece(quotes);
  cut_ = cut_ || inner.cut_;
  doubts_.insert(inner.doubts_.begin(), inner.doubts_.end());
  return out;
}

ShellText ShellWords::piece(bool quotes) {
  splits_ = false;
  while (at_ < text_.size() && !cut_) {
    const char c = text_[at_];
    if (c == '\\') take_escape(!quotes);
    else if (c == '$' || c == '`') take_dollar(true);
    else if (quotes && c == '\'') take_single_quote();
    else if (quotes && c == '"') take_double_quote();
    else if (c == unset_begin) take_marked();
    else piece_.put(c, here()), ++at_;
  }
  return std::move(piece_);
}

}  // namespace stepcast::calibrate
