// The parser's cursor: looking at tokens, taking them, saying what was expected, going on after an error.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "dataflow/notation/parser.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

constexpr std::size_t longest_name = 128;  // of one name; far above any tensor's
constexpr std::size_t shown_errors = 8;    // a screen; the rest is counted
constexpr std::size_t quoted_characters = 40;

std::string quoted_token(const Token& token) {
  if (token.kind == TokenKind::end) return "the end of the text";
  if (token.kind == TokenKind::newline) return "the end of the line";
  const char first = token.text[0];
  if (first < 0x20 || first > 0x7e) return fmt::format("byte 0x{:02X}", static_cast<unsigned char>(first));
  if (token.text.size() <= quoted_characters) return fmt::format("'{}'", token.text);
  return fmt::format("'{}...' ({} characters)", token.text.substr(0, quoted_characters), token.text.size());
}

}  // namespace

std::string to_text(const Position& position) {
  return fmt::format("{}:{}:{}", position.file, position.line, position.column);
}

Parser::Parser(std::string_view text, const std::string& file) : file_(file), tokens_(tokenize(text)) {}

const Token& Parser::peek(std::size_t ahead) const {
  const std::size_t last = tokens_.size() - 1;
  return tokens_[failed_ ? last : std::min(index_ + ahead, last)];
}

bool Parser::at_statement_end() const { return at_end() || peek().kind == TokenKind::newline || at(";") || at("}"); }

Token Parser::next() {
  const Token token = peek();
  if (!failed_ && token.kind != TokenKind::end) ++index_;
  return token;
}

bool Parser::accept(std::string_view text) {
  if (!at(text)) return false;
  ++index_;
  return true;
}

void Parser::expect(std::string_view text) {
  if (!accept(text)) fail_here(fmt::format("'{}'", text));
}

void Parser::end_statement() {
  if (!failed_ && !at_statement_end()) fail_here("';' or a new line after the statement");
}

std::string Parser::name(std::string_view expected) {
  if (peek().kind != TokenKind::name) {
    fail_here(expected);
    return {};
  }
  if (peek().text.size() > longest_name) {
    fail_here(fmt::format("a name of at most {} characters", longest_name));
    return {};
  }
  return std::string(next().text);
}

std::string Parser::plain_name(std::string_view expected) {
  if (peek().kind == TokenKind::name && peek().text.find('.') != std::string_view::npos)
    fail_here(expected, "dots join the parts of tensors, tags and operators only");
  return name(expected);
}

std::int64_t Parser::integer(std::int64_t least, std::int64_t most) {
  const Token token = peek();
  std::int64_t value = 0;
  const char* end = token.text.data() + token.text.size();
  const bool read = token.kind == TokenKind::number && std::from_chars(token.text.data(), end, value).ec == std::errc();
  if (!read || value < least || value > most) {
    const std::string limit = most == largest_size ? "2^40" : std::to_string(most);
    fail_here(fmt::format("an integer from {} to {}", least, limit));
    return least;
  }
  return next(), value;
}

std::vector<std::string> Parser::product(std::string_view expected) {
  std::vector<std::string> names;
  do {
    check_room(names.size(), most_entries);
    const Token here = peek();
    std::string factor = plain_name(expected);
    if (!failed_ && contains(names, factor))
      fail_at(here, fmt::format("found '{}' twice in one product", factor), "each factor stands once");
    names.push_back(std::move(factor));
  } while (accept("*"));
  return names;
}

std::vector<std::string> Parser::list(std::string_view expected, bool dotted) {
  std::vector<std::string> names;
  do {
    check_room(names.size(), most_entries);
    names.push_back(dotted ? name(expected) : plain_name(expected));
  } while (accept(","));
  return names;
}

Position Parser::position() const { return {file_, peek().line, peek().column}; }

void Parser::check_room(std::size_t count, std::size_t most) {
  if (count >= most) fail_at(peek(), fmt::format("found more than {} entries", most), "split them");
}

void Parser::fail_here(std::string_view expected, std::string hint) {
  fail_at(peek(), fmt::format("found {}, expected {}", quoted_token(peek()), expected), std::move(hint));
}

void Parser::fail_here(std::string_view expected, std::span<const std::string> candidates) {
  if (failed_) return;
  const bool named = peek().kind == TokenKind::name;
  fail_here(expected, named || form_.empty() ? name_hint(named ? peek().text : "", candidates) : std::string{});
}

void Parser::fail_at(const Token& where, std::string what, std::string hint) {
  note_at(where, std::move(what), std::move(hint));
  failed_ = true;
}

void Parser::note_at(const Token& where, std::string what, std::string hint) {
  if (failed_) return;
  ++error_count_;
  if (errors_.size() >= shown_errors) return;
  if (hint.empty()) hint = form_.empty() ? "a statement on a line of its own" : form_;
  errors_.push_back({to_text({file_, where.line, where.column}), std::move(what), std::move(hint)});
}

/// Goes on behind the statement that began at token `start`; always moves, so that the loops around it end.
void Parser::recover(std::size_t start) {
  failed_ = false;
  form_ = {};
  if (index_ == start && !at_end()) ++index_;
  if (in_arch_) return recover_from_arch();
  while (!at_statement_end()) ++index_;
}

/// Goes on behind the arch's last '}', or where one is missing before the first line that cannot stand in an arch.
void Parser::recover_from_arch() {
  in_arch_ = false;
  for (; !at_end(); ++index_) {
    if (at("{")) ++open_levels_;
    if (at("}")) --open_levels_;
    if (open_levels_ <= 0 && at_statement_end()) break;
    if (peek().kind == TokenKind::newline && at_line_outside_arch()) break;
  }
  if (at("}")) ++index_;
  open_levels_ = 0;
  while (!at_statement_end()) ++index_;
}

/// One error stands alone; several become lines of `what`, each with its own place and hint. The last one's hint is the
/// hint of all.
Error Parser::joined_errors() const {
  if (error_count_ == 1) return errors_.front();
  const bool all = error_count_ == errors_.size();
  Error joined{errors_.front().where, {}, all ? errors_.back().hint : "mend these first"};
  for (std::size_t i = 0; i < errors_.size(); ++i) {
    Error shown = errors_[i];
    if (i == 0) shown.where.clear();
    if (all && i + 1 == errors_.size()) shown.hint.clear();
    joined.what += (i == 0 ? "" : "\n") + to_text(shown);
  }
  if (!all) joined.what += fmt::format("\nand {} more", error_count_ - errors_.size());
  return joined;
}

}  // namespace stepcast::dataflow
