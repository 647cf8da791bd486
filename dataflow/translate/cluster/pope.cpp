// Layouts of whole products: weight-stationary and weight-gathered of Pope et al. 2022 (arXiv 2211.05102), and the
// two-axis products SUMMA (van de Geijn and Watts 1997), Cannon (1969) and 2.5-D (Solomonik and Demmel 2011).

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/translate/cluster/names.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

/// Axes of one operator, by the part of the loop that they split, and those over which the weight is gathered.
struct AxesByRole {
  std::vector<std::string> rows, columns, reduced, gathered,
      held;  ///< held: axes that shard the weight where it is kept
};

AxesByRole axes_of(const PlacementView& view, const OperatorPlacement& op, const OperandPlacement& weight) {
  AxesByRole axes;
  for (std::size_t p = 0; p < view.parts.size(); ++p) {
    if (view.parts[p].atom < 0) continue;
    const std::string& name = view.parts[p].name;
    const LoopRole role = role_of(op, op.split[p]);
    if (role == LoopRole::rows || role == LoopRole::batch) axes.rows.push_back(name);
    if (role == LoopRole::columns) axes.columns.push_back(name);
    if (role == LoopRole::reduced) axes.reduced.push_back(name);
    if (weight.home[p] >= 0 || weight.home[p] == flat_shard) axes.held.push_back(name);
    if (weight.home[p] != weight.used[p] && weight.used[p] == replicated) axes.gathered.push_back(name);
  }
  return axes;
}

std::string joined_axes(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, "*")); }

void name_layout(const AxesByRole& axes, const OperandPlacement& weight, NameRow& row) {
  if (!axes.gathered.empty()) {
    const bool all = axes.gathered.size() == axes.held.size();
    row.name = fmt::format("weight-gathered {}", all ? "XYZ" : axes.gathered.size() == 1 ? "X" : "XY");
    row.why = fmt::format("{} is kept in shards on {} and gathered over {} before use", weight.name,
        joined_axes(axes.held), joined_axes(axes.gathered));
  } else if (!axes.columns.empty() && !axes.reduced.empty()) {
    row.name = "2-D weight-stationary";
    row.why = fmt::format("both dims of {} are split, k on {} and n on {}: only activations move", weight.name,
        joined_axes(axes.reduced), joined_axes(axes.columns));
  } else if (!axes.columns.empty() || !axes.reduced.empty()) {
    row.name = "1-D weight-stationary";
    row.why = fmt::format("one dim of {} is split, {} on {}: only activations move", weight.name,
        axes.columns.empty() ? "k" : "n", joined_axes(axes.columns.empty() ? axes.reduced : axes.columns));
  } else {
    row.why = fmt::format("{} is whole on every rank; the layouts differ in how they shard it", weight.name);
  }
}

/// How `tensor` moves, from the first statement that names it.
Manner manner_of(const PlacementView& view, const std::string& tensor) {
  for (const Statement& statement : view.statements)
    if (const auto* move = std::get_if<MoveStatement>(&statement.body))
      if (contains(move->what, tensor)) return move->manner;
  return Manner::unset;
}

/// On every part that splits `split`, the operand is kept in pieces of a reduced loop though it is needed whole.
bool in_panels(
    const PlacementView& view, const OperatorPlacement& op, const OperandPlacement& operand, LoopRole split) {
  bool any = false;
  for (std::size_t p = 0; p < view.parts.size(); ++p) {
    if (role_of(op, op.split[p]) != split) continue;
    any = true;
    const Slot home = operand.home[p];
    if (home < 0 || home == operand.used[p] || role_of(op, operand.loops[home]) != LoopRole::reduced) return false;
  }
  return any;
}

void name_product(const PlacementView& view, const OperatorPlacement& op, const OperatorParts& parts,
    const AxesByRole& axes, NameRow& row) {
  if (!in_panels(view, op, *parts.input, LoopRole::columns) || !in_panels(view, op, *parts.weight, LoopRole::rows)) {
    row.why = fmt::format(
        "m and n are split, but {} and {} are not both kept in panels of k", parts.input->name, parts.weight->name);
    return;
  }
  const Manner input = manner_of(view, parts.input->name), weight = manner_of(view, parts.weight->name);
  if (input != weight) {
    row.why = fmt::format("{} and {} move in different manners", parts.input->name, parts.weight->name);
    return;
  }
  const char* base = input == Manner::multicast ? "SUMMA"
                     : input == Manner::rotate  ? "Cannon"
                                                : "SUMMA with one panel (gathered at once)";
  row.name = axes.reduced.empty() ? base : fmt::format("2.5-D ({})", base);
  row.why = fmt::format("{} stays, m on {} and n on {}; panels of {} and {} move{}", parts.output->name,
      joined_axes(axes.rows), joined_axes(axes.columns), parts.input->name, parts.weight->name,
      axes.reduced.empty()
          ? ""
          : fmt::format("; k on {}, so that {} is summed there", joined_axes(axes.reduced), parts.output->name));
}

}  // namespace

std::vector<NameRow> pope_names(const PlacementView& view) {
  std::vector<NameRow> rows;
  for (const OperatorPlacement& op : view.operators) {
    const OperatorParts parts = parts_of(op);
    if (parts.weight == nullptr || !parts.weight->weight) continue;
    rows.push_back({"Pope et al.", op.name, {}, {}, {}, {}});
    name_layout(axes_of(view, op, *parts.weight), *parts.weight, rows.back());
  }
  return rows;
}

std::vector<NameRow> product_names(const PlacementView& view) {
  std::vector<NameRow> rows;
  for (const OperatorPlacement& op : view.operators) {
    const OperatorParts parts = parts_of(op);
    if (parts.weight == nullptr || parts.input == nullptr) continue;
    const AxesByRole axes = axes_of(view, op, *parts.weight);
    if (axes.rows.empty() || axes.columns.empty()) continue;
    rows.push_back({"2-D products", op.name, {}, {}, {}, {}});
    name_product(view, op, parts, axes, rows.back());
  }
  return rows;
}

}  // namespace stepcast::dataflow
