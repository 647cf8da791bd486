#include "studies/sweep/space/axes.h"

#include <algorithm>
#include <array>
#include "sim/schedule/schedule_table.h"

namespace stepcast::sweep {
namespace {

AxisValues node_alone(const AxisContext&) { return {"node"}; }
AxisValues cluster_alone(const AxisContext&) { return {"cluster"}; }
AxisValues node_and_cluster(const AxisContext&) { return {"node", "cluster"}; }

constexpr RunField tier_rows[] = {
    {.id = AxisId::tp_tier,
        .key = "tp_tier",
        .axis = {.usual = node_alone, .all = node_and_cluster, .doc = "where tp lies: node or cluster"}},
    {.id = AxisId::pp_tier,
        .key = "pp_tier",
        .axis = {.usual = cluster_alone, .all = node_and_cluster, .doc = "where pp lies: node or cluster"}},
    {.id = AxisId::dp_tier,
        .key = "dp_tier",
        .axis = {.usual = cluster_alone, .all = node_and_cluster, .doc = "where dp lies: node or cluster"}}};

using AxisTable = std::array<AxisRow, axis_count>;
AxisTable make_axis_table() {
  AxisTable table;
  for (const RunField& field : run_fields())
    if (field.axis.usual != nullptr) table[static_cast<std::size_t>(field.id)] = field;
  for (const RunField& tier : tier_rows) table[static_cast<std::size_t>(tier.id)] = tier;
  return table;
}
const AxisTable& axis_table() {
  static const AxisTable table = make_axis_table();
  return table;
}

}  // namespace

std::span<const AxisRow> axis_rows() { return axis_table(); }

const AxisRow& row_of(AxisId id) { return axis_table()[static_cast<std::size_t>(id)]; }

const AxisRow* find_axis(std::string_view key_or_flag) {
  const auto rows = axis_rows();
  const auto found = std::ranges::find_if(rows,
      [&](const AxisRow& row) { return !key_or_flag.empty() && (row.key == key_or_flag || row.flag == key_or_flag); });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace stepcast::sweep
