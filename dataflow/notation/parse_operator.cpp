// Written operators: "mlp.up: O[m,n] += I[m,k] * W[k,n]", "conv: O[n,k,p] += I[n,c,2*p+r] * W[k,c,r]".
#include <algorithm>
#include <array>
#include <charconv>

#include "dataflow/notation/parser.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

constexpr std::string_view operator_form = "NAME: OUT[i,j] += [FUNCTION] IN[i,k] * IN[k,j] [where k <= i] [pad i]";
/// A capacity factor of experts is near 1; far more is a mistake, and less than this drops nearly everything.
constexpr double least_pad = 1e-3, most_pad = 1e6;

struct MonoidWord {
  std::string_view text;
  Monoid monoid;
};
constexpr std::array<MonoidWord, 3> monoid_words{
    {{"max", Monoid::max}, {"min", Monoid::min}, {"softmax", Monoid::softmax}}};

/// An operator named a.b.c answers to the tags a, a.b and a.b.c.
std::vector<std::string> tags_of_name(const std::string& name) {
  std::vector<std::string> tags;
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    tags.push_back(name.substr(0, dot));
  tags.push_back(name);
  return tags;
}

}  // namespace

/// No keyword is reserved: a name before ':' is an operator whatever it is called, if an access follows.
bool Parser::at_operator() const {
  const bool named = peek().kind == TokenKind::name && peek(1).text == ":";
  return named && peek(2).kind == TokenKind::name && peek(3).text == "[";
}

/// operator   := NAME ":" access assignment [function] access (("*" | "+" | ",") access)* ["where" domain] ["pad" pads]
/// assignment := "+=" | "max=" | "min=" | "softmax=" | "="
void Parser::operator_line() {
  form_ = operator_form;
  check_room(program_.operators.size(), most_entries);
  WrittenOperator op;
  op.position = position();
  const Token here = peek();
  op.name = name("the operator's name");
  op.tags = tags_of_name(op.name);
  expect(":");
  op.output = access();
  op.monoid = assignment();
  const std::size_t function_index = index_;
  function(op);
  inputs(op);
  if (accept("where")) domain(op);
  if (accept("pad")) pads(op);
  end_statement();
  check_whole_loops(op, function_index);
  const auto same = [&](const WrittenOperator& other) { return other.name == op.name; };
  if (std::ranges::any_of(program_.operators, same))
    fail_at(here, "found operator '" + op.name + "' a second time", "operators have distinct names");
  if (!failed()) program_.operators.push_back(std::move(op));
}

/// function := FUNCTION ["(" [LOOP ([","] LOOP)*] ")"];  the loops may not be split. `opaque` always names them.
void Parser::function(WrittenOperator& op) {
  const bool loops_follow = peek(1).text == "(";
  if (peek().kind != TokenKind::name || (peek(1).kind != TokenKind::name && !loops_follow)) return;
  op.function = plain_name("a function");
  if (op.function == "opaque" && !loops_follow)
    fail_here("'(' and the loops that may not be split", "opaque(d): no rank works on a part of d");
  if (!accept("(")) return;
  while (!failed() && !at(")")) {
    check_room(op.whole_loops.size(), most_entries);
    op.whole_loops.push_back(plain_name("a loop or ')'"));
    accept(",");
  }
  expect(")");
}

/// The loops stand before the accesses that they must be in, so they are looked up at the operator's end.
void Parser::check_whole_loops(const WrittenOperator& op, std::size_t function_index) {
  for (const std::string& loop : op.whole_loops) check_loop(op, tokens_[function_index], loop);
}

/// access := TENSOR "[" [index ("," index)*] "]";  T[] is a scalar
WrittenAccess Parser::access() {
  WrittenAccess access;
  access.tensor = name("a tensor");
  expect("[");
  if (accept("]")) return access;
  do {
    check_room(access.indices.size(), most_axes);
    access.indices.push_back(index());
  } while (accept(","));
  expect("]");
  return access;
}

