// The sums behind account() and the mapper's ranking. No allocation after score_table().
#include <algorithm>
#include <array>

#include "dataflow/chip/account/account.h"
#include "dataflow/chip/account/energy.h"

namespace stepcast::dataflow {
namespace {

double widest_operand(const ChipProgram& chip) {
  double bytes = 0;
  for (const ChipTensor& tensor : chip.tensors)
    if (tensor.use != TensorUse::output) bytes = std::max(bytes, tensor.bytes_per_element);
  return bytes > 0 ? bytes : 2;
}

ScoreTable::Chain chain_of(const ChipLevel& level, int index) {
  const double hop = std::max(1.0, level.latency_cycles);
  ScoreTable::Chain chain{index, 0, 0};
  for (const ChipAxis& axis : level.axes) chain.depth += static_cast<double>(axis.units - 1) * hop;
  if (!level.axes.empty()) chain.preload = static_cast<double>(level.axes.front().units) * hop;
  return chain;
}

/// Rounds of one loop nest over one dim that reach into its extent, seen from the first unit: `whole` rounds lie
/// inside, one more may be cut at `rest` elements.
struct Rounds {
  double whole = 0;
  std::int64_t rest = 0;  ///< elements of the cut round; 0 = none

  static Rounds of(std::int64_t extent, std::int64_t range) {
    return extent >= range ? Rounds{1, 0} : Rounds{0, extent};
  }
  /// A loop in time whose rounds are `stride` elements apart.
  void step(std::int64_t trips, std::int64_t stride) {
    whole *= static_cast<double>(trips);
    if (rest == 0) return;
    whole += static_cast<double>(rest / stride);
    rest %= stride;
  }
  /// Units `stride` elements apart: the first one is the busiest.
  void first_unit(std::int64_t stride) {
    if (rest < stride) return;
    whole += rest > 0 ? 1 : 0;
    rest = 0;
  }
  [[nodiscard]] double count() const { return whole + (rest > 0 ? 1 : 0); }
};

using Ranges = std::array<std::int64_t, most_chip_dims>;

Ranges ranges_of(const Nest& nest) {
  Ranges range;
  range.fill(1);
  for (int i = 0; i < nest.loops; ++i) range[nest.loop[i].dim] *= nest.loop[i].trips;
  return range;
}

/// One past the innermost loop in time outside `level` that the tensor depends on; 0 = none.
int end_of_changes(const Nest& nest, int tensor, int level) {
  int end = 0;
  for (int i = 0; i < nest.loops && nest.loop[i].level < level; ++i)
    if (!nest.loop[i].space && nest.loop[i].trips > 1 && (nest.shape[tensor].uses >> nest.loop[i].dim & 1U))
      end = i + 1;
  return end;
}

struct Fold {
  double count = 1;
  bool loads = false;
};

/// The longest stay among the tensors that the level keeps, and whether an input stays so long.
Fold longest_stay(const Nest& nest, int level) {
  Fold fold;
  bool first = true;
  for (int t = 0; t < nest.tensors; ++t) {
    if (!(nest.keeps[level] >> t & 1U)) continue;
    const double changes = tile_changes(nest, t, level);
    const bool input = !nest.shape[t].output;
    if (first || changes < fold.count) fold = {changes, input};
    else if (changes == fold.count) fold.loads = fold.loads || input;
    first = false;
  }
  return fold;
}

}  // namespace

double tile_changes(const Nest& nest, int tensor, int level) {
  const int end = end_of_changes(nest, tensor, level);
  Ranges inside = ranges_of(nest);
  std::array<Rounds, most_chip_dims> rounds;
  for (int d = 0; d < nest.dims; ++d) rounds[d] = Rounds::of(nest.extent[d], inside[d]);
  for (int i = 0; i < end; ++i) {
    const Nest::Loop& loop = nest.loop[i];
    inside[loop.dim] /= loop.trips;
    if (loop.space) rounds[loop.dim].first_unit(inside[loop.dim]);
    else rounds[loop.dim].step(loop.trips, inside[loop.dim]);
  }
  double changes = 1;
  for (int d = 0; d < nest.dims; ++d) changes *= rounds[d].count();
  return changes;
}

double skew_cycles(const Nest& nest, const ScoreTable& table) {
  double cycles = 0;
  for (const ScoreTable::Chain& chain : table.chains) {
    int keeper = chain.level;
    while (keeper < nest.levels && nest.keeps[keeper] == 0) ++keeper;
    const Fold fold = keeper < nest.levels ? longest_stay(nest, keeper) : Fold{};
    const double times = keeper < nest.levels && table.double_buffered[keeper] ? 1 : fold.count;
    cycles += times * (chain.depth + (fold.loads ? chain.preload : 0));
  }
  return cycles;
}

ScoreTable score_table(const ChipProgram& chip) {
  ScoreTable table;
  table.macs_per_cycle = chip.macs_per_cycle;
  table.mac_energy_pj = multiply_add_pj(widest_operand(chip));
  for (int l = 0; l < static_cast<int>(chip.levels.size()); ++l) {
    const ChipLevel& level = chip.levels[l];
    const AccessEnergy energy = access_energy(chip, l);
    table.bytes_per_cycle.push_back(level.bytes_per_cycle);
    table.double_buffered.push_back(level.buffers > 1);
    for (int t = 0; t < static_cast<int>(chip.tensors.size()); ++t) {
      const double bytes = element_bytes(chip, l, t);
      table.word_bytes.push_back(bytes);
      table.energy_pj.push_back(element_pj(energy, bytes));
    }
    if (level.fabric == FabricClass::chain) table.chains.push_back(chain_of(level, l));
  }
  return table;
}

namespace {

/// The accesses to a level, each times what a word of its tensor weighs there.
double weighed_accesses(const Nest& nest, const Counts& counts, const std::vector<double>& weights, int level) {
  double sum = 0;
  for (int t = 0; t < nest.tensors; ++t) {
    const TensorCount& at = counts.at[level][t];
    sum += (at.reads + at.fills + at.updates) * weights[level * nest.tensors + t];
  }
  return sum;
}

}  // namespace

double level_bytes(const Nest& nest, const Counts& counts, const ScoreTable& table, int level) {
  return weighed_accesses(nest, counts, table.word_bytes, level);
}

double level_energy_pj(const Nest& nest, const Counts& counts, const ScoreTable& table, int level) {
  return weighed_accesses(nest, counts, table.energy_pj, level) * static_cast<double>(counts.instances[level]);
}

double inner_bytes(const Nest& nest, const Counts& counts, const ScoreTable& table, int level) {
  double bytes = 0;
  for (int t = 0; t < nest.tensors; ++t) {
    const TensorCount& at = counts.at[level][t];
    bytes += (at.reads + at.updates) * table.word_bytes[level * nest.tensors + t];
  }
  return bytes * static_cast<double>(counts.instances[level]);
}

ChipScore score(const Nest& nest, const Counts& counts, const ScoreTable& table) {
  ChipScore out;
  out.cycles = static_cast<double>(counts.steps) / table.macs_per_cycle;
  out.energy_pj = static_cast<double>(counts.macs) * table.mac_energy_pj;
  for (int l = 0; l < nest.levels; ++l) {
    if (nest.keeps[l] == 0) continue;
    if (table.bytes_per_cycle[l] > 0)
      out.cycles = std::max(out.cycles, level_bytes(nest, counts, table, l) / table.bytes_per_cycle[l]);
    out.energy_pj += level_energy_pj(nest, counts, table, l);
  }
  out.cycles += skew_cycles(nest, table);
  int outermost = 0;  // units may stand outside it
  while (outermost < nest.levels && nest.keeps[outermost] == 0) ++outermost;
  out.traffic_bytes = outermost < nest.levels ? inner_bytes(nest, counts, table, outermost) : 0;
  return out;
}

}  // namespace stepcast::dataflow
