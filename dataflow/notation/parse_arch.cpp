// Architectures: "arch dram cap:80 GiB { glb { pe[16x16]@mesh cap:512 B } }".
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "dataflow/notation/arch_properties.h"
#include "dataflow/notation/fabrics.h"
#include "dataflow/notation/parser.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

constexpr std::string_view arch_form = "arch LEVEL[UNITS]@FABRIC cap:80 GiB bw:64 B/cycle { LEVEL { ... } }";
constexpr std::size_t most_levels = 32;  // of one arch; machines have about eight

std::vector<std::string> fabric_names() { return names_of(fabric_rows, &FabricRow::name); }

}  // namespace

/// "arch" NAME, or a level by itself: NAME "[", NAME "@", NAME "{", NAME PROP ":"
bool Parser::at_arch() const {
  if (peek().kind != TokenKind::name) return false;
  const Token& second = peek(1);
  if (second.text == "[" || second.text == "@" || second.text == "{") return true;
  if (second.kind != TokenKind::name) return false;
  return at("arch") || (peek(2).text == ":" && find_property(second.text) != nullptr);
}

/// arch := ["arch"] level;  level := NAME ["[" units "]"] ["@" fabric] (PROP ":" QUANTITY)* ["{" level "}"]
/// New lines may stand anywhere behind the first '{', and before it.
void Parser::arch_block() {
  form_ = arch_form;
  WrittenArch arch;
  arch.position = position();
  const Token here = peek();
  if (peek(1).kind == TokenKind::name) accept("arch");
  in_arch_ = true;
  open_levels_ = 0;
  do {
    check_room(arch.levels.size(), most_levels);
    arch.levels.push_back(arch_level(arch));
    std::size_t ahead = 0;
    while (peek(ahead).kind == TokenKind::newline) ++ahead;
    if (peek(ahead).text == "{" && !failed()) index_ += ahead;
  } while (accept("{") && ++open_levels_ > 0);
  for (; open_levels_ > 0 && !failed(); --open_levels_) {
    skip_breaks();
    expect("}");
  }
  end_statement();
  if (failed()) return;
  in_arch_ = false;
  if (!program_.archs.empty())
    note_at(here, "found a second arch",
        fmt::format(
            "a program describes one machine; the first stands at {}", to_text(program_.archs.front().position)));
  program_.archs.push_back(std::move(arch));
}

ArchLevel Parser::arch_level(const WrittenArch& outside) {
  skip_breaks();
  ArchLevel level;
  level.position = position();
  const Token here = peek();
  level.name = plain_name("a level");
  const auto same = [&](const ArchLevel& other) { return other.name == level.name; };
  if (std::ranges::any_of(outside.levels, same))
    note_at(here, fmt::format("found level '{}' a second time", level.name), "levels have distinct names");
  if (level.name == "at") note_at(here, "found 'at' as the name of a level", "'at:' begins a scope; take another name");
  if (skip_breaks(), accept("[")) level.axes = units(level.name);
  if (skip_breaks(), accept("@")) level.fabric = fabric();
  while (skip_breaks(), at_property()) property(level);
  return level;
}

/// units := INT ("x" INT)* | (AXIS ":" INT)+;  one number: the axis has the level's name; several: x, y, z
std::vector<ArchLevel::Axis> Parser::units(const std::string& level) {
  std::vector<ArchLevel::Axis> axes;
  const Token here = peek();
  if (peek().kind != TokenKind::name) {
    axes = unit_product(level);
  } else {
    do {
      check_room(axes.size(), most_axes);
      const Token axis_here = peek();
      ArchLevel::Axis axis{plain_name("an axis"), 1};
      expect(":");
      axis.units = integer(1);
      const auto same = [&](const ArchLevel::Axis& other) { return other.name == axis.name; };
      if (std::ranges::any_of(axes, same))
        note_at(axis_here, fmt::format("found axis '{}' twice in one level", axis.name), "each axis stands once");
      axes.push_back(std::move(axis));
      accept(",");
    } while (!failed() && !at("]"));
  }
  expect("]");
  std::int64_t all = 1;
  for (const ArchLevel::Axis& axis : axes) {
    if (axis.units > largest_size / all)
      return fail_at(here, "found a level of more than 2^40 units", "smaller sizes"), axes;
    all *= axis.units;
  }
  return axes;
}