/// index := term ("+" term)*;  term := [INT "*"] LOOP
WrittenIndex Parser::index() {
  WrittenIndex index;
  do {
    check_room(index.terms.size(), most_axes);
    WrittenIndex::Term term;
    if (peek().kind == TokenKind::number) {
      term.step = integer(1, largest_step);
      if (!at("*")) fail_here("'*' and a loop", "an index is a sum of loops, such as 2*p + r, without constants");
      expect("*");
    } else if (peek().kind == TokenKind::word) {
      fail_here("a loop", "write the product out: 2*p");
    }
    const Token here = peek();
    term.loop = plain_name("a loop");
    if (at("*")) fail_here("'+', ',' or ']'", "the factor stands first: 2*p");
    const auto same = [&](const WrittenIndex::Term& other) { return other.loop == term.loop; };
    if (std::ranges::any_of(index.terms, same))
      fail_at(here, "found '" + term.loop + "' twice in one index", "each loop stands once in a sum");
    index.terms.push_back(std::move(term));
  } while (accept("+"));
  return index;
}

Monoid Parser::assignment() {
  if (accept("+=")) return Monoid::sum;
  if (accept("=")) return Monoid::none;
  for (const MonoidWord& word : monoid_words) {
    if (!at(word.text) || peek(1).text != "=") continue;
    next();
    next();
    return word.monoid;
  }
  fail_here("'+=', 'max=', 'min=', 'softmax=' or '='");
  return Monoid::none;
}

void Parser::inputs(WrittenOperator& op) {
  op.inputs.push_back(access());
  while (at("*") || at("+") || at(",")) {
    const char joint = peek().text[0];
    if (op.inputs.size() > 1 && joint != op.joint)
      return fail_here(std::string("'") + op.joint + "': one operator joins all inputs alike", "write two operators");
    op.joint = joint;
    next();
    op.inputs.push_back(access());
  }
}

/// domain := KEY "<=" QUERY | QUERY "-" INT "<" KEY "<=" QUERY
void Parser::domain(WrittenOperator& op) {
  form_ = "where KEY <= QUERY, or where QUERY-W < KEY <= QUERY";
  WrittenDomain domain;
  const Token here = peek();
  std::string first = loop_of(op);
  if (accept("-")) {
    domain.window = integer(1);
    expect("<");
    domain.key = loop_of(op);
    expect("<=");
    const Token again = peek();
    domain.query = loop_of(op);
    if (domain.query != first)
      fail_at(again, "found '" + domain.query + "', expected '" + first + "'",
          "a window ends at the loop that it is counted from");
  } else {
    domain.key = std::move(first);
    expect("<=");
    domain.query = loop_of(op);
  }
  if (domain.key == domain.query)
    fail_at(here, "found '" + domain.key + "' compared with itself", "two loops over one dim: queries s and keys t");
  op.domain = std::move(domain);
}

/// pads := LOOP [":" NUMBER] ("," LOOP [":" NUMBER])*
void Parser::pads(WrittenOperator& op) {
  form_ = "pad DIM[:FACTOR], DIM[:FACTOR]";
  do {
    check_room(op.pads.size(), most_axes);
    const Token here = peek();
    WrittenPad pad{loop_of(op), 0};
    if (accept(":")) pad.factor = pad_factor();
    const auto same = [&](const WrittenPad& other) { return other.dim == pad.dim; };
    if (std::ranges::any_of(op.pads, same))
      fail_at(here, "found '" + pad.dim + "' padded twice", "each loop stands once");
    op.pads.push_back(std::move(pad));
  } while (accept(","));
}

/// A decimal number, such as 1.25.
double Parser::pad_factor() {
  const Token here = peek();
  const std::string text = peek().kind == TokenKind::number ? quantity() : std::string{};
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool read = status == std::errc() && end == text.data() + text.size();
  if (!read || !(value >= least_pad && value <= most_pad))
    fail_at(here, "found no factor from 0.001 to 1000000", "such as 1.25 of the rows that are expected");
  return value;
}

/// A loop that one of the operator's accesses has.
std::string Parser::loop_of(const WrittenOperator& op) {
  const Token here = peek();
  std::string loop = plain_name("a loop");
  check_loop(op, here, loop);
  return loop;
}

void Parser::check_loop(const WrittenOperator& op, const Token& where, const std::string& loop) {
  if (failed()) return;
  std::vector<std::string> loops;
  const auto take = [&](const WrittenAccess& access) {
    for (const WrittenIndex& index : access.indices)
      for (const WrittenIndex::Term& term : index.terms) loops.push_back(term.loop);
  };
  take(op.output);
  for (const WrittenAccess& input : op.inputs) take(input);
  if (contains(loops, loop)) return;
  std::ranges::sort(loops);
  loops.erase(std::unique(loops.begin(), loops.end()), loops.end());
  note_at(where, "found '" + loop + "', which is no loop of operator '" + op.name + "'", name_hint(loop, loops));
}

}  // namespace stepcast::dataflow
