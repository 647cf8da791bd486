#include <algorithm>

#include "dataflow/notation/arch_properties.h"
#include "dataflow/chip/chip.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

constexpr double joules_per_picojoule = 1e-12;

void write_property(ArchLevel& level, const char* name, double value, bool per_cycle) {
  ArchLevel::Property property{name, value, per_cycle, {}};
  property.text = property_text(property);
  level.properties.push_back(std::move(property));
}

Fabric written_fabric(const ChipLevel& level) {
  switch (level.fabric) {
    case FabricClass::bus: return {};
    case FabricClass::network: return {"switch", level.multicast, level.reduce};
    case FabricClass::chain: return {"mesh", false, false};
  }
  return {};
}

/// Only what is not as it is without being said. Latencies are in seconds in the text, so they need the clock.
ArchLevel written_level(const ChipProgram& chip, std::size_t l) {
  const ChipLevel& level = chip.levels[l];
  ArchLevel written;
  written.name = level.name;
  for (const ChipAxis& axis : level.axes) written.axes.push_back({axis.name, axis.units});
  written.fabric = written_fabric(level);
  if (level.capacity_bytes > 0) write_property(written, "cap", level.capacity_bytes, false);
  if (level.bytes_per_cycle > 0) write_property(written, "bw", level.bytes_per_cycle, true);
  if (level.latency_cycles > 0 && chip.clock_hz > 0)
    write_property(written, "lat", level.latency_cycles / chip.clock_hz, false);
  if (level.word_bytes > 0) write_property(written, "word", level.word_bytes * 8, false);
  if (level.energy_pj > 0) write_property(written, "energy", level.energy_pj * joules_per_picojoule, false);
  if (level.buffers != 1) write_property(written, "buffers", level.buffers, false);
  if (l == 0 && chip.clock_hz > 0) write_property(written, "clock", chip.clock_hz, false);
  if (l + 1 == chip.levels.size() && chip.macs_per_cycle != 1)
    write_property(written, "flops", 2 * chip.macs_per_cycle, true);
  return written;
}

WrittenAccess written_access(const ChipProgram& chip, const ChipTensor& tensor) {
  WrittenAccess access{tensor.name, {}};
  for (const ChipIndex& index : tensor.indices) {
    WrittenIndex written;
    for (const ChipIndex::Term& term : index.terms) written.terms.push_back({chip.dims[term.dim].name, term.step});
    access.indices.push_back(std::move(written));
  }
  return access;
}

bool runs_over(const ChipTensor& tensor, int dim) {
  return std::ranges::any_of(tensor.indices, [&](const ChipIndex& index) {
    return std::ranges::any_of(index.terms, [&](const ChipIndex::Term& term) { return term.dim == dim; });
  });
}

WrittenOperator written_einsum(const ChipProgram& chip) {
  WrittenOperator op;
  op.name = chip.op;
  op.output = written_access(chip, chip.tensors.back());
  for (std::size_t t = 0; t + 1 < chip.tensors.size(); ++t) op.inputs.push_back(written_access(chip, chip.tensors[t]));
  bool sums = false;
  for (int d = 0; d < static_cast<int>(chip.dims.size()); ++d) sums = sums || !runs_over(chip.tensors.back(), d);
  op.monoid = sums ? Monoid::sum : Monoid::none;
  return op;
}

/// The line of a level: splits stand with the axes that own them. A list is left out only where no line would read the
/// same.
LevelStatement written_line(const ChipProgram& chip, const ChipLevel& level) {
  LevelStatement line{level.name, {}};
  for (const ChipLoop& loop : level.space)
    line.items.emplace_back(ChipPar{chip.dims[loop.dim].name, level.axes[loop.axis].name, loop.trips, loop.ragged});
  for (const ChipLoop& loop : level.time)
    line.items.emplace_back(ForStatement{chip.dims[loop.dim].name, loop.trips, loop.ragged});
  const bool units_only = !level.store && !level.axes.empty() && level.capacity_bytes == 0 && level.time.empty();
  if (units_only) return line;
  Keep keep;
  for (std::size_t t = 0; t < chip.tensors.size(); ++t)
    if (level.keeps[t] && !contains(keep.tensors, chip.tensors[t].name)) keep.tensors.push_back(chip.tensors[t].name);
  line.items.emplace_back(std::move(keep));
  return line;
}

}  // namespace

MappingProgram written_chip(const ChipProgram& chip) {
  MappingProgram program;
  WrittenArch arch;
  for (std::size_t l = 0; l < chip.levels.size(); ++l) arch.levels.push_back(written_level(chip, l));
  program.archs.push_back(std::move(arch));
  for (const ChipDim& dim : chip.dims) program.dims.push_back({dim.name, dim.extent});
  program.operators.push_back(written_einsum(chip));
  for (const ChipLevel& level : chip.levels) {
    LevelStatement line = written_line(chip, level);
    if (!line.items.empty()) program.body.emplace_back(Statement{{}, std::move(line), {}, {}});
  }
  return program;
}

}  // namespace stepcast::dataflow
