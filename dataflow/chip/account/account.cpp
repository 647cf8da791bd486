#include "dataflow/chip/account/account.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "dataflow/chip/account/energy.h"
#include "dataflow/chip/account/occupancy.h"
#include "dataflow/chip/resolve/numbers.h"

namespace stepcast::dataflow {
namespace {

class Accountant {
 public:
  Accountant(const ChipProgram& chip, const Nest& nest, const Counts& counts)
      : chip_(chip), nest_(nest), counts_(counts), table_(score_table(chip)) {}

  ChipAccount run() {
    for (int l = 0; l < nest_.levels; ++l) out_.levels.push_back(level(l));
    time();
    for (const LevelAccount& level : out_.levels) out_.energy_pj += level.energy_pj;
    out_.mac_energy_pj = static_cast<double>(counts_.macs) * table_.mac_energy_pj;
    out_.energy_pj += out_.mac_energy_pj;
    for (int l = 0; l < nest_.levels; ++l)
      if (nest_.keeps[l] != 0) out_.boundaries.push_back(boundary(l));
    out_.placements = axis_placements(chip_);
    for (const AxisPlacement& placement : out_.placements)
      if (keeper_outside(chip_, placement.level, placement.tensor) >= 0) collective(placement);
    return std::move(out_);
  }

 private:
  LevelAccount level(int l) {
    LevelAccount account;
    const Occupancy work = occupancy_of(chip_, l);
    account.rounds = work.rounds;
    account.occupancy = work.share;
    account.resident_bytes.assign(nest_.tensors, 0);
    if (nest_.keeps[l] == 0) return account;
    const ChipLevel& at = chip_.levels[l];
    for (int t = 0; t < nest_.tensors; ++t) {
      if (!at.keeps[t]) continue;
      const int copies = tile_changes(nest_, t, l) > 1 ? at.buffers : 1;
      account.resident_bytes[t] = static_cast<double>(counts_.at[l][t].tile) * word(l, t) * copies;
      account.used_bytes += account.resident_bytes[t];
      account.energy_per_element_pj = std::max(account.energy_per_element_pj, table_.energy_pj[l * nest_.tensors + t]);
    }
    if (at.bytes_per_cycle > 0) account.cycles = level_bytes(nest_, counts_, table_, l) / at.bytes_per_cycle;
    account.energy_pj = level_energy_pj(nest_, counts_, table_, l);
    account.energy_source = access_energy(chip_, l).source;
    return account;
  }

  void time() {
    for (const ChipLevel& level : chip_.levels)
      for (const ChipAxis& axis : level.axes) out_.all_units *= axis.units;
    out_.steps = static_cast<double>(counts_.steps);
    out_.compute_cycles = out_.steps / table_.macs_per_cycle;
    out_.skew_cycles = dataflow::skew_cycles(nest_, table_);
    out_.cycles = out_.compute_cycles;
    out_.bound = "compute";
    for (int l = 0; l < nest_.levels; ++l)
      if (out_.levels[l].cycles > out_.cycles) {
        out_.cycles = out_.levels[l].cycles;
        out_.bound = chip_.levels[l].name;
      }
    out_.cycles += out_.skew_cycles;
    const double could = out_.cycles * static_cast<double>(out_.all_units) * table_.macs_per_cycle;
    out_.utilisation = could > 0 ? static_cast<double>(counts_.macs) / could : 0;
  }

  Boundary boundary(int l) const {
    Boundary b;
    b.outer = l;
    b.inner = next_store(chip_, l);
    b.stationary = stationary_tensors(chip_, b.inner);
    b.bytes = inner_bytes(nest_, counts_, table_, l);
    const double flops = 2.0 * static_cast<double>(counts_.macs);
    b.flops_per_byte = b.bytes > 0 ? flops / b.bytes : std::numeric_limits<double>::infinity();
    if (const double each = chip_.levels[l].bytes_per_cycle; each > 0) {
      const double bandwidth = each * units_through(l);
      const double peak = 2.0 * table_.macs_per_cycle * static_cast<double>(out_.all_units);
      b.cycles = b.bytes / bandwidth;
      b.ridge_flops_per_byte = peak / bandwidth;
      b.roof_flops_per_cycle = std::min(peak, b.flops_per_byte * bandwidth);
    }
    const std::string space = space_text(chip_, l, b.inner);
    b.text = stay_text(chip_, b.inner, b.stationary) + (space.empty() ? "" : ", ") + space;
    return b;
  }

  void collective(const AxisPlacement& place) {
    using Kind = AxisPlacement::Kind;
    const bool output = chip_.tensors[place.tensor].use == TensorUse::output;
    const double bytes = word(keeper_outside(chip_, place.level, place.tensor), place.tensor);
    const TensorCount& count = counts_.at[place.level - 1][place.tensor];
    const double units = static_cast<double>(counts_.instances[place.level]);
    const double of_unit = units > 0 ? count.sent_apart * bytes / units : 0;
    AxisCollective c{place.level, place.axis, place.tensor, "", "", place.parts, count.sent * bytes, 0, 0};
    const double others = static_cast<double>(place.parts - 1) / static_cast<double>(place.parts);
    if (place.kind == Kind::shard) {
      c.kind = output ? "gather" : "scatter";
    } else {
      c.kind = output ? "reduce" : "multicast";
      c.ring = output ? "reduce_scatter" : "all_gather";
      c.ring_bytes = others * of_unit;
      c.all_reduce_bytes = output ? 2 * others * of_unit : 0;
      warn(place, c);
    }
    out_.collectives.push_back(std::move(c));
  }

  void warn(const AxisPlacement& place, const AxisCollective& c) {
    const ChipLevel& level = chip_.levels[place.level];
    const std::string& tensor = chip_.tensors[place.tensor].name;
    const std::string axis = fmt::format("axis {} of {}", level.axes[place.axis].name, level.name);
    const auto as_ring = [&](const char* name) {
      return fmt::format("as a ring {} {} bytes per unit", name, grouped(std::llround(c.ring_bytes)));
    };
    if (place.kind == AxisPlacement::Kind::replicate) {
      if (!level.multicast)
        out_.warnings.push_back(fmt::format("{} is needed by {} units ({}), whose fabric has no multicast: {}", tensor,
            place.parts, axis, as_ring("all-gather")));
      return;
    }
    if (!level.reduce)
      out_.warnings.push_back(fmt::format("{} is summed over {} units ({}), whose fabric does not add: {}", tensor,
          place.parts, axis, as_ring("reduce-scatter")));
    out_.warnings.push_back(
        fmt::format("{} is summed over {} side by side ({}): not the order of a loop, results are not bit-identical",
            tensor, chip_.dims[place.dim].name, axis));
  }

  [[nodiscard]] double word(int l, int t) const { return table_.word_bytes[l * nest_.tensors + t]; }

  [[nodiscard]] double units_through(int level) const {
    double units = 1;
    for (int l = 0; l <= level; ++l)
      for (const ChipAxis& axis : chip_.levels[l].axes) units *= static_cast<double>(axis.units);
    return units;
  }

  const ChipProgram& chip_;
  const Nest& nest_;
  const Counts& counts_;
  const ScoreTable table_;
  ChipAccount out_;
};

}  // namespace

ChipAccount account(const ChipProgram& chip, const Counts& counts) {
  const auto nest = nest_of(chip);
  assert(nest);  // it was counted
  return Accountant(chip, *nest, counts).run();
}

}  // namespace stepcast::dataflow