/// 16x16 comes as one word, 16 x 16 as three tokens: the digits between the x are what counts.
std::vector<ArchLevel::Axis> Parser::unit_product(const std::string& level) {
  constexpr std::array<const char*, 3> axis_names{"x", "y", "z"};
  const Token here = peek();
  std::string text;
  while (peek().kind == TokenKind::number || peek().kind == TokenKind::word || peek().kind == TokenKind::name)
    text += next().text;
  std::vector<ArchLevel::Axis> axes;
  const char *at = text.data(), *end = at + text.size();
  while (true) {
    std::int64_t units = 0;
    const auto [stop, status] = std::from_chars(at, end, units);
    if (status != std::errc() || units < 1 || units > largest_size || (stop != end && *stop != 'x')) {
      fail_at(here, fmt::format("found '{}' as the units of '{}'", text.substr(0, 40), level),
          "write 132, 16x16 or row:16 col:8, each from 1 to 2^40");
      return axes;
    }
    if (axes.size() == axis_names.size()) {
      fail_at(here, "found more than three axes without names", "write row:16 col:8 ...");
      return axes;
    }
    axes.push_back({axis_names[axes.size()], units});
    if (stop == end) break;
    at = stop + 1;
  }
  if (axes.size() == 1) axes.front().name = level;
  return axes;
}

/// fabric := NAME ["(" [multicast] [","] [reduce] ")"]
Fabric Parser::fabric() {
  Fabric fabric;
  const Token here = peek();
  fabric.name = plain_name("a fabric");
  if (failed()) return fabric;
  const FabricRow* row = fabric_row(fabric.name);
  if (row == nullptr)
    note_at(here, fmt::format("found unknown fabric '{}'", fabric.name), name_hint(fabric.name, fabric_names()));
  if (at("(") && row != nullptr && row->kind != FabricClass::network)
    note_at(peek(), fmt::format("found options of fabric '{}', which has none", fabric.name),
        row->kind == FabricClass::bus ? "a bus reaches all units at once and sums on the way"
                                      : "it hands values on from neighbour to neighbour");
  if (accept("(")) fabric_options(fabric);
  return fabric;
}

void Parser::fabric_options(Fabric& fabric) {
  static const std::array<std::string, 2> options{"multicast", "reduce"};
  do {
    bool& flag = at("multicast") ? fabric.multicast : fabric.reduce;
    if (!at("multicast") && !at("reduce")) return fail_here("'multicast' or 'reduce'", options);
    if (flag) return fail_here("each option once");
    flag = true;
    next();
    accept(",");
  } while (!at(")") && !failed());
  expect(")");
}

bool Parser::at_property() const { return peek().kind == TokenKind::name && peek(1).text == ":"; }

/// PROP ":" QUANTITY. What is wrong with it is noted, and the next one is read.
void Parser::property(ArchLevel& level) {
  check_room(level.properties.size(), most_axes);
  const Token here = next();
  next();
  const Token value_here = peek();
  const std::string text = quantity();
  if (failed()) return;
  const std::string name(here.text);
  if (find_property(name) == nullptr)
    return note_at(here, fmt::format("found unknown property '{}'", name), name_hint(name, property_names()));
  const auto same = [&](const ArchLevel::Property& other) { return other.name == name; };
  if (std::ranges::any_of(level.properties, same))
    return note_at(
        here, fmt::format("found '{}' a second time in level '{}'", name, level.name), "each property stands once");
  Expected<ArchLevel::Property> read = read_property(name, text);
  if (!read) return note_at(value_here, read.error().what, read.error().hint);
  level.properties.push_back(std::move(*read));
}

/// QUANTITY := NUMBER [UNIT ["/" UNIT]], kept as "80 GiB". The number's parts and a unit may stand without blanks.
std::string Parser::quantity() {
  const Token first = peek();
  if (first.kind != TokenKind::number && first.kind != TokenKind::word) {
    fail_here("a quantity such as 80 GiB");
    return {};
  }
  const char *begin = first.text.data(), *end = begin + first.text.size();
  next();
  const auto joins = [&] {
    const Token& token = peek();
    const bool sign = (at("-") || at("+")) && (end[-1] == 'e' || end[-1] == 'E');
    const bool part = token.kind == TokenKind::number || token.kind == TokenKind::word ||
                      token.kind == TokenKind::name || at(".") || sign;
    return part && token.text.data() == end;
  };
  while (joins()) end += next().text.size();
  double value = 0;
  const char* stop = std::from_chars(begin, end, value).ptr;
  std::string number(begin, stop), unit(stop, end);
  if (unit.empty() && peek().kind == TokenKind::name && peek(1).text != ":") unit = next().text;
  while (!unit.empty() && accept("/")) {
    if (peek().kind != TokenKind::name) fail_here("a unit");
    unit += fmt::format("/{}", next().text);
  }
  return unit.empty() ? number : fmt::format("{} {}", number, unit);
}

void Parser::skip_breaks() {
  while (open_levels_ > 0 && peek().kind == TokenKind::newline) next();
}

/// Behind this new line: a keyword with a name, or NAME ':' that is no property. Neither can stand in an arch.
bool Parser::at_line_outside_arch() const {
  const Token &first = peek(1), &second = peek(2);
  if (first.kind != TokenKind::name) return false;
  if (second.text == ":") return find_property(first.text) == nullptr;
  const std::vector<std::string> statements = statement_keywords();
  const bool keyword = contains(statements, first.text) || contains(program_keywords, first.text);
  return keyword && second.kind == TokenKind::name;
}

}  // namespace stepcast::dataflow
