// The cluster half of the notation as a tree: mesh, par, home, move, save, recompute, stage, `at` scopes, layouts, alias.
// Grammar: docs/notation.md. parse() reads it, print() writes it back so that parse(print(p)) == p.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/error.h"
#include "model/operator.h"

namespace stepcast {

/// Where a statement stands in its text, 1-based; line 0 = made by the program.
struct Position {
  std::string file;
  int line = 0, column = 0;
  friend bool operator==(const Position&, const Position&) { return true; }  ///< trees compare by meaning
};

struct MeshLine {
  struct Axis {
    std::string name;
    std::int64_t size = 1;
    friend bool operator==(const Axis&, const Axis&) = default;
  };
  std::vector<Axis> axes;           ///< fastest first
  Position position;
  friend bool operator==(const MeshLine&, const MeshLine&) = default;
};

struct Layout {
  enum class Kind : std::uint8_t { block, cyclic, zigzag, list } kind = Kind::block;
  std::int64_t cyclic = 1;
  std::vector<std::int64_t> list;
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// par d1*d2 on a1*a2 layout;  dims empty = `none`.
struct ParStatement {
  std::vector<std::string> dims, axes;
  Layout layout;
  friend bool operator==(const ParStatement&, const ParStatement&) = default;
};

/// par layer on AXIS layout sched NAME for mb:M  (M 0 = follows from the batch)
struct StageStatement {
  std::string axis, schedule;
  Layout layout;
  std::int64_t micro_batches = 0;
  friend bool operator==(const StageStatement&, const StageStatement&) = default;
};

/// for d:N  or  for d:*
struct ForStatement {
  std::string dim;
  std::int64_t count = 0;           ///< 0 = *
  friend bool operator==(const ForStatement&, const ForStatement&) = default;
};

struct HomePlace {
  std::string what;                 ///< dim name, "*", "full" or "partial"
  std::vector<std::string> axes;
  std::string skew;                 ///< axis, or ""
  friend bool operator==(const HomePlace&, const HomePlace&) = default;
};
struct HomeStatement {
  std::string what;                 ///< tensor, "weights", "grads", "optimizer", "boundary"
  std::vector<HomePlace> places;
  friend bool operator==(const HomeStatement&, const HomeStatement&) = default;
};

enum class Manner : std::uint8_t { unset, gather, multicast, rotate, reduce, scatter, exchange, p2p };
enum class Life : std::uint8_t { unset, pass, microbatch, step };
struct MoveStatement {
  std::vector<std::string> what;    ///< tensors, "weights", "grads", ...
  Manner manner = Manner::unset;
  std::string as;                   ///< wire type, "" = the tensor's own
  std::int64_t chunks = 1;
  std::string bucket;               ///< "", "unit", "none" or bytes as written
  bool staged = false;
  int ahead = -1;                   ///< -1 = default
  Life life = Life::unset;
  std::string dedupe;
  friend bool operator==(const MoveStatement&, const MoveStatement&) = default;
};

struct SaveStatement {
  std::vector<std::string> tensors;
  bool at_use = false;              ///< else home
  friend bool operator==(const SaveStatement&, const SaveStatement&) = default;
};

struct RecomputeStatement {
  std::vector<std::string> tags;
  bool whole = false;
  std::int64_t layers = 0;          ///< 0 = all
  friend bool operator==(const RecomputeStatement&, const RecomputeStatement&) = default;
};

struct Statement {
  std::vector<std::string> scope;   ///< `at` tags; empty = everywhere
  std::variant<ParStatement, StageStatement, ForStatement, HomeStatement, MoveStatement, SaveStatement,
               RecomputeStatement> body;
  Position position;
  std::string alias;                ///< name of the alias it was expanded from, for --explain
  friend bool operator==(const Statement& a, const Statement& b) { return a.scope == b.scope && a.body == b.body; }
};

struct Use {
  std::vector<std::string> names;
  Position position;
  friend bool operator==(const Use&, const Use&) = default;
};

struct Alias {
  std::string name;
  std::vector<Statement> statements;
  Position position;
  friend bool operator==(const Alias&, const Alias&) = default;
};

/// An operator written out: "O[m,n] += I[m,k] * W[k,n]", with `dim m:4096` lines for extents.
struct WrittenAccess {
  std::string tensor;
  std::vector<std::string> loops;
  friend bool operator==(const WrittenAccess&, const WrittenAccess&) = default;
};
struct WrittenOperator {
  std::string name;
  std::vector<std::string> tags;
  Monoid monoid = Monoid::sum;      ///< none for "="
  std::string function;             ///< "" = einsum
  char joint = '*';                 ///< between the inputs as written
  WrittenAccess output;
  std::vector<WrittenAccess> inputs;
  Position position;
  friend bool operator==(const WrittenOperator&, const WrittenOperator&) = default;
};

/// A file of the notation. `items` of a map keep text order: uses and statements.
struct MappingProgram {
  std::vector<MeshLine> meshes;
  std::vector<Dim> dims;                       ///< `dim NAME:EXTENT`
  std::vector<WrittenOperator> operators;
  std::vector<Alias> aliases;
  std::string map_name;                        ///< of the `map NAME { }` block around body; "" = bare statements
  std::vector<std::variant<Use, Statement>> body;
};

Expected<MappingProgram> parse(const std::string& text, const std::string& file);
std::string print(const MappingProgram& program);
std::string print(const Statement& statement);

/// The built-in aliases (dataflow/aliases/*.flow), parsed once.
const std::vector<Alias>& builtin_aliases();

/// Every `use` replaced by the statements of its alias (the program's own aliases first, then the built-in ones).
Expected<std::vector<Statement>> expand(const MappingProgram& program);

}  // namespace stepcast
