// The cheapest way on from a tile: a dynamic programme over the lattice of tiles, from the inside out, filled as asked.
// What led to the tile is left out, so a tensor that no loop of a stage touches may cost as little as one pass.
#include <algorithm>

#include "dataflow/chip/search/search_bound.h"

namespace stepcast::dataflow::mapper {

const std::vector<Order>& Bounder::orders(int stage, std::uint32_t active) {
  auto& known = orders_[stage];
  if (const auto found = known.find(active); found != known.end()) return found->second;
  const Stage& here = plan_.stages[stage];
  return known.emplace(active, orders_of(space_, here.level, active, here.moving, limited)).first->second;
}

const Tail& Bounder::tail(int stage, const Tile& tile) { return tail_at(stage, node(tile)); }

Tile Bounder::tile_of(std::size_t node) const {
  Tile tile{};
  for (int d = 0; d < space_.dims; ++d) tile[d] = static_cast<std::int16_t>(node / stride_[d] % space_.grids[d].size());
  return tile;
}

/// Tiles that do not fit lead nowhere.
const Tail& Bounder::tail_at(int stage, std::size_t node) {
  auto& known = tails_[stage];
  if (known.empty()) known.resize(static_cast<std::size_t>(space_.lattice()), Tail{0, -1, 0, 0});
  Tail& here = known[node];
  if (here.cycles >= 0) return here;
  const Tile tile = tile_of(node);
  if (!fits(stage, tile, 0)) return here = Tail{};
  if (stage + 1 == plan_.last()) return here = last_tail(stage, tile);
  return here = quick_ ? quick_tail(stage, node) : make_tail(stage, tile);
}

/// Visits (combo, node of the tile inside).
template <typename Visit> void Bounder::each_combo(int stage, const Tile& tile, const Visit& visit) {
  const Stage& here = plan_.stages[stage];
  if (here.whole != nullptr) {
    const std::size_t id = node(tile);
    for (std::uint32_t i = here.whole->first[id]; i < here.whole->first[id + 1]; ++i)
      visit(here.whole->parts[i].combo, here.whole->parts[i].inside);
    return;
  }
  for (int c = 0; c < static_cast<int>(here.combos.size()); ++c) {
    Tile inside = tile;
    ++looked_at;
    if (divide(stage, c, inside)) visit(c, node(inside));
  }
}

const Bounder::Entry& Bounder::entry(int stage, const Tile& tile) {
  auto& known = entries_[stage];
  if (known.empty()) known.resize(static_cast<std::size_t>(space_.lattice()));
  Entry& here = known[node(tile)];
  if (here.made) return here;
  here.made = true;
  here.best.cycles = here.best.traffic = std::numeric_limits<double>::infinity();
  const double outside = stage > 0 ? plan_.stages[stage - 1].most_units : 1, fed = feed_cycles(stage);
  each_combo(stage, tile, [&](int c, std::size_t inside) {
    ++looked_at;
    const Tail& on = tail_at(stage, inside);
    const double units = plan_.stages[stage].combos[c].units * on.units;
    if (!on.possible() || outside * units < least_units_) return;
    const Fed more = feed_tail(stage, c);
    here.combos.push_back(c);
    here.best.energy = std::min(here.best.energy, on.energy + more.energy);
    here.best.traffic = std::min(here.best.traffic, on.traffic + more.traffic);
    here.best.cycles = std::min(here.best.cycles, std::max(on.cycles, fed));
    here.best.units = std::max(here.best.units, units);
  });
  return here;
}

/// The innermost store: its loops take what its units leave.
Tail Bounder::last_tail(int stage, const Tile& tile) {
  const int level = plan_.stages[stage].level;
  Tail best;
  best.traffic = std::numeric_limits<double>::infinity();
  each_combo(stage + 1, tile, [&](int c, std::size_t inside) {
    const Tile left = tile_of(inside);
    for (int d = 0; d < space_.dims; ++d) {
      const std::int64_t trips = space_.grids[d].divisor[left[d]], fixed = space_.fixed_time[level][d];
      if (fixed > 0 ? trips != fixed : trips > 1 && plan_.keeps[level] == 0) return;
    }
    const double units = plan_.stages[stage + 1].combos[c].units;
    if (plan_.stages[stage].most_units * units < least_units_) return;
    const Fed more = feed_tail(stage + 1, c);
    best.energy = std::min(best.energy, more.energy);
    best.traffic = std::min(best.traffic, more.traffic);
    best.units = std::max(best.units, units);
  });
  return best;
}

/// Rounds of loops outside a tile, in time and space, that the tensor lacks.
double Bounder::idle_of(int tensor, const Tile& next) const {
  double idle = real_[tensor];
  for (int d = 0; d < space_.dims; ++d)
    if (!(space_.uses[tensor] >> d & 1U))
      idle *= static_cast<double>(space_.grids[d].padded) / static_cast<double>(space_.grids[d].divisor[next[d]]);
  return idle;
}

/// Some loop outside is the innermost: the tensors that have it move in all the rounds that they lack, the others may
/// do with one pass.
double Bounder::merged_at(int stage, const Tile& next) {
  ++looked_at;
  constexpr double never = std::numeric_limits<double>::infinity();
  const Stage& into = plan_.stages[stage + 1];
  const Entry& on = entry(stage + 1, next);
  if (!on.best.possible()) return never;
  PerTensor idle{}, one;
  one.fill(1);
  for (int t = 0; t < space_.tensors; ++t)
    idle[t] = (into.keeps >> t & 1U) && !space_.windowed[t] ? idle_of(t, next) : 0;
  double outside = 1, least = never;
  const auto consider = [&](std::uint32_t innermost) {
    PerTensor rounds{};
    for (int t = 0; t < space_.tensors; ++t) rounds[t] = (space_.uses[t] & innermost) != 0 ? idle[t] : 0;
    if (cross_tail(stage, rounds, one, nullptr) + on.best.energy >= least) return;
    for (const int c : on.combos) {
      Tile inside = next;
      if (!divide(stage + 1, c, inside)) continue;
      least = std::min(least, cross_tail(stage, rounds, into.repeats[c], nullptr) + feed_tail(stage + 1, c).energy +
                                  tail(stage + 1, inside).energy);
    }
  };
  for (int d = 0; d < space_.dims; ++d) {
    const double ratio =
        static_cast<double>(space_.grids[d].padded) / static_cast<double>(space_.grids[d].divisor[next[d]]);
    outside *= ratio;
    if (ratio > 1) consider(1U << d);
  }
  if (outside <= plan_.stages[stage].most_units) consider(0);
  return least;
}

const Bounder::Merged& Bounder::merged(int stage) {
  Merged& here = merged_[stage];
  if (!here.at.empty()) return here;
  const auto nodes = static_cast<std::size_t>(space_.lattice());
  here.at.resize(nodes);
  for (std::size_t id = 0; id < nodes; ++id) {
    here.at[id] = merged_at(stage, tile_of(id));
  }
  here.inside = here.at;
  for (int d = 0; d < space_.dims; ++d) {
    const DimGrid& grid = space_.grids[d];
    for (std::size_t id = 0; id < nodes; ++id) {
      const auto i = static_cast<int>(id / stride_[d] % grid.size());
      for (int below = 0; below < i; ++below)
        if (grid.over(i, below) >= 0)
          here.inside[id] = std::min(here.inside[id], here.inside[id - stride_[d] * (i - below)]);
    }
  }
  return here;
}

double Bounder::merged_energy(int stage, const Tile& tile) {
  return stage + 1 == plan_.last() ? 0 : merged(stage).inside[node(tile)];
}

Tail Bounder::quick_tail(int stage, std::size_t node) {
  Tail tail = rough_[stage + 1];
  tail.energy = std::max(tail.energy, merged(stage).inside[node]);
  if (tail.energy == std::numeric_limits<double>::infinity()) tail.units = 0;
  return tail;
}

Tail Bounder::make_tail(int stage, const Tile& tile) {
  Tail best;
  best.cycles = best.traffic = std::numeric_limits<double>::infinity();
  const bool paced = table_.bytes_per_cycle[plan_.stages[stage].level] > 0;
  const Merged& rough = merged(stage);
  each_tile(stage, tile, [&](const Tile& next, const Factors& trips, std::uint32_t active) {
    const Entry& on = entry(stage + 1, next);
    if (!on.best.possible()) return;
    best.units = std::max(best.units, on.best.units);
    best.traffic = std::min(best.traffic, on.best.traffic);
    if (!paced) best.cycles = std::min(best.cycles, on.best.cycles);
    if (!paced && rough.at[node(next)] >= best.energy) return;
    for (const Order& order : orders(stage, active)) relax(stage, next, trips, order, best);
  });
  best.energy = std::max(best.energy, rough.inside[node(tile)]);
  if (!best.possible()) best.cycles = 0;
  return best;
}

void Bounder::relax(int stage, const Tile& next, const Factors& trips, const Order& order, Tail& best) {
  ++looked_at;
  const Stage& into = plan_.stages[stage + 1];
  PerTensor rounds;
  for (int t = 0; t < space_.tensors; ++t) {
    rounds[t] = 0;  // not touched here: as cheap as one pass
    if (!(into.keeps >> t & 1U) || space_.windowed[t]) continue;
    double run = 1;
    bool touched = false;
    for (auto d = order.rbegin(); d != order.rend() && !touched; ++d) {
      touched = space_.uses[t] >> *d & 1U;
      if (!touched) run *= static_cast<double>(trips[*d]);
    }
    if (!touched) continue;
    rounds[t] = idle_of(t, next) / run;
  }
  const Entry& on = entry(stage + 1, next);
  PerTensor one;
  one.fill(1);
  double bytes = 0;
  const double least = cross_tail(stage, rounds, one, &bytes);
  if (const double rate = table_.bytes_per_cycle[plan_.stages[stage].level]; rate > 0)
    best.cycles = std::min(best.cycles, std::max(on.best.cycles, bytes / plan_.stages[stage].most_units / rate));
  if (least + on.best.energy >= best.energy) return;
  for (const int c : on.combos) {
    ++looked_at;
    Tile inside = next;
    if (!divide(stage + 1, c, inside)) continue;
    best.energy = std::min(best.energy, cross_tail(stage, rounds, into.repeats[c], nullptr) +
                                            feed_tail(stage + 1, c).energy + tail(stage + 1, inside).energy);
  }
}

/// Energy of the tensors that the next stage keeps; bytes that this stage gives or takes for them.
double Bounder::cross_tail(int stage, const PerTensor& rounds, const PerTensor& repeats, double* out_bytes) const {
  const Stage& into = plan_.stages[stage + 1];
  double energy = 0;
  for (int t = 0; t < space_.tensors; ++t) {
    if (!(into.keeps >> t & 1U)) continue;
    const int source = into.source[t];
    const double between = plan_.stages[stage].most_units / plan_.stages[source].most_units;
    double out = std::max(1.0, rounds[t] / between), in = std::max(1.0, rounds[t]) * repeats[t];
    if (is_output(t)) {
      out += std::max(0.0, out - plan_.stages[source].most_units);
      in = std::max(0.0, in - plan_.stages[stage].most_units * repeats[t]);
    }
    energy += space_.footprint[t] * (out * rate(source, t) + in * rate(stage + 1, t));
    if (out_bytes != nullptr && source == stage) *out_bytes += space_.footprint[t] * out * word(stage, t);
  }
  return energy;
}

/// What the multiply-adds cost more, or first, once the units of `stage` are known.
Bounder::Fed Bounder::make_feed(int stage, int combo) const {
  const Stage& here = plan_.stages[stage];
  Fed more;
  const auto add = [&](int source, int tensor, double elements) {
    more.energy += elements * rate(source, tensor);
    if (plan_.stages[source].level == 0) more.traffic += elements * word(source, tensor);
  };
  for (int t = 0; t < space_.tensors; ++t) {
    const int source = plan_.innermost[t];
    if (source > stage || (space_.windowed[t] && source < stage)) continue;
    const double inside =
        space_.windowed[t] ? plan_.stages.back().most_units / here.most_units : here.most_repeats_inside[t];
    const double footprint = space_.footprint[t];
    if (source == stage) {
      double fed = std::max(footprint, space_.macs / inside);
      const double outside = stage > 0 ? plan_.stages[stage - 1].most_units : 1;
      if (is_output(t)) fed += std::max(0.0, fed - footprint * outside * here.repeats[combo][t]);
      add(stage, t, fed);
      continue;
    }
    const Stage& before = plan_.stages[stage - 1];
    const double known = before.most_units / plan_.stages[source].most_units;
    const double now = std::max(footprint, space_.macs / known / (here.repeats[combo][t] * inside));
    const double then = std::max(footprint, space_.macs / known / before.most_repeats_inside[t]);
    add(source, t, std::max(0.0, now - then));
  }
  return more;
}

double Bounder::feed_cycles(int stage) const {
  const Stage& here = plan_.stages[stage];
  const double rate = table_.bytes_per_cycle[here.level];
  if (rate <= 0) return 0;
  double bytes = 0;
  for (int t = 0; t < space_.tensors; ++t) {
    if (plan_.innermost[t] != stage) continue;
    const double inside =
        space_.windowed[t] ? plan_.stages.back().most_units / here.most_units : here.most_repeats_inside[t];
    bytes += std::max(space_.footprint[t], space_.macs / inside) * word(stage, t);
  }
  return bytes / here.most_units / rate;
}

}  // namespace stepcast::dataflow::mapper
