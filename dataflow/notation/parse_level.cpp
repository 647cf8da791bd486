// Lines of chip levels: "glb: par k:16 on x  for n:8 for m:* [I W O]".
#include <array>

#include <fmt/format.h>

#include "dataflow/notation/parser.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

constexpr std::string_view level_form = "LEVEL: par DIM:N on AXIS  for DIM:N  [TENSOR TENSOR], in any order";

}  // namespace

/// `at` alone begins a scope, so no level is called that.
bool Parser::at_level_line() const {
  return peek().kind == TokenKind::name && peek(1).text == ":" && !at("at") && !at_operator();
}

/// level_line := LEVEL ":" level_item ([","] level_item)*
Parser::Body Parser::level_line() {
  form_ = level_form;
  LevelStatement line;
  line.level = plain_name("a level");
  expect(":");
  do level_item(line);
  while (!failed() && (accept(",") || !at_statement_end()));
  return line;
}

/// level_item := chip_par | for | keep
void Parser::level_item(LevelStatement& line) {
  static const std::array<std::string, 2> keywords{"par", "for"};
  check_room(line.items.size(), most_entries);
  if (accept("par")) return chip_pars(line);
  if (accept("for")) return void(line.items.emplace_back(for_statement()));
  if (accept("[")) return void(line.items.emplace_back(keep()));
  fail_here("'par', 'for' or '[TENSORS]' of a level, or TENSOR[...] of an operator", keywords);
}

/// chip_par := "par" DIM count ("," DIM count)* "on" AXIS;  a list is so many pars on that axis
void Parser::chip_pars(LevelStatement& line) {
  const std::size_t first = line.items.size();
  do {
    check_room(line.items.size(), most_entries);
    ChipPar par;
    par.dim = plain_name("a dim");
    count(par.factor, par.ragged);
    line.items.emplace_back(std::move(par));
  } while (accept(","));
  if (at("*")) fail_here("'on'", "on a chip level write one par per dim: 'par g:4 on x  par r:2 on x'");
  expect("on");
  const std::string axis = name("an axis");
  for (std::size_t i = first; i < line.items.size(); ++i) std::get<ChipPar>(line.items[i]).axis = axis;
}

/// keep := "[" [TENSOR ([","] TENSOR)*] "]"
Keep Parser::keep() {
  Keep keep;
  while (!failed() && !at("]")) {
    check_room(keep.tensors.size(), most_entries);
    const Token here = peek();
    std::string tensor = name("a tensor or ']'");
    if (contains(keep.tensors, tensor))
      note_at(here, fmt::format("found '{}' twice in one list", tensor), "each tensor stands once");
    keep.tensors.push_back(std::move(tensor));
    if (accept(",") && at("]")) fail_here("a tensor");
  }
  expect("]");
  return keep;
}

/// count := [":" (INT | "*")] ["?"];  none is *
void Parser::count(std::int64_t& rounds, bool& ragged) {
  if (accept(":") && !accept("*")) rounds = integer(1);
  ragged = accept("?");
}

}  // namespace stepcast::dataflow
