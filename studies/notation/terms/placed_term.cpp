#include "studies/notation/terms/placed_term.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/place/block.h"
#include "dataflow/chip/account/account.h"
#include "dataflow/chip/chip.h"
#include "dataflow/chip/count/count.h"
#include "dataflow/place/moves.h"
#include "dataflow/translate/cluster/names.h"
#include "dataflow/notation/written.h"
#include "studies/print/digits.h"

namespace stepcast::notation {
namespace {

/// Gradients of weights are summed in fp32 (docs/design.md, rule 19), those of activations in their own type.
constexpr double weight_gradient_bytes = 4;

void add_moves(const Network& network, const PlacedNetwork& placed, const std::vector<PlacedItem>& items,
    const char* pass, std::vector<TermMove>& moves) {
  const PlacedBlock& block = placed.blocks.front();
  for (const PlacedItem& item : items) {
    if (item.kind != PlacedKind::move || item.move == MoveKind::slice || item.move == MoveKind::mask) continue;
    const Copy& from = block.copies[item.reads.front()];
    moves.push_back({pass, to_text(item.move), (from.gradient ? "d" : "") + network.tensors[from.tensor].name,
        placed.mesh.label(item.atoms), item.received});
  }
}

/// "O: I = [Replicate()]  W = [Shard(1)]": the operands' lines of dtensor_text(), an operator on a line.
std::string placement_lines(const PlacementView& view) {
  std::string text;
  for (const std::string& line : split_lines(dtensor_text(view))) {
    if (line.starts_with("  #") || line.starts_with("#") || line.starts_with("mesh ") || line.starts_with("dim "))
      continue;
    if (line.starts_with("  ")) text += line;
    else text += fmt::format("{}{}:", text.empty() ? "" : "\n", line.substr(0, line.find(':')));
  }
  return text;
}

/// "fc on tp: ColumnParallelLinear(...)": rows that have a name.
std::string short_names(const std::vector<NameRow>& rows) {
  std::string text;
  for (const NameRow& row : rows)
    if (!row.name.empty())
      text +=
          fmt::format("{}{}{}: {} ({})\n", row.op, row.axis.empty() ? "" : " on ", row.axis, row.name, row.vocabulary);
  return text;
}

Expected<PlacedTerm> place_on_mesh(const MappingProgram& program) {
  TRY(auto view, placement_view(program));
  std::int64_t ranks = 1;
  for (const MeshLine::Axis& axis : program.meshes.front().axes) ranks *= axis.size;
  TRY(auto placed,
      place(view.network, program.meshes, view.statements, ranks, {.gradient_bytes = weight_gradient_bytes}));
  PlacedTerm out;
  out.on_mesh = true;
  const PlacedBlock& block = placed.blocks.front();
  add_moves(view.network, placed, block.forward, "forward", out.moves);
  add_moves(view.network, placed, block.backward, "backward", out.moves);
  add_moves(view.network, placed, block.step, "step", out.moves);
  out.placements = placement_lines(view);
  out.names = short_names(cluster_names(view));
  return out;
}

/// "glb: I 65,536 reads, O 65,536 updates": what an instance of the level gives and takes.
std::string level_line(const ChipProgram& chip, const Counts& counts, int level) {
  std::vector<std::string> parts;
  for (std::size_t t = 0; t < chip.tensors.size(); ++t) {
    if (!chip.levels[level].keeps[t]) continue;
    const TensorCount& count = counts.at[level][t];
    std::string text = fmt::format("{} {} reads", chip.tensors[t].name, grouped_digits(count.reads));
    if (count.fills > 0) text += fmt::format(", {} fills", grouped_digits(count.fills));
    if (count.updates > 0) text += fmt::format(", {} updates", grouped_digits(count.updates));
    parts.push_back(std::move(text));
  }
  const std::int64_t instances = counts.instances[level];
  return fmt::format("{}{}: {}", chip.levels[level].name, instances > 1 ? fmt::format(" (each of {})", instances) : "",
      fmt::join(parts, "; "));
}

Expected<PlacedTerm> count_on_chip(const MappingProgram& program) {
  TRY(auto chip, chip_program(program, ""));
  TRY(auto nest, nest_of(chip));
  Counts counts;
  count(nest, counts);
  PlacedTerm out;
  for (int l = 0; l < static_cast<int>(chip.levels.size()); ++l)
    if (chip.levels[l].store) out.counts.push_back(level_line(chip, counts, l));
  const ChipAccount account_of = account(chip, counts);
  out.counts.push_back(fmt::format("{} cycles, {} of them fill and drain; {} multiply-adds on {} units",
      grouped_digits(account_of.cycles), grouped_digits(account_of.skew_cycles),
      grouped_digits(static_cast<double>(counts.macs)), counts.units));
  const NameRow name = taxonomy_name(chip);
  out.stationary = name.name;
  out.names = names_text({name});
  return out;
}

}  // namespace

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

Expected<PlacedTerm> place_term(const Term& term) {
  if (term.program.empty()) return PlacedTerm{};
  TRY(auto program, parse(fmt::format("{}\n", fmt::join(term.program, "\n")), term.id));
  return program.meshes.empty() ? count_on_chip(program) : place_on_mesh(program);
}

}  // namespace stepcast::notation
