// What must hold for any text at all: parse() answers, what it accepts prints and reads back equal, and everything
// behind it (aliases, the cluster network, the chip and its counts) answers too. The fuzz target and the replay of its
// corpus both ask this.
#pragma once

#include <memory>
#include <string>

#include "dataflow/chip/chip.h"
#include "dataflow/chip/count/count.h"
#include "dataflow/notation/mapping.h"
#include "dataflow/notation/written.h"

namespace stepcast::dataflow {

inline bool same_program(const MappingProgram& a, const MappingProgram& b) {
  const auto same_dims = [&] {
    if (a.dims.size() != b.dims.size()) return false;
    for (std::size_t i = 0; i < a.dims.size(); ++i)
      if (a.dims[i].name != b.dims[i].name || a.dims[i].extent != b.dims[i].extent) return false;
    return true;
  };
  return a.meshes == b.meshes && a.archs == b.archs && same_dims() && a.operators == b.operators &&
         a.aliases == b.aliases && a.map_name == b.map_name && a.body == b.body;
}

/// The chip part of every operator that has one.
inline void count_chips(const MappingProgram& program) {
  for (const WrittenOperator& op : program.operators) {
    const Expected<ChipProgram> chip = chip_program(program, op.name);
    if (!chip) continue;
    const Expected<Nest> nest = nest_of(*chip);
    if (!nest) continue;
    const auto counts = std::make_unique<Counts>();
    count(*nest, *counts);
  }
}

/// "" or what is wrong.
inline std::string complaint_about(const std::string& text) {
  const Expected<MappingProgram> program = parse(text, "t");
  if (!program) return program.error().what.empty() || program.error().where.empty() ? "an error without words" : "";
  const std::string printed = dataflow::print(*program);
  const Expected<MappingProgram> again = parse(printed, "t");
  if (!again) return "printed text does not parse: " + to_text(again.error()) + "\n" + printed;
  if (!same_program(*program, *again)) return "another program came back:\n" + printed;
  if (dataflow::print(*again) != printed) return "printing again gives other text:\n" + printed;
  (void)expand(*program);
  (void)network_of(*program);
  count_chips(*program);
  return {};
}

}  // namespace stepcast::dataflow
