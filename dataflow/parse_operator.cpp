// Written operators: "mlp.up: O[m,n] += I[m,k] * W[k,n]".
#include <algorithm>
#include <array>

#include "dataflow/parser.h"

namespace stepcast {
namespace {

constexpr std::string_view operator_form = "NAME: OUT[i,j] += IN[i,k] * IN[k,j]";

struct MonoidWord { std::string_view text; Monoid monoid; };
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

/// No keyword is reserved: a name before ':' is an operator whatever it is called. Only `at:` looks twice, because a
/// scope without tags is the likelier mistake.
bool Parser::at_operator() const {
  if (peek().kind != TokenKind::name || peek(1).text != ":") return false;
  return !at("at") || peek(3).text == "[";
}

/// operator   := NAME ":" access assignment [FUNCTION] access (("*" | "+" | ",") access)*
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
  if (peek().kind == TokenKind::name && peek(1).kind == TokenKind::name) op.function = plain_name("a function");
  inputs(op);
  end_statement();
  const auto same = [&](const WrittenOperator& other) { return other.name == op.name; };
  if (std::any_of(program_.operators.begin(), program_.operators.end(), same))
    fail_at(here, "found operator '" + op.name + "' a second time", "operators have distinct names");
  if (!failed()) program_.operators.push_back(std::move(op));
}

/// access := TENSOR "[" [LOOP ("," LOOP)*] "]";  T[] is a scalar
WrittenAccess Parser::access() {
  WrittenAccess access;
  access.tensor = name("a tensor");
  expect("[");
  if (!at("]")) access.loops = list("a loop", false);
  expect("]");
  return access;
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

}  // namespace stepcast
