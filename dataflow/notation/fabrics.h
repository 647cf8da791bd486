// The fabrics that an arch may name, and what each does when several units need one value or their results are summed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataflow/notation/mapping.h"

namespace stepcast::dataflow {

/// What a fabric does when several units need one value, or their results are summed.
enum class FabricClass : std::uint8_t {
  bus,      ///< one value reaches all units at once; sums are made on the way (what Timeloop counts)
  network,  ///< point to point through a switch; multicast or reduction only if it says so
  chain,    ///< from neighbour to neighbour: ring, mesh, systolic array; a hop per step, hence skew
};

struct FabricRow {
  std::string_view name;
  FabricClass kind = FabricClass::bus;
};

/// A bus and a switch that says (multicast) or (reduce) send one copy; a chain hands on from neighbour to neighbour.
/// NVLink and InfiniBand reduce in the network only where NVLS or SHARP is switched on, hence only if said.
inline constexpr FabricRow fabric_rows[] = {{"bus", FabricClass::bus}, {"switch", FabricClass::network},
    {"crossbar", FabricClass::network}, {"nvl", FabricClass::network}, {"nvlink", FabricClass::network},
    {"ib", FabricClass::network}, {"infiniband", FabricClass::network}, {"ethernet", FabricClass::network},
    {"roce", FabricClass::network}, {"pcie", FabricClass::network}, {"ring", FabricClass::chain},
    {"mesh", FabricClass::chain}, {"torus", FabricClass::chain}, {"systolic", FabricClass::chain},
    {"ici", FabricClass::chain}};

/// The row of a fabric as written; "" is a bus; nullptr: no such fabric.
constexpr const FabricRow* fabric_row(std::string_view name) {
  if (name.empty()) return fabric_rows;
  for (const FabricRow& row : fabric_rows)
    if (row.name == name) return &row;
  return nullptr;
}

/// Does one value reach all units at once, are sums made on the way? A bus does both, a network what it says.
constexpr bool multicasts(const Fabric& fabric) {
  const FabricRow* row = fabric_row(fabric.name);
  return row == nullptr || row->kind == FabricClass::bus || fabric.multicast;
}
constexpr bool reduces(const Fabric& fabric) {
  const FabricRow* row = fabric_row(fabric.name);
  return row == nullptr || row->kind == FabricClass::bus || fabric.reduce;
}

}  // namespace stepcast::dataflow
