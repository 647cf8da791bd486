// What users must be told of a plan, and the reasons of each choice.
#include <utility>

#include <fmt/format.h>

#include "dataflow/lower/lower.h"
#include "dataflow/lower/lowering.h"
#include "dataflow/place/par_rules.h"

namespace stepcast::dataflow {

void Lowering::make_notes() {
  for (std::size_t b = 0; b < network_->blocks.size(); ++b)
    for (std::size_t o = 0; o < network_->blocks[b].operators.size(); ++o) {
      const Operator& op = network_->blocks[b].operators[o];
      if (op.kind != OperatorKind::einsum && op.kind != OperatorKind::attention) continue;
      AtomMask repeated = 0;
      for (std::size_t a = 0; a < placed_->mesh.atoms.size(); ++a)
        if (!placed_->mesh.atoms[a].stage && placed_->splits[b][o].loop[a] < 0) repeated |= AtomMask{1} << a;
      if (placed_->mesh.size_of(repeated) > 1)
        out_.notes.push_back({fmt::format("{} is repeated by {} ranks: nothing splits it on {}", op.name,
            placed_->mesh.size_of(repeated), placed_->mesh.label(repeated))});
    }
  // What a move says and the times do not follow is said, not dropped.
  for (const Statement& statement : parsed_->statements) {
    const auto* move = std::get_if<MoveStatement>(&statement.body);
    if (!move) continue;
    const auto note = [&](const char* what) {
      out_.notes.push_back({fmt::format("'{}': {}", print(statement), what)});
    };
    if (move->chunks > 1) note("the chunks are timed as one move beside its neighbour, not pipelined");
    if (!move->dedupe.empty()) note("every copy of a row is counted, also those for one destination");
    if (!move->bucket.empty() && move->bucket != "unit" && move->bucket != "none")
      note("buckets are one per block, whatever their size");
  }
}

Expected<Explanation> explain(const NetworkSpec& spec, const Plan& plan, const Stack& stack) {
  Lowering lowering(spec, plan, stack, true);
  TRY(lowering.run());
  Explanation out;
  MappingProgram written;
  written.meshes = lowering.parsed().program.meshes;
  for (Statement& statement : statements_for(lowering.network(), lowering.parsed().statements))
    written.body.emplace_back(std::move(statement));
  out.expanded = print(written);
  const PlacedNetwork& placed = lowering.placed();
  for (std::size_t b = 0; b < lowering.network().blocks.size(); ++b) {
    const Block& block = lowering.network().blocks[b];
    for (std::size_t o = 0; o < block.operators.size(); ++o)
      for (std::size_t a = 0; a < placed.mesh.atoms.size(); ++a) {
        const Atom& atom = placed.mesh.atoms[a];
        if (atom.stage || atom.size == 1) continue;
        const OperatorSplit& split = placed.splits[b][o];
        const std::string loop = split.loop[a] < 0 ? "none" : lowering.network().dims[split.loop[a]].name;
        const std::string statement = split.statement[a] < 0 ? "no statement: every rank repeats it"
                                                             : print(lowering.parsed().statements[split.statement[a]]);
        out.choices.push_back(
            {block.name, block.operators[o].name, placed.mesh.label(AtomMask{1} << a), loop, statement});
      }
  }
  return out;
}

}  // namespace stepcast::dataflow
