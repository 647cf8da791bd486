#include "tests/dataflow/random_program.h"

#include <algorithm>

namespace stepcast::dataflow {

std::vector<std::string> RandomProgram::some(int n) {
  std::vector<std::string> pool{"b", "s", "tp", "cp", "dp", "par", "gather", "step", "x1", "_y", "for", "arch", "cap"};
  std::shuffle(pool.begin(), pool.end(), random_);
  pool.resize(static_cast<std::size_t>(n));
  return pool;
}

std::vector<std::string> RandomProgram::dotted(int n) {
  std::vector<std::string> names(static_cast<std::size_t>(n));
  for (std::string& name : names) name = dotted();
  return names;
}

MappingProgram RandomProgram::program() {
  MappingProgram tree;
  for (int i = below(3); i > 0; --i) tree.meshes.push_back(mesh());
  if (coin()) tree.archs.push_back(arch());
  for (const std::string& dim : some(below(4))) tree.dims.push_back({dim, size()});
  for (int i = below(3); i > 0; --i) tree.operators.push_back(written_operator("op" + std::to_string(i)));
  for (int i = below(3); i > 0; --i) tree.aliases.push_back(alias("alias" + std::to_string(i)));
  if (coin()) tree.map_name = "m";
  for (int i = below(6); i > 0; --i) {
    if (coin()) tree.body.emplace_back(Use{some(1 + below(3)), {}});
    else tree.body.emplace_back(statement());
  }
  return tree;
}

MeshLine RandomProgram::mesh() {
  MeshLine line;
  for (const std::string& axis : some(1 + below(4))) line.axes.push_back({axis, 1 + below(64)});
  return line;
}

Alias RandomProgram::alias(const std::string& name) {
  Alias alias{name, {}, {}};
  for (int i = 1 + below(4); i > 0; --i) alias.statements.push_back(statement());
  return alias;
}

Statement RandomProgram::statement() {
  Statement statement;
  if (coin()) statement.scope = dotted(1 + below(3));
  const std::vector<std::string> schedules{"1f1b", "gpipe", "interleaved-1f1b"};
  switch (below(8)) {
    case 0: statement.body = ParStatement{some(below(4)), some(1 + below(3)), layout()}; break;
    case 1: statement.body = StageStatement{one(), schedules[below(3)], layout(), coin() ? 0 : size()}; break;
    case 2: statement.body = ForStatement{one(), coin() ? 0 : size(), coin()}; break;
    case 3: statement.body = home(); break;
    case 4: statement.body = move(); break;
    case 5: statement.body = SaveStatement{dotted(1 + below(3)), coin()}; break;
    case 6: statement.body = level_line(); break;
    default: statement.body = RecomputeStatement{dotted(1 + below(3)), coin(), coin() ? 0 : size()};
  }
  return statement;
}

Layout RandomProgram::layout() {
  Layout layout;
  layout.kind = static_cast<Layout::Kind>(below(4));
  if (layout.kind == Layout::Kind::cyclic) layout.cyclic = size();
  const bool parts = layout.kind == Layout::Kind::list || (layout.kind == Layout::Kind::zigzag && below(2) == 0);
  if (parts)
    for (int i = 1 + below(4); i > 0; --i) layout.list.push_back(size());
  return layout;
}

HomeStatement RandomProgram::home() {
  HomeStatement home{dotted(), {}};
  const std::vector<std::string> whats{"*", "full", "partial", "h", "g*r"};
  for (int i = 1 + below(3); i > 0; --i)
    home.places.push_back({whats[below(5)], some(1 + below(3)), coin() ? one() : ""});
  return home;
}

MoveStatement RandomProgram::move() {
  MoveStatement move;
  move.what = dotted(1 + below(3));
  move.manner = static_cast<Manner>(below(8));
  if (coin()) move.as = "bf16";
  if (coin()) move.chunks = size();
  const std::vector<std::string> buckets{"", "unit", "none", "25 MB"};
  move.bucket = buckets[below(4)];
  move.staged = coin();
  move.ahead = below(4) - 1;
  move.life = static_cast<Life>(below(4));
  if (coin()) move.dedupe = one();
  return move;
}

LevelStatement RandomProgram::level_line() {
  LevelStatement line{one(), {}};
  for (int i = 1 + below(5); i > 0; --i) {
    switch (below(3)) {
      case 0: line.items.emplace_back(ChipPar{one(), dotted(), coin() ? 0 : size(), coin()}); break;
      case 1: line.items.emplace_back(ForStatement{one(), coin() ? 0 : size(), coin()}); break;
      default: line.items.emplace_back(Keep{some(below(4))});
    }
  }
  return line;
}

WrittenArch RandomProgram::arch() {
  WrittenArch arch;
  for (const std::string& name : some(1 + below(5))) arch.levels.push_back(arch_level(name));
  return arch;
}

ArchLevel RandomProgram::arch_level(const std::string& name) {
  ArchLevel level;
  level.name = name;
  switch (below(4)) {
    case 0: level.axes = {{name, 1 + below(200)}}; break;
    case 1: level.axes = {{"x", 1 + below(16)}, {"y", 1 + below(16)}}; break;
    case 2:
      for (const std::string& axis : some(1 + below(4))) level.axes.push_back({axis, 1 + below(64)});
      break;
    default: break;
  }
  const std::vector<std::string> fabrics{"", "bus", "mesh", "systolic", "switch", "nvl", "ib"};
  level.fabric.name = fabrics[below(7)];
  if (fabrics.end() - std::find(fabrics.begin(), fabrics.end(), level.fabric.name) <= 3)  // the networks
    level.fabric.multicast = coin(), level.fabric.reduce = coin();
  properties(level);
  return level;
}

void RandomProgram::properties(ArchLevel& level) {
  std::vector<ArchLevel::Property> all{{"cap", 80.0 * (1 << 30), false, "80 GiB"}, {"cap", 512, false, "512 B"},
      {"bw", 64, true, "64 B/cycle"}, {"bw", 3.35e12, false, "3.35 TB/s"}, {"lat", 5e-7, false, "500 ns"},
      {"lat", 20, true, "20 cycles"}, {"flops", 2, true, "2 FLOP/cycle"}, {"clock", 1.5e9, false, "1.5 GHz"},
      {"word", 16, false, "16 bit"}, {"energy", 2.5e-12, false, "2.5 pJ"}, {"buffers", 2, false, "2"}};
  std::shuffle(all.begin(), all.end(), random_);
  all.resize(static_cast<std::size_t>(below(6)));
  for (const ArchLevel::Property& property : all) {
    const auto same = [&](const ArchLevel::Property& other) { return other.name == property.name; };
    if (std::none_of(level.properties.begin(), level.properties.end(), same)) level.properties.push_back(property);
  }
}

WrittenAccess RandomProgram::access() {
  WrittenAccess access{dotted(), {}};
  for (int i = below(4); i > 0; --i) {
    WrittenIndex index;
    for (const std::string& loop : some(coin() ? 1 : 1 + below(3)))
      index.terms.push_back({loop, coin() ? 1 : 1 + below(9)});
    access.indices.push_back(std::move(index));
  }
  return access;
}

WrittenOperator RandomProgram::written_operator(const std::string& name) {
  WrittenOperator op;
  op.name = "net." + name;
  op.tags = {"net", op.name};
  op.monoid = static_cast<Monoid>(below(5));
  const std::vector<std::string> functions{"", "gelu", "select", "route", "scan", "opaque"};
  op.function = functions[below(6)];
  op.output = access();
  for (int i = 1 + below(3); i > 0; --i) op.inputs.push_back(access());
  if (op.inputs.size() > 1) op.joint = "*+,"[below(3)];
  constraints(op);
  return op;
}

/// Loops that stay whole, a domain and padding name loops that the operator has.
void RandomProgram::constraints(WrittenOperator& op) {
  std::vector<std::string> loops;
  for (const WrittenIndex& index : op.output.indices)
    for (const WrittenIndex::Term& term : index.terms)
      if (std::find(loops.begin(), loops.end(), term.loop) == loops.end()) loops.push_back(term.loop);
  if (loops.size() < 2) return;
  if (!op.function.empty() && coin()) op.whole_loops.assign(loops.begin(), loops.begin() + 1 + below(2));
  if (coin()) op.domain = {loops[0], loops[1], coin() ? 0 : size()};
  for (std::size_t i = 0; i < loops.size(); ++i)
    if (coin()) op.pads.push_back({loops[i], coin() ? 0 : 0.25 * (1 + below(40))});
}

}  // namespace stepcast::dataflow
