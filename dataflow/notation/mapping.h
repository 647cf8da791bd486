// The notation as a tree: mesh, arch, operators, par, for, home, move, save, recompute, stage, what chip levels do,
// `at` scopes, layouts, aliases.
// Grammar: docs/notation.md. parse() reads it, print() writes it back so that parse(print(p)) == p.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/base/error.h"
#include "model/base/position.h"
#include "model/network/operator.h"

namespace stepcast::dataflow {

struct MeshLine {
  struct Axis {
    std::string name;
    std::int64_t size = 1;
    friend bool operator==(const Axis&, const Axis&) = default;
  };
  std::vector<Axis> axes;  ///< fastest first
  Position position;
  friend bool operator==(const MeshLine&, const MeshLine&) = default;
};

struct Layout {
  enum class Kind : std::uint8_t { block, cyclic, zigzag, list } kind = Kind::block;
  std::int64_t cyclic = 1;
  std::vector<std::int64_t> list;  ///< parts one by one; with zigzag: laid there and back
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

/// for d:N  or  for d:N?  or  for d:*
struct ForStatement {
  std::string dim;
  std::int64_t count = 0;  ///< 0 = *
  bool ragged = false;     ///< ?: the last round may be short
  friend bool operator==(const ForStatement&, const ForStatement&) = default;
};

struct HomePlace {
  std::string what;  ///< dim name, "*", "full" or "partial"
  std::vector<std::string> axes;
  std::string skew;  ///< axis, or ""
  friend bool operator==(const HomePlace&, const HomePlace&) = default;
};
struct HomeStatement {
  std::string what;  ///< tensor, "weights", "grads", "optimizer", "boundary"
  std::vector<HomePlace> places;
  friend bool operator==(const HomeStatement&, const HomeStatement&) = default;
};

enum class Manner : std::uint8_t { unset, gather, multicast, rotate, reduce, scatter, exchange, p2p };
enum class Life : std::uint8_t { unset, pass, microbatch, step };
struct MoveStatement {
  std::vector<std::string> what;  ///< tensors, "weights", "grads", ...
  Manner manner = Manner::unset;
  std::string as;  ///< wire type, "" = the tensor's own
  std::int64_t chunks = 1;
  std::string bucket;  ///< "", "unit", "none" or bytes as written
  bool staged = false;
  int ahead = -1;  ///< -1 = default
  Life life = Life::unset;
  std::string dedupe;
  friend bool operator==(const MoveStatement&, const MoveStatement&) = default;
};

struct SaveStatement {
  std::vector<std::string> tensors;
  bool at_use = false;  ///< else home
  friend bool operator==(const SaveStatement&, const SaveStatement&) = default;
};

struct RecomputeStatement {
  std::vector<std::string> tags;
  bool whole = false;
  std::int64_t layers = 0;  ///< 0 = all
  friend bool operator==(const RecomputeStatement&, const RecomputeStatement&) = default;
};

/// par d:N on AXIS, in a line of a chip level. N 0 = the axis's units, or what is left of d where that is less.
struct ChipPar {
  std::string dim, axis;
  std::int64_t factor = 0;
  bool ragged = false;  ///< ?: the last unit's part may be short, or some units idle
  friend bool operator==(const ChipPar&, const ChipPar&) = default;
};

/// [T U]: the tensors that a level stores; the others pass it by.
struct Keep {
  std::vector<std::string> tensors;
  friend bool operator==(const Keep&, const Keep&) = default;
};

/// LEVEL: par ... for ... [T U]. Loops outer to inner in text order; several lines of one level are read as one.
struct LevelStatement {
  std::string level;
  std::vector<std::variant<ChipPar, ForStatement, Keep>> items;
  friend bool operator==(const LevelStatement&, const LevelStatement&) = default;
};

struct Statement {
  std::vector<std::string> scope;  ///< `at` tags; empty = everywhere
  std::variant<ParStatement, StageStatement, ForStatement, HomeStatement, MoveStatement, SaveStatement,
      RecomputeStatement, LevelStatement>
      body;
  Position position;
  std::string alias;  ///< name of the alias it was expanded from, for --explain
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

/// How the units of a level are reached from the level outside, and from each other.
struct Fabric {
  std::string name;                        ///< as written: "bus", "switch", "mesh", "nvl", ...; "" = not said (a bus)
  bool multicast = false, reduce = false;  ///< as written: switch(multicast,reduce). fabrics.h says what a name implies
  friend bool operator==(const Fabric&, const Fabric&) = default;
};

/// One level of an architecture: a store, units side by side, or both. `pe[16x16]@mesh cap:512 B bw:4 B/cycle`
struct ArchLevel {
  struct Axis {
    std::string name;  ///< [16x16] -> x, y; [132] -> the level's name; [row:16 col:8] as written
    std::int64_t units = 1;
    friend bool operator==(const Axis&, const Axis&) = default;
  };
  /// A property as written, its value in base units: cap (bytes), bw (bytes per second, or per cycle), lat (s, or
  /// cycles), flops (per second, or per cycle, and unit), clock (Hz), word (bits per element), energy (J per element
  /// moved), buffers (count). Units: docs/notation.md.
  struct Property {
    std::string name;
    double value = 0;
    bool per_cycle = false;
    std::string text;  ///< as written, for print
    friend bool operator==(const Property&, const Property&) = default;
  };
  std::string name;
  std::vector<Axis> axes;  ///< empty: one unit
  Fabric fabric;
  std::vector<Property> properties;
  Position position;
  friend bool operator==(const ArchLevel&, const ArchLevel&) = default;
};

/// arch LEVEL { LEVEL { ... } }, outermost first.
struct WrittenArch {
  std::vector<ArchLevel> levels;
  Position position;
  friend bool operator==(const WrittenArch&, const WrittenArch&) = default;
};

/// One index of an access: a loop, or a sum such as 2*p + r (the window of a convolution).
struct WrittenIndex {
  struct Term {
    std::string loop;
    std::int64_t step = 1;
    friend bool operator==(const Term&, const Term&) = default;
  };
  std::vector<Term> terms;
  friend bool operator==(const WrittenIndex&, const WrittenIndex&) = default;
};

/// An operator written out: "O[m,n] += I[m,k] * W[k,n]", with `dim m:4096` lines for extents.
struct WrittenAccess {
  std::string tensor;
  std::vector<WrittenIndex> indices;  ///< one per tensor dim
  friend bool operator==(const WrittenAccess&, const WrittenAccess&) = default;
};

/// where s-W < t <= s: only these pairs of loops are worked on. W 0 = no window (causal).
struct WrittenDomain {
  std::string query, key;  ///< key <= query; "" = none
  std::int64_t window = 0;
  friend bool operator==(const WrittenDomain&, const WrittenDomain&) = default;
};

/// pad d:N: the loop's parts are rounded up (N 0, from `pad d`), or its extent times N (capacity factor).
struct WrittenPad {
  std::string dim;
  double factor = 0;
  friend bool operator==(const WrittenPad&, const WrittenPad&) = default;
};
struct WrittenOperator {
  std::string name;
  std::vector<std::string> tags;
  Monoid monoid = Monoid::sum;           ///< none for "="
  std::string function;                  ///< "" = einsum; a function, or select, route, scan, opaque
  std::vector<std::string> whole_loops;  ///< of opaque(d e), rope(d), softmax(t): loops that may not be split
  WrittenDomain domain;
  std::vector<WrittenPad> pads;
  char joint = '*';  ///< between the inputs as written
  WrittenAccess output;
  std::vector<WrittenAccess> inputs;
  Position position;
  friend bool operator==(const WrittenOperator&, const WrittenOperator&) = default;
};

/// A file of the notation. `items` of a map keep text order: uses and statements.
struct MappingProgram {
  std::vector<MeshLine> meshes;
  std::vector<WrittenArch> archs;  ///< at most one
  std::vector<Dim> dims;           ///< `dim NAME:EXTENT`
  std::vector<WrittenOperator> operators;
  std::vector<Alias> aliases;
  std::string map_name;  ///< of the `map NAME { }` block around body; "" = bare statements
  std::vector<std::variant<Use, Statement>> body;
};

Expected<MappingProgram> parse(const std::string& text, const std::string& file);
std::string print(const MappingProgram& program);
std::string print(const Statement& statement);
std::string print(const WrittenOperator& op);
std::string print(const WrittenArch& arch);

/// The built-in aliases (dataflow/aliases/*.flow), parsed once.
const std::vector<Alias>& builtin_aliases();

/// Every `use` replaced by the statements of its alias (the program's own aliases first, then the built-in ones).
Expected<std::vector<Statement>> expand(const MappingProgram& program);

}  // namespace stepcast::dataflow
