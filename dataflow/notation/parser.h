// The parser behind parse(): recursive descent, one function per production of docs/notation.md.
// parse_cursor.cpp moves over tokens and keeps errors, parse_statement.cpp reads what stands in a map,
// parse_level.cpp reads lines of chip levels, parse_arch.cpp architectures, parse_operator.cpp written operators,
// parse.cpp a file.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataflow/notation/lexer.h"
#include "dataflow/notation/mapping.h"

namespace stepcast::dataflow {

/// Sizes and counts run from 1 to this. Far above any machine or tensor dim, far below overflow of a product of two
/// that the mesh check makes.
inline constexpr std::int64_t largest_size = std::int64_t{1} << 40;

/// Entries of one list, dims, operators and aliases of one program; axes of one mesh line and mesh lines. Look-ups are
/// linear because real programs have a dozen of each: the limits keep hostile text from making that slow.
inline constexpr std::size_t most_entries = 1000, most_axes = 64;

/// Coefficients of an index (2*p + r) run from 1 to this: strides and dilations are small, and counts multiply them.
inline constexpr std::int64_t largest_step = std::int64_t{1} << 20;

/// Words that begin a line about the whole program.
inline constexpr std::array<std::string_view, 6> program_keywords{"mesh", "arch", "dim", "use", "alias", "map"};

/// Every word that some production knows, from the parser's own tables: what docs/notation.md must show.
std::vector<std::string> notation_keywords();

/// Tags that every program may be scoped by, whether it has such operators or not (docs/design.md, section B).
bool is_common_tag(std::string_view tag);
/// Names and tags of operators.
template <class Operators> void add_tags(const Operators& operators, std::vector<std::string>& tags) {
  for (const auto& op : operators) {
    tags.push_back(op.name);
    tags.insert(tags.end(), op.tags.begin(), op.tags.end());
  }
}
/// Refuses a tag that is not among the `known`; `none` begins the message.
Expected<void> check_tag(
    const std::string& tag, std::vector<std::string> known, const std::string& where, std::string_view none);

/// "plan.flow:3:12", as errors name a place.
std::string to_text(const Position& position);

/// After the first error of a statement the parser is failed(): it then shows only the end of the text, so that
/// productions run out without further checks, until recover() goes on at the next statement.
class Parser {
 public:
  Parser(std::string_view text, const std::string& file);
  Expected<MappingProgram> run();

 private:
  using Body = decltype(Statement::body);

  // parse.cpp: a file.
  void item();
  void mesh_line();
  void dim_line();
  void use_line();
  void alias_line();
  void map_block();
  void bare_statement();
  void map_item();
  void check_one_map(std::string_view found);

  // parse_statement.cpp: what stands in a map.
  [[nodiscard]] bool at_statement() const;
  [[nodiscard]] static std::vector<std::string> statement_keywords();
  Statement statement();
  Body par();
  Body stage(const std::vector<std::string>& dims);
  Body for_loop();
  ForStatement for_statement();
  Body home();
  Body move();
  Body save();
  Body recompute();
  HomePlace home_place();
  Layout layout();
  void move_options(MoveStatement& move);
  std::string bucket();
  std::string schedule_name();

  // parse_level.cpp: NAME ':' begins an operator if TENSOR '[' follows, else a line of a chip level.
  [[nodiscard]] bool at_level_line() const;
  Body level_line();
  void level_item(LevelStatement& line);
  void chip_pars(LevelStatement& line);
  Keep keep();
  void count(std::int64_t& rounds, bool& ragged);

  // parse_arch.cpp
  [[nodiscard]] bool at_arch() const;
  void arch_block();
  ArchLevel arch_level(const WrittenArch& outside);
  std::vector<ArchLevel::Axis> units(const std::string& level);
  std::vector<ArchLevel::Axis> unit_product(const std::string& level);
  Fabric fabric();
  void fabric_options(Fabric& fabric);
  [[nodiscard]] bool at_property() const;
  void property(ArchLevel& level);
  std::string quantity();
  void skip_breaks();
  [[nodiscard]] bool at_line_outside_arch() const;

  // parse_operator.cpp
  [[nodiscard]] bool at_operator() const;
  void operator_line();
  void function(WrittenOperator& op);
  WrittenAccess access();
  WrittenIndex index();
  Monoid assignment();
  void inputs(WrittenOperator& op);
  void domain(WrittenOperator& op);
  void pads(WrittenOperator& op);
  double pad_factor();
  std::string loop_of(const WrittenOperator& op);
  void check_loop(const WrittenOperator& op, const Token& where, const std::string& loop);
  void check_whole_loops(const WrittenOperator& op, std::size_t function_index);

  // parse_cursor.cpp: tokens.
  [[nodiscard]] const Token& peek(std::size_t ahead = 0) const;
  [[nodiscard]] bool at(std::string_view text) const { return peek().text == text && !text.empty(); }
  [[nodiscard]] bool at_end() const { return peek().kind == TokenKind::end; }
  [[nodiscard]] bool at_statement_end() const;
  Token next();
  bool accept(std::string_view text);
  void expect(std::string_view text);
  void end_statement();
  std::string name(std::string_view expected);        ///< dots allowed: tensors, tags, operators
  std::string plain_name(std::string_view expected);  ///< no dots: dims, axes, aliases
  std::int64_t integer(std::int64_t least, std::int64_t most = largest_size);
  std::vector<std::string> product(std::string_view expected);            ///< a*b*c, each once
  std::vector<std::string> list(std::string_view expected, bool dotted);  ///< a, b, c
  [[nodiscard]] Position position() const;
  void check_room(std::size_t count, std::size_t most);

  // parse_cursor.cpp: errors.
  [[nodiscard]] bool failed() const { return failed_; }
  void fail_here(std::string_view expected, std::string hint = {});
  void fail_here(std::string_view expected, std::span<const std::string> candidates);
  void fail_at(const Token& where, std::string what, std::string hint);
  void note_at(const Token& where, std::string what, std::string hint);  ///< wrong, but reading can go on
  void recover(std::size_t start);
  void recover_from_arch();
  [[nodiscard]] Error joined_errors() const;

  const std::string& file_;
  std::vector<Token> tokens_;
  std::size_t index_ = 0;
  bool failed_ = false;
  bool in_map_ = false, map_closed_ = false;
  bool in_arch_ = false;   ///< between the first level of an arch and its last '}'
  int open_levels_ = 0;    ///< '{' of the arch not closed yet
  std::string_view form_;  ///< of the statement being read: the hint where no better one is known
  std::vector<Error> errors_;
  std::size_t error_count_ = 0;
  MappingProgram program_;
};

}  // namespace stepcast::dataflow
