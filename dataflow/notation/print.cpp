// The tree back to text, in one canonical form: parse(print(p)) == p.
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/notation/mapping.h"

namespace stepcast::dataflow {
namespace {

constexpr std::array<std::string_view, 8> manner_texts{
    "", "gather", "multicast", "rotate", "reduce", "scatter", "exchange", "p2p"};
constexpr std::array<std::string_view, 4> life_texts{"", "pass", "microbatch", "step"};

std::string printed_product(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, "*")); }
std::string printed_list(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }
std::string count_or_star(std::int64_t count) { return count == 0 ? "*" : std::to_string(count); }

std::string printed(const Layout& layout) {
  switch (layout.kind) {
    case Layout::Kind::block: return "";
    case Layout::Kind::zigzag:
      return layout.list.empty() ? " zigzag" : fmt::format(" zigzag list [{}]", fmt::join(layout.list, ","));
    case Layout::Kind::cyclic: return fmt::format(" cyclic({})", layout.cyclic);
    case Layout::Kind::list: return fmt::format(" list [{}]", fmt::join(layout.list, ","));
  }
  return "";
}

std::string printed(const ParStatement& par) {
  const std::string dims = par.dims.empty() ? "none" : printed_product(par.dims);
  return fmt::format("par {} on {}{}", dims, printed_product(par.axes), printed(par.layout));
}

std::string printed(const StageStatement& stage) {
  return fmt::format("par layer on {}{} sched {} for mb:{}", stage.axis, printed(stage.layout), stage.schedule,
      count_or_star(stage.micro_batches));
}

std::string printed(const ForStatement& loop) {
  return fmt::format("for {}:{}{}", loop.dim, count_or_star(loop.count), loop.ragged ? "?" : "");
}

std::string printed(const ChipPar& par) {
  const bool bare = par.factor == 0 && !par.ragged;
  const std::string factor = bare ? "" : fmt::format(":{}{}", count_or_star(par.factor), par.ragged ? "?" : "");
  return fmt::format("par {}{} on {}", par.dim, factor, par.axis);
}

std::string printed(const Keep& keep) { return fmt::format("[{}]", fmt::join(keep.tensors, " ")); }

std::string printed(const LevelStatement& line) {
  std::string out = line.level + ":";
  for (const auto& item : line.items) out += " " + std::visit([](const auto& i) { return printed(i); }, item);
  return out;
}

std::string printed(const HomeStatement& home) {
  std::string out = fmt::format("home {}:", home.what);
  for (const HomePlace& place : home.places) {
    out += &place == &home.places.front() ? " " : ", ";
    out += fmt::format("{} on {}", place.what, printed_product(place.axes));
    if (!place.skew.empty()) out += " skew " + place.skew;
  }
  return out;
}

std::string printed(const MoveStatement& move) {
  std::string options;
  if (move.manner != Manner::unset) options += fmt::format(" {}", manner_texts[static_cast<int>(move.manner)]);
  if (!move.as.empty()) options += " as " + move.as;
  if (move.chunks != 1) options += fmt::format(" in chunks {}", move.chunks);
  if (!move.bucket.empty()) options += " bucket " + move.bucket;
  if (move.staged) options += " staged";
  if (move.ahead >= 0) options += fmt::format(" ahead {}", move.ahead);
  if (move.life != Life::unset) options += fmt::format(" life {}", life_texts[static_cast<int>(move.life)]);
  if (!move.dedupe.empty()) options += " dedupe " + move.dedupe;
  if (options.empty()) options = " in chunks 1";  // the grammar wants at least one; this one says nothing
  return "move " + printed_list(move.what) + options;
}

std::string printed(const SaveStatement& save) {
  return fmt::format("save {} at {}", fmt::join(save.tensors, " "), save.at_use ? "use" : "home");
}

std::string printed(const RecomputeStatement& recompute) {
  std::string out = fmt::format("recompute {}", fmt::join(recompute.tags, " "));
  if (recompute.whole) out += " whole";
  if (recompute.layers > 0) out += fmt::format(" layers {}", recompute.layers);
  return out;
}

std::string printed(const MeshLine& mesh) {
  std::string out = "mesh";
  for (const MeshLine::Axis& axis : mesh.axes) out += fmt::format(" {}:{}", axis.name, axis.size);
  return out;
}

std::string printed(const Alias& alias) {
  std::string out = fmt::format("alias {} =", alias.name);
  for (const Statement& statement : alias.statements)
    out += (&statement == &alias.statements.front() ? " " : " ; ") + print(statement);
  return out;
}

}  // namespace

std::string print(const Statement& statement) {
  const std::string body = std::visit([](const auto& s) { return printed(s); }, statement.body);
  return statement.scope.empty() ? body : fmt::format("at {}: {}", printed_list(statement.scope), body);
}

std::string print(const MappingProgram& program) {
  std::string out;
  for (const MeshLine& mesh : program.meshes) out += printed(mesh) + "\n";
  for (const WrittenArch& arch : program.archs) out += print(arch) + "\n";
  for (const Dim& dim : program.dims) out += fmt::format("dim {}:{}\n", dim.name, dim.extent);
  for (const WrittenOperator& op : program.operators) out += print(op) + "\n";
  for (const Alias& alias : program.aliases) out += printed(alias) + "\n";
  const bool block = !program.map_name.empty();
  if (block) out += fmt::format("map {} {{\n", program.map_name);
  for (const auto& item : program.body) {
    if (block) out += "  ";
    if (const auto* use = std::get_if<Use>(&item)) out += "use " + printed_list(use->names) + "\n";
    else out += print(std::get<Statement>(item)) + "\n";
  }
  return block ? out + "}\n" : out;
}

}  // namespace stepcast::dataflow
