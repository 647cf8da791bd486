#include "dataflow/notation/lexer.h"

namespace stepcast::dataflow {
namespace {

// Written out: <cctype> depends on the locale and is undefined for bytes above 127.
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { tokens_.reserve(text.size() / 3 + 8); }

  std::vector<Token> run() {
    while (at_ < text_.size()) step();
    add(TokenKind::end, 0);
    return std::move(tokens_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (is_blank(c)) {
      ++at_;
      return;
    }
    if (c == '#') return skip_comment();
    if (c == '\n') return newline();
    if (is_letter(c)) return add(TokenKind::name, name_length());
    if (is_digit(c)) return number_or_word();
    const bool two = (c == '+' || c == '<') && peek(1) == '=';
    add(TokenKind::symbol, two ? 2 : 1);
  }

  [[nodiscard]] char peek(std::size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void newline() {
    add(TokenKind::newline, 1);
    ++line_;
    line_start_ = at_;
  }

  [[nodiscard]] std::size_t name_length() const {
    std::size_t n = 1;
    for (;; ++n) {
      const char c = peek(n);
      const bool joint = c == '.' && is_letter(peek(n + 1));
      if (!is_letter(c) && !is_digit(c) && !joint) return n;
    }
  }

  void number_or_word() {
    std::size_t n = 1;
    bool digits = true;
    for (; is_digit(peek(n)) || is_letter(peek(n)); ++n) digits = digits && is_digit(peek(n));
    add(digits ? TokenKind::number : TokenKind::word, n);
  }

  void add(TokenKind kind, std::size_t length) {
    tokens_.push_back({kind, text_.substr(at_, length), line_, static_cast<int>(at_ - line_start_) + 1});
    at_ += length;
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

}  // namespace stepcast::dataflow
