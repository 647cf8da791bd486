// The part that each loop and operand plays, by the structure of the product alone.
#include "dataflow/translate/cluster/names.h"

#include <fmt/format.h>

#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

bool walks(const OperandPlacement* operand, const std::string& loop) {
  return operand != nullptr && contains(operand->loops, loop);
}

}  // namespace

const char* to_text(LoopRole role) {
  switch (role) {
    case LoopRole::none: return "-";
    case LoopRole::rows: return "m";
    case LoopRole::columns: return "n";
    case LoopRole::reduced: return "k";
    case LoopRole::batch: return "b";
  }
  return "-";
}

OperatorParts parts_of(const OperatorPlacement& op) {
  OperatorParts parts;
  parts.output = &op.operands.back();
  for (std::size_t i = 0; i + 1 < op.operands.size(); ++i) {
    const OperandPlacement& row = op.operands[i];
    if (row.weight && (parts.weight == nullptr || !parts.weight->weight)) parts.weight = &row;
    else if (parts.input == nullptr) parts.input = &row;
    else if (parts.weight == nullptr) parts.weight = &row;
  }
  return parts;
}

LoopRole role_of(const OperatorPlacement& op, const std::string& loop) {
  if (loop.empty()) return LoopRole::none;
  const OperatorParts parts = parts_of(op);
  if (!walks(parts.output, loop)) return LoopRole::reduced;
  const bool input = walks(parts.input, loop), weight = walks(parts.weight, loop);
  return input && weight ? LoopRole::batch : weight ? LoopRole::columns : LoopRole::rows;
}

std::vector<NameRow> cluster_names(const PlacementView& view) {
  std::vector<NameRow> rows = megatron_names(view);
  for (const auto& more : {pope_names(view), product_names(view)}) rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

std::string names_text(const std::vector<NameRow>& rows) {
  std::string text;
  for (const NameRow& row : rows) {
    const std::string where = row.axis.empty() ? row.op : fmt::format("{} on {}", row.op, row.axis);
    text += fmt::format("{}: {}{}: {} ({})\n", row.vocabulary, where,
        row.split.empty() ? "" : fmt::format(", {} split", row.split), row.name.empty() ? "no name" : row.name,
        row.why);
  }
  return text;
}

}  // namespace stepcast::dataflow
