// placement_view(): splits and homes of a program, axis by axis as written.
#include "dataflow/translate/cluster/placements.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/place/block_placer.h"
#include "dataflow/notation/written.h"
#include "model/base/contains.h"
#include "model/base/text.h"

namespace stepcast::dataflow {
namespace {

/// The first mesh line's axes, each whole or in the atoms that it was cut into.
std::vector<MeshPart> mesh_parts(const MeshLine& line, const Mesh& mesh) {
  std::vector<MeshPart> parts;
  for (const MeshLine::Axis& axis : line.axes) {
    const AtomMask atoms = mesh.find(axis.name)->atoms;
    if (atoms == 0) parts.push_back({axis.name, axis.name, 1, 1, -1, true});
    std::vector<int> mine;
    for (int a = 0; a < static_cast<int>(mesh.atoms.size()); ++a)
      if (atoms >> a & 1U) mine.push_back(a);
    std::int64_t outside = axis.size;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const std::int64_t size = mesh.atoms[mine[i]].size;
      outside /= size;
      const std::string name = mine.size() == 1 ? axis.name : fmt::format("{}_{}", axis.name, i + 1);
      parts.push_back({axis.name, name, size, outside, mine[i], mine.size() == 1});
    }
  }
  return parts;
}

std::vector<Slot> by_part(const Placement& place, const std::vector<MeshPart>& parts) {
  std::vector<Slot> slots;
  for (const MeshPart& part : parts) slots.push_back(part.atom < 0 ? replicated : place.at[part.atom]);
  return slots;
}

/// The home that the placer gives a tensor, as if the block handed it on.
Placement home_of(const PlacementView& view, const std::vector<OperatorSplit>& splits, int tensor) {
  Block block = view.network.blocks.front();
  block.output = tensor;
  return BlockPlacer(view.network, block, view.mesh, splits, view.statements, {}).output_home();
}

OperandPlacement operand_row(const PlacementView& view, const std::vector<OperatorSplit>& splits, std::size_t op,
    const Access& access, bool output) {
  const Tensor& tensor = view.network.tensors[access.tensor];
  OperandPlacement row{access.tensor, tensor.name, {}, output, tensor.role == TensorRole::weight, {}, {}};
  for (const int loop : access.loops) row.loops.push_back(view.network.dims[loop].name);
  row.used = by_part(placement_of(access, splits[op], view.mesh, output), view.parts);
  row.home = by_part(home_of(view, splits, access.tensor), view.parts);
  return row;
}

/// A Partial operand that is kept so goes through an operator that is not split there: its output is Partial too.
void pass_partials(OperatorPlacement& op, bool addition) {
  for (std::size_t p = 0; p < op.split.size(); ++p) {
    const auto passes = [&](const OperandPlacement& row) { return !row.output && row.home[p] == partial_sum; };
    if (!op.split[p].empty() || std::ranges::none_of(op.operands, passes)) continue;
    for (OperandPlacement& row : op.operands)
      if (row.output || addition || passes(row)) row.used[p] = partial_sum;
  }
}

OperatorPlacement operator_row(const PlacementView& view, const std::vector<OperatorSplit>& splits, std::size_t index,
    const WrittenOperator& written) {
  const Operator& op = view.network.blocks.front().operators[index];
  MappingProgram alone;
  alone.operators.push_back(written);
  OperatorPlacement row{op.name, std::string(stripped(print(alone))), op.monoid, {}, {}};
  for (const MeshPart& part : view.parts) {
    const int loop = part.atom < 0 ? -1 : splits[index].loop[part.atom];
    row.split.push_back(loop < 0 ? "" : view.network.dims[loop].name);
  }
  for (const Access& input : op.inputs) row.operands.push_back(operand_row(view, splits, index, input, false));
  row.operands.push_back(operand_row(view, splits, index, op.output, true));
  pass_partials(row, op.function == "add");
  return row;
}

std::vector<std::string> unsaid(const PlacementView& view) {
  std::vector<std::string> texts;
  for (const Statement& statement : view.statements) {
    if (std::holds_alternative<ParStatement>(statement.body)) {
      if (std::get<ParStatement>(statement.body).layout.kind == Layout::Kind::block) continue;
    } else if (const auto* home = std::get_if<HomeStatement>(&statement.body)) {
      const bool skewed = std::ranges::any_of(home->places, [](const HomePlace& p) { return !p.skew.empty(); });
      if (!skewed && home->what != "grads" && home->what != "optimizer" && home->what != "boundary") continue;
    }
    texts.push_back(print(statement));
  }
  return texts;
}

std::vector<std::string> flat_homes(const PlacementView& view) {
  std::vector<std::string> texts;
  for (const OperatorPlacement& op : view.operators)
    for (const OperandPlacement& row : op.operands)
      for (std::size_t p = 0; p < view.parts.size(); ++p)
        if (row.home[p] == flat_shard) texts.push_back(fmt::format("{} on {}", row.name, view.parts[p].name));
  std::ranges::sort(texts);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

}  // namespace

Expected<PlacementView> placement_view(const MappingProgram& program) {
  if (program.meshes.empty()) return fail("program", "there is no mesh line", "start with one, such as 'mesh x:4 y:4'");
  TRY(auto network, network_of(program));
  TRY(auto statements, expand(program));
  std::int64_t ranks = 1;
  for (const MeshLine::Axis& axis : program.meshes.front().axes) ranks *= axis.size;
  TRY(auto placed, place(network, program.meshes, statements, ranks, {}));
  PlacementView view{
      std::move(network), placed.mesh, mesh_parts(program.meshes.front(), placed.mesh), {}, std::move(statements)};
  for (std::size_t o = 0; o < program.operators.size(); ++o)
    view.operators.push_back(operator_row(view, placed.splits.front(), o, program.operators[o]));
  return view;
}

Expected<PlacementView> placement_view(const ChipProgram& chip) {
  std::string mesh = "mesh", pars, dims = "dim";
  for (auto level = chip.levels.rbegin(); level != chip.levels.rend(); ++level)
    for (std::size_t i = level->space.size(); i-- > 0;) {
      const ChipLoop& loop = level->space[i];
      if (loop.ragged)
        return fail(chip.op,
            fmt::format("{} units at {} take unequal parts of {}", loop.trips, level->name, chip.dims[loop.dim].name),
            "placements are equal parts: let the units divide the loop");
      std::string axis = fmt::format("{}_{}", level->name, loop.axis < 0 ? "units" : level->axes[loop.axis].name);
      const auto same = [&](const ChipLoop& other) { return other.axis == loop.axis; };
      if (std::ranges::count_if(level->space, same) > 1) axis += fmt::format("_{}", i);
      mesh += fmt::format(" {}:{}", axis, loop.trips);
      pars += fmt::format("par {} on {}\n", chip.dims[loop.dim].name, axis);
    }
  if (pars.empty())
    return fail(chip.op, "no level has units side by side", "placements speak of units: split a loop over some");
  for (const ChipDim& dim : chip.dims) dims += fmt::format(" {}:{}", dim.name, dim.extent);
  std::string text;
  for (const ChipTensor& tensor : chip.tensors) {
    std::string indices;
    for (const ChipIndex& index : tensor.indices) {
      if (index.terms.size() != 1 || index.terms.front().step != 1)
        return fail(chip.op, fmt::format("{} is indexed by a sum of loops", tensor.name),
            "a sliding window is no shard: placements take one loop for each dim");
      indices += (indices.empty() ? "" : ",") + chip.dims[index.terms.front().dim].name;
    }
    const std::string access = fmt::format("{}[{}]", tensor.name, indices);
    text = tensor.use == TensorUse::output ? fmt::format("{}: {} += {}", chip.op, access, text)
                                           : text + (text.empty() ? "" : " * ") + access;
  }
  TRY(auto program, parse(mesh + "\n" + dims + "\n" + text + "\n" + pars, chip.op));
  return placement_view(program);
}

bool says_home(const OperandPlacement& operand) {
  const auto has = [&](Slot slot) { return contains(operand.home, slot); };
  if (has(flat_shard)) return false;
  return operand.home != operand.used || (operand.output && has(partial_sum));
}

std::string parts_text(
    const PlacementView& view, const std::vector<Slot>& slots, Slot slot, std::string (*spell)(const MeshPart&)) {
  std::vector<std::string> names;
  for (std::size_t p = view.parts.size(); p-- > 0;)
    if (slots[p] == slot && view.parts[p].atom >= 0) names.push_back(spell(view.parts[p]));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string placement_lines(const PlacementView& view, const PlacementWords& language) {
  std::string text = "dim";
  for (const Dim& dim : view.network.dims) text += fmt::format(" {}:{}", dim.name, dim.extent);
  text += "\n";
  for (const OperatorPlacement& op : view.operators) {
    text += op.text + "\n" + (language.head ? language.head(op) : "");
    for (const OperandPlacement& row : op.operands) {
      const Monoid monoid = row.output ? op.monoid : Monoid::sum;
      const auto &first = row.output ? row.used : row.home, &second = row.output ? row.home : row.used;
      text += fmt::format("  {} = {}", row.name, language.spell(row, says_home(row) ? first : row.used, monoid));
      if (says_home(row)) text += " -> " + language.spell(row, second, monoid);
      const std::string note = language.note ? language.note(op, row) : "";
      text += note.empty() ? "\n" : fmt::format("  {} {}\n", language.comment, note);
    }
    if (language.foot) text += language.foot(op);
  }
  for (const std::string& home : flat_homes(view))
    text += fmt::format("{} no name: {} is kept in flat shards; {}\n", language.comment, home, language.flat);
  for (const std::string& statement : unsaid(view))
    text += fmt::format("{} not said by {}: {}\n", language.comment, language.words, statement);
  return text;
}

}  // namespace stepcast::dataflow
