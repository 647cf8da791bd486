#include "dataflow/chip/search/search_bound.h"

#include <algorithm>

namespace stepcast::dataflow::mapper {

Bounder::Bounder(const Space& space, const ScoreTable& table, const KeepPlan& plan, double cycle_limit, bool quick)
    : space_(space), table_(table), plan_(plan),
      least_units_(space.macs / table.macs_per_cycle / cycle_limit * (1 - 1e-9)), quick_(quick),
      tails_(plan.stages.size()), entries_(plan.stages.size()), merged_(plan.stages.size()),
      orders_(plan.stages.size()) {
  real_.fill(1);
  std::size_t stride = 1;
  for (int d = 0; d < space.dims; ++d) {
    stride_.push_back(stride);
    stride *= space.grids[d].size();
    const double real = static_cast<double>(space.grids[d].extent) / static_cast<double>(space.grids[d].padded);
    real_rounds_ *= real;
    for (int t = 0; t < space.tensors; ++t)
      if (!(space.uses[t] >> d & 1U)) real_[t] *= real;
  }
  for (const double rate : table.bytes_per_cycle) paced_ = paced_ || rate > 0;
  for (int i = 0; i <= plan.last(); ++i) {
    feeds_.emplace_back();
    for (int c = 0; c < static_cast<int>(plan.stages[i].combos.size()); ++c) feeds_.back().push_back(make_feed(i, c));
  }
  rough_ = rough_tails();
}

std::size_t Bounder::node(const Tile& tile) const {
  std::size_t id = 0;
  for (int d = 0; d < space_.dims; ++d) id += stride_[d] * tile[d];
  return id;
}

Frontier Bounder::root() const {
  Frontier at;
  for (int d = 0; d < space_.dims; ++d) at.tile[d] = static_cast<std::int16_t>(space_.grids[d].size() - 1);
  at.idle_rounds.fill(1);
  at.run.fill(1);
  at.repeats.fill(1);
  at.energy = space_.macs * table_.mac_energy_pj;
  for (const ScoreTable::Chain& chain : table_.chains) at.skew += chain.depth;
  return at;
}

bool Bounder::fits(int stage, const Tile& tile, std::uint32_t moved) const {
  const Stage& here = plan_.stages[stage];
  if (here.keeps == 0) return true;
  const ChipLevel& level = space_.chip.levels[here.level];
  if (level.capacity_bytes <= 0) return true;
  Factors extents;
  for (int d = 0; d < space_.dims; ++d) extents[d] = std::min(space_.grids[d].divisor[tile[d]], space_.grids[d].extent);
  double used = 0;
  for (int t = 0; t < space_.tensors; ++t)
    if (here.keeps >> t & 1U)
      used += tile_size(space_.chip.tensors[t], extents) * word(stage, t) *
              ((moved & space_.uses[t]) != 0 ? level.buffers : 1);
  return used <= level.capacity_bytes;
}

/// What a kept tensor moves on its way in, and the output on its way out. Its first write needs nothing read.
Bounder::Moved Bounder::moved(const Frontier& at, int stage, int tensor) const {
  const int source = plan_.stages[stage].source[tensor];
  const double footprint = space_.footprint[tensor];
  const double first = space_.windowed[tensor] ? 1 : at.idle_rounds[tensor] / at.run[tensor] * real_[tensor];
  const double shared_out = at.repeats_at[source][tensor], shared_in = at.repeats[tensor];
  Moved moved{footprint * std::max(1.0, first * shared_out), footprint * std::max(1.0, first * shared_in)};
  if (is_output(tensor)) {
    moved.out += std::max(0.0, moved.out - footprint * shared_out);
    moved.in = std::max(0.0, moved.in - footprint * shared_in);
  }
  return moved;
}

void Bounder::cross(Frontier& at, int stage, int tensor) const {
  const int source = plan_.stages[stage].source[tensor];
  const auto [out, in] = moved(at, stage, tensor);
  at.energy += out * rate(source, tensor) + in * rate(stage, tensor);
  at.bytes[source] += out * word(source, tensor);
  at.bytes[stage] += in * word(stage, tensor);
  if (plan_.stages[source].level == 0) at.traffic += out * word(source, tensor);
}

/// What the multiply-adds read and write at the store that feeds them, as far as the units in between are known.
double Bounder::fed(const Frontier& at, int stage, int tensor, double units, double repeats) const {
  const int source = plan_.innermost[tensor];
  // Units whose windows overlap may share what they read.
  const double sharing =
      space_.windowed[tensor]
          ? units / at.instances[source] * plan_.stages.back().most_units / plan_.stages[stage].most_units
          : repeats / at.repeats_at[source][tensor] * plan_.stages[stage].most_repeats_inside[tensor];
  const double fed = std::max(space_.footprint[tensor], space_.macs / sharing);
  return fed + (is_output(tensor) ? std::max(0.0, fed - space_.footprint[tensor] * at.repeats_at[source][tensor]) : 0);
}

/// Grows from stage to stage.
void Bounder::feed(Frontier& at, int stage, int tensor) const {
  const int source = plan_.innermost[tensor];
  if (stage < source) return;
  const double now = fed(at, stage, tensor, at.units, at.repeats[tensor]);
  const double more = stage == source ? now : std::max(0.0, now - at.macs_fed[tensor]);
  at.macs_fed[tensor] = stage == source ? now : at.macs_fed[tensor] + more;
  at.energy += more * rate(source, tensor);
  at.bytes[source] += more * word(source, tensor);
  if (plan_.stages[source].level == 0) at.traffic += more * word(source, tensor);
}

double Bounder::fed_outermost(const Frontier& at, int stage, int combo) const {
  double bytes = 0;
  if (plan_.stages[0].level != 0) return bytes;
  const Stage& here = plan_.stages[stage];
  for (int t = 0; t < space_.tensors; ++t)
    if (plan_.innermost[t] == 0)
      bytes +=
          std::max(0.0, fed(at, stage, t, at.units * here.combos[combo].units, at.repeats[t] * here.repeats[combo][t]) -
                            at.macs_fed[t]) *
          word(0, t);
  return bytes;
}

/// Fill and drain of chains that wait for the tiles of this stage: as often as the tensor that stays longest changes.
double Bounder::waited(const Frontier& at, int stage) const {
  double skew = 0;
  for (std::size_t c = 0; c < table_.chains.size(); ++c) {
    if (plan_.chain_stage[c] != stage) continue;
    const ScoreTable::Chain& chain = table_.chains[c];
    double least = std::numeric_limits<double>::infinity();
    for (int t = 0; t < space_.tensors; ++t)
      if (plan_.stages[stage].keeps >> t & 1U) least = std::min(least, at.rounds / at.run[t]);
    bool loads = real_rounds_ == 1;
    bool input_stays = false;
    for (int t = 0; t < space_.tensors; ++t)
      input_stays = input_stays || ((plan_.stages[stage].keeps >> t & 1U) && !is_output(t) &&
                                       at.rounds / at.run[t] <= least * (1 + 1e-12));
    loads = loads && input_stays;
    const double times = table_.double_buffered[plan_.stages[stage].level] ? 1 : std::max(1.0, least * real_rounds_);
    skew += times * (chain.depth + (loads ? chain.preload : 0)) - chain.depth;
  }
  return skew;
}

bool Bounder::divide(int stage, int combo, Tile& tile) const {
  for (const SpaceCombo::Part& part : plan_.stages[stage].combos[combo].parts) {
    const int left = space_.grids[part.dim].over(tile[part.dim], part.index);
    if (left < 0) return false;
    tile[part.dim] = static_cast<std::int16_t>(left);
  }
  return true;
}

bool Bounder::arrive(Frontier& at, int stage, int combo) const {
  const Stage& here = plan_.stages[stage];
  if (!divide(stage, combo, at.tile)) return false;
  if (!fits(stage, at.tile, at.moved)) return false;
  at.units *= here.combos[combo].units;
  for (int t = 0; t < space_.tensors; ++t) at.repeats[t] *= here.repeats[combo][t];
  at.repeats_at[stage] = at.repeats;
  at.instances[stage] = at.units;
  for (int t = 0; t < space_.tensors; ++t) {
    if (stage > 0 && (here.keeps >> t & 1U)) cross(at, stage, t);
    feed(at, stage, t);
  }
  at.skew += waited(at, stage);
  return true;
}

void Bounder::depart(Frontier& at, const Tile& next, const Factors& trips, const Order& order) const {
  at.tile = next;
  for (const int d : order) {
    const auto rounds = static_cast<double>(trips[d]);
    at.rounds *= rounds;
    at.moved |= 1U << d;
    for (int t = 0; t < space_.tensors; ++t) {
      if (space_.uses[t] >> d & 1U) {
        at.run[t] = 1;
        continue;
      }
      at.idle_rounds[t] *= rounds;
      at.run[t] *= rounds;
    }
  }
}

/// Bytes over the outermost boundary for a tensor that a stage further inside keeps: loops so far repeat it already.
double Bounder::awaited(const Frontier& at, int tensor) const {
  const double footprint = space_.footprint[tensor], shared = at.repeats_at[0][tensor];
  const double first = space_.windowed[tensor] ? 1 : at.idle_rounds[tensor] / at.run[tensor] * real_[tensor];
  const double out = footprint * std::max(1.0, first * shared);
  return (out + (is_output(tensor) ? std::max(0.0, out - footprint * shared) : 0)) * word(0, tensor);
}

ChipScore Bounder::bound(const Frontier& at, int stage, const Tail& tail) const {
  ChipScore least;
  least.cycles = std::max(space_.macs / (at.units * tail.units) / table_.macs_per_cycle, tail.cycles);
  for (int i = 0; paced_ && i <= stage && i < plan_.last(); ++i)
    if (const double rate = table_.bytes_per_cycle[plan_.stages[i].level]; rate > 0 && plan_.stages[i].keeps != 0)
      least.cycles = std::max(least.cycles, at.bytes[i] / at.instances[i] / rate);
  least.cycles += at.skew;
  least.energy_pj = at.energy + tail.energy;
  least.traffic_bytes = at.traffic + tail.traffic;
  for (int t = 0; t < space_.tensors; ++t)
    if (plan_.first_inside[t] > stage && plan_.stages[0].level == 0) least.traffic_bytes += awaited(at, t);
  return least;
}

/// The bound of the cheapest combo, each cost at its own best.
ChipScore Bounder::base_with(const Frontier& at, int stage, const Tail& tail) const {
  if (!tail.possible()) {
    constexpr double never = std::numeric_limits<double>::infinity();
    return {never, never, never};
  }
  ChipScore least = bound(at, stage - 1, tail);
  for (int t = 0; t < space_.tensors; ++t) {
    if (!(plan_.stages[stage].keeps >> t & 1U)) continue;
    const auto [out, in] = moved(at, stage, t);
    least.energy_pj += out * rate(plan_.stages[stage].source[t], t) + in * rate(stage, t);
  }
  if (!table_.chains.empty()) least.cycles += waited(at, stage);
  return least;
}

ChipScore Bounder::rough_base(const Frontier& at, int stage) const { return base_with(at, stage, rough_[stage]); }

/// Only where the stage has no units to choose, else as rough.
ChipScore Bounder::merged_base(const Frontier& at, int stage) {
  Tail tail = rough_[stage];
  if (plan_.stages[stage].combos.size() == 1 && stage + 1 < plan_.last())
    tail.energy = std::max(tail.energy, feed_tail(stage, 0).energy + merged_energy(stage, at.tile));
  return base_with(at, stage, tail);
}

ChipScore Bounder::base(const Frontier& at, int stage) { return base_with(at, stage, entry(stage, at.tile).best); }

std::vector<Tail> Bounder::rough_tails() const {
  std::vector<Tail> rough(plan_.stages.size(), Tail{0, 0, 1, 0});
  for (int i = plan_.last(); i >= 0; --i) {
    const Stage& here = plan_.stages[i];
    if (i < plan_.last()) rough[i] = rough[i + 1];
    rough[i].units = plan_.stages.back().most_units / here.most_units *
                     (i > 0 ? here.most_units / plan_.stages[i - 1].most_units : here.most_units);
    for (int t = 0; t < space_.tensors; ++t) {
      if (plan_.innermost[t] == i) {
        const double inside =
            space_.windowed[t] ? plan_.stages.back().most_units / here.most_units : here.most_repeats_inside[t];
        double fed = std::max(space_.footprint[t], space_.macs / inside);
        if (is_output(t)) fed += std::max(0.0, fed - space_.footprint[t] * here.most_units);
        rough[i].energy += fed * rate(i, t);
      }
      if (i < plan_.last() && (plan_.stages[i + 1].keeps >> t & 1U))
        rough[i].energy +=
            space_.footprint[t] * (rate(plan_.stages[i + 1].source[t], t) + (is_output(t) ? 0 : rate(i + 1, t)));
    }
  }
  return rough;
}

}  // namespace stepcast::dataflow::mapper
