// parse(): a file of the notation. Lines about the whole program (mesh, arch, dim, operators, alias) and one map.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dataflow/notation/parser.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

constexpr std::size_t largest_text = 1 << 20;  // the shipped aliases together are 8 kB

/// Names that mean something else where a dim may stand.
constexpr std::array<std::string_view, 4> reserved_dims{"none", "layer", "full", "partial"};

}  // namespace

/// program := (mesh | arch | dim | operator | alias | map | use | statement)*, separated by new lines or ';'
Expected<MappingProgram> Parser::run() {
  while (true) {
    while (peek().kind == TokenKind::newline || at(";")) next();
    if (at_end()) break;
    const std::size_t start = index_;
    if (in_map_) map_item();
    else item();
    if (failed()) recover(start);
  }
  if (in_map_) fail_here("'}' at the end of the map");
  if (error_count_ > 0) return tl::unexpected(joined_errors());
  return std::move(program_);
}

void Parser::item() {
  struct Row {
    std::string_view keyword;
    void (Parser::*read)();
  };
  static constexpr std::array<Row, 5> rows{{{"mesh", &Parser::mesh_line}, {"dim", &Parser::dim_line},
      {"use", &Parser::use_line}, {"alias", &Parser::alias_line}, {"map", &Parser::map_block}}};
  if (at_operator()) return operator_line();
  if (at_statement()) return bare_statement();
  if (at("arch") && at_arch()) return arch_block();
  for (const Row& row : rows)
    if (at(row.keyword)) return (this->*row.read)();
  if (at_arch()) return arch_block();
  std::vector<std::string> known = statement_keywords();
  known.insert(known.end(), program_keywords.begin(), program_keywords.end());
  fail_here("a statement, mesh, arch, dim, use, alias, map or an operator NAME: ...", known);
}

/// mesh := "mesh" (AXIS ":" INT)+, fastest axis first
void Parser::mesh_line() {
  form_ = "mesh AXIS:N AXIS:N ..., fastest axis first";
  check_room(program_.meshes.size(), most_axes);
  MeshLine mesh;
  mesh.position = position();
  next();
  std::int64_t ranks = 1;
  do {
    check_room(mesh.axes.size(), most_axes);
    const Token here = peek();
    MeshLine::Axis axis{plain_name("an axis"), 1};
    expect(":");
    const Token size_here = peek();
    axis.size = integer(1);
    if (axis.size > largest_size / ranks) fail_at(size_here, "found a mesh of more than 2^40 ranks", "smaller sizes");
    ranks *= failed() ? 1 : axis.size;
    const auto same = [&](const MeshLine::Axis& other) { return other.name == axis.name; };
    if (std::ranges::any_of(mesh.axes, same))
      fail_at(here, fmt::format("found axis '{}' twice in one mesh line", axis.name), "each axis stands once per line");
    mesh.axes.push_back(std::move(axis));
  } while (!failed() && !at_statement_end());
  if (!failed()) program_.meshes.push_back(std::move(mesh));
}

/// dim := "dim" (DIM ":" INT)+, the extents of written operators' loops
void Parser::dim_line() {
  form_ = "dim NAME:N NAME:N ...";
  next();
  do {
    check_room(program_.dims.size(), most_entries);
    const Token here = peek();
    Dim dim{plain_name("a dim"), 1};
    expect(":");
    dim.extent = integer(1);
    const auto same = [&](const Dim& other) { return other.name == dim.name; };
    if (std::ranges::any_of(program_.dims, same))
      fail_at(here, fmt::format("found dim '{}' a second time", dim.name), "each dim has one extent");
    if (contains(reserved_dims, dim.name))
      fail_at(here, fmt::format("found '{}' as the name of a dim", dim.name), "the word has a meaning in par or home");
    if (!failed()) program_.dims.push_back(std::move(dim));
  } while (!failed() && !at_statement_end());
}

/// use := "use" ALIAS ("," ALIAS)*
void Parser::use_line() {
  form_ = "use ALIAS[, ALIAS]";
  Use use;
  use.position = position();
  check_one_map("use");
  next();
  use.names = list("an alias", false);
  end_statement();
  if (!failed()) program_.body.emplace_back(std::move(use));
}

/// alias := "alias" NAME "=" statement (";" statement)*;  a ';' at the end of a line goes on below
void Parser::alias_line() {
  form_ = "alias NAME = STATEMENT ; STATEMENT";
  check_room(program_.aliases.size(), most_entries);
  Alias alias;
  alias.position = position();
  const Token here = next();
  alias.name = plain_name("the alias's name");
  const auto same = [&](const Alias& other) { return other.name == alias.name; };
  if (std::ranges::any_of(program_.aliases, same))
    fail_at(here, fmt::format("found alias '{}' a second time", alias.name), "aliases have distinct names");
  expect("=");
  alias.statements.push_back(statement());
  while (at(";")) {
    while (at(";") || peek().kind == TokenKind::newline) next();
    if (!at_statement() || at_operator()) break;  // the ';' ended the alias: use, mesh, the next alias
    alias.statements.push_back(statement());
  }
  if (!failed()) program_.aliases.push_back(std::move(alias));
}

/// map := "map" NAME "{" (use | statement)* "}"
void Parser::map_block() {
  form_ = "map NAME { STATEMENTS }";
  const Token here = peek();
  next();
  std::string map_name = plain_name("the map's name");
  if (map_closed_ || !program_.body.empty())
    fail_at(here, fmt::format("found map '{}' beside another map or bare statements", map_name),
        "a program has one map; statements outside any block are a map without a name");
  const bool opened = at("{");
  expect("{");
  in_map_ = opened;
  if (!failed()) program_.map_name = std::move(map_name);
}

/// Use or statement inside the block, or its end.
void Parser::map_item() {
  if (accept("}")) {
    in_map_ = false;
    map_closed_ = true;
    return end_statement();
  }
  if (at_operator())
    return fail_at(peek(), "found an operator in a map",
        "operators stand outside the map; a level's line says par, for or [TENSORS]");
  if (at_statement()) return bare_statement();
  if (at("use")) return use_line();
  if (at_arch()) {
    note_at(peek(), "found an arch in a map", "an arch stands outside the map");
    return arch_block();
  }
  std::vector<std::string> known = statement_keywords();
  known.emplace_back("use");
  fail_here("a statement, use or '}'", known);
}

void Parser::bare_statement() {
  check_one_map("a statement");
  Statement read = statement();
  if (!failed()) program_.body.emplace_back(std::move(read));
}

void Parser::check_one_map(std::string_view found) {
  if (map_closed_ && !in_map_)
    fail_at(peek(), fmt::format("found {} behind the map's '}}'", found), "a named map holds all statements");
}

Expected<MappingProgram> parse(const std::string& text, const std::string& file) {
  if (text.size() > largest_text)
    return fail(file, fmt::format("found {} bytes of text", text.size()), "at most 1 MiB");
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') {
    const auto begin = text.begin(), brace = begin + static_cast<std::ptrdiff_t>(first);
    const auto line = 1 + std::count(begin, brace, '\n');
    const std::size_t column = first - (text.rfind('\n', first) + 1) + 1;  // npos + 1 is 0
    return fail(fmt::format("{}:{}:{}", file, line, column), "this is JSON, and a mapping in the notation is asked for",
        "statements such as \"par X:8 on tp\"; docs/notation.md has whole ones");
  }
  return Parser(text, file).run();
}

}  // namespace stepcast::dataflow
