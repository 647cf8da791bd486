#include "dataflow/chip/search/search_walk.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dataflow/chip/count/count.h"

namespace stepcast::dataflow::mapper {
namespace {

constexpr double equal_within = 1e-9;  // relative; rounding of sums over a few dozen terms stays far below

}  // namespace

Rank rank_of(const ChipScore& score, SearchObjective objective) {
  switch (objective) {
    case SearchObjective::time: return {score.cycles, score.energy_pj, score.traffic_bytes};
    case SearchObjective::energy: return {score.energy_pj, score.cycles, score.traffic_bytes};
    case SearchObjective::traffic: break;
  }
  return {score.traffic_bytes, score.cycles, score.energy_pj};
}

bool less(const Rank& a, const Rank& b) {
  for (int i = 0; i < 3; ++i) {
    if (a[i] == b[i]) continue;
    if (std::isfinite(a[i]) && std::isfinite(b[i]) && std::abs(a[i] - b[i]) <= equal_within * std::max(a[i], b[i]))
      continue;
    return a[i] < b[i];
  }
  return false;
}

bool Goal::hopeful(const Rank& bound, const Rank& best) const {
  for (int i = 0; i < phase; ++i)
    if (bound[i] > best[i] * (1 + equal_within)) return false;
  return bound[phase] < best[phase] * (1 - equal_within) || (bound[phase] < best[phase] && std::isinf(best[phase]));
}

Walker::Walker(Bounder& bounder, const ScoreTable& table, const Nest& shapes, Goal goal, Rank best, std::int64_t most)
    : bounder_(bounder), table_(table), goal_(goal), best_(best), most_(most), nest_(shapes) {
  for (int l = 0; l < bounder.space().levels; ++l) nest_.keeps[l] = static_cast<std::uint8_t>(bounder.plan().keeps[l]);
  last_order_.resize(bounder.space().dims);
}

std::vector<Walker::Child> Walker::children(const Frontier& at, int stage, const Rank& own) {
  std::vector<Child> open;
  const int next = stage + 1;
  bounder_.each_tile(stage, at.tile, [&](const Tile& tile, const Factors& trips, std::uint32_t active) {
    if (spent()) return;
    for (const Order& order : bounder_.orders(stage, active)) {
      ++tally.looked;
      Frontier outside = at;
      bounder_.depart(outside, tile, trips, order);
      if (!hopeful(bounder_.rough_base(outside, next)) || !hopeful(bounder_.merged_base(outside, next)) ||
          !hopeful(bounder_.base(outside, next))) {
        ++tally.pruned;
        continue;
      }
      ChipScore least = bounder_.base(outside, next);
      const double traffic = least.traffic_bytes - bounder_.entry(next, tile).best.traffic;
      for (const int combo : bounder_.entry(next, tile).combos) {
        ++tally.looked;
        least.traffic_bytes = traffic + bounder_.fed_outermost(outside, next, combo);
        if (!hopeful(least)) {
          ++tally.pruned;
          continue;
        }
        Frontier inside = outside;
        const Tail* tail = bounder_.arrive(inside, next, combo) ? &bounder_.tail(next, inside.tile) : nullptr;
        const Rank bound = tail != nullptr ? rank_of(bounder_.bound(inside, next, *tail), goal_.objective) : Rank{};
        if (tail == nullptr || !tail->possible() || !goal_.hopeful(bound, best_)) ++tally.pruned;
        else open.push_back({bound, tile, trips, &order, combo});
      }
    }
  });
  if (spent()) tally.open = std::min(tally.open, own[0]);
  std::stable_sort(open.begin(), open.end(),
      [&](const Child& a, const Child& b) { return a.bound[goal_.phase] < b.bound[goal_.phase]; });
  return open;
}

void Walker::follow(const Frontier& at, int stage, const Child& child) {
  if (!goal_.hopeful(child.bound, best_)) {
    ++tally.pruned;
    return;
  }
  if (spent()) {
    tally.open = std::min(tally.open, child.bound[0]);
    return;
  }
  trips_[stage] = child.trips;
  order_[stage] = child.order;
  combo_[stage + 1] = child.combo;
  Frontier inside = at;
  bounder_.depart(inside, child.tile, child.trips, *child.order);
  bounder_.arrive(inside, stage + 1, child.combo);
  walk(inside, stage + 1, child.bound);
}

void Walker::walk(const Frontier& at, int stage, const Rank& own) {
  if (stage + 1 == bounder_.plan().last()) return finish(at, stage);
  for (const Child& child : children(at, stage, own)) follow(at, stage, child);
}

/// The innermost store: its loops are what its units leave of the tile.
void Walker::finish(const Frontier& at, int stage) {
  const Space& space = bounder_.space();
  const Stage& units = bounder_.plan().stages[stage + 1];
  const int level = bounder_.plan().stages[stage].level;
  std::iota(last_order_.begin(), last_order_.end(), std::int8_t{0});
  const auto& stated = space.constraints.levels[level].time;
  const auto place = [&](int d) {  // stated loops first, as stated
    return std::find_if(stated.begin(), stated.end(), [&](const auto& loop) { return loop.dim == d; }) - stated.begin();
  };
  if (!stated.empty())
    std::stable_sort(last_order_.begin(), last_order_.end(), [&](int a, int b) { return place(a) < place(b); });
  order_[stage] = &last_order_;
  for (int c = 0; c < static_cast<int>(units.combos.size()); ++c) {
    Frontier whole = at;
    bool legal = bounder_.arrive(whole, stage + 1, c);
    for (int d = 0; legal && d < space.dims; ++d) {
      const std::int64_t trips = space.grids[d].divisor[whole.tile[d]], fixed = space.fixed_time[level][d];
      legal = fixed > 0 ? trips == fixed : trips == 1 || bounder_.plan().keeps[level] != 0;
      trips_[stage][d] = trips;
    }
    const ChipScore least = legal ? bounder_.bound(whole, stage + 1, Tail{0, 0, 1, 0}) : ChipScore{};
    if (!legal || !hopeful(least)) {
      ++tally.pruned;
      continue;
    }
    combo_[stage + 1] = c;
    evaluate(stage, objective_of(least, goal_.objective));
  }
}

void Walker::add_space(int stage) {
  const Space& space = bounder_.space();
  const auto& stages = bounder_.plan().stages;
  const int first = stage > 0 ? stages[stage - 1].level + 1 : 0;
  const std::vector<int>& choices = stages[stage].combos[combo_[stage]].choices;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const int level = first + static_cast<int>(i);
    for (const ChipLoop& loop : space.space[level][choices[i]].loops)
      nest_.loop[nest_.loops++] = {
          static_cast<std::int8_t>(loop.dim), static_cast<std::int8_t>(level), true, loop.trips};
  }
}

void Walker::add_time(int stage) {
  const auto level = static_cast<std::int8_t>(bounder_.plan().stages[stage].level);
  for (const std::int8_t d : *order_[stage])
    if (trips_[stage][d] > 1) nest_.loop[nest_.loops++] = {d, level, false, trips_[stage][d]};
}

void Walker::evaluate(int stage, double bound) {
  tally.leaf = std::min(tally.leaf, bound);
  nest_.loops = 0;
  for (int i = 0; i <= stage; ++i) add_space(i), add_time(i);
  add_space(stage + 1);
  ++tally.evaluated;
  ++tally.looked;
  count(nest_, counts_);
  const ChipScore score = dataflow::score(nest_, counts_, table_);
  const Rank rank = rank_of(score, goal_.objective);
  if (!less(rank, best_)) return;
  best_ = rank;
  found.rank = rank;
  found.score = score;
  found.mapping = mapping();
}

Mapping Walker::mapping() const {
  const Space& space = bounder_.space();
  const KeepPlan& plan = bounder_.plan();
  Mapping whole;
  whole.keeps = plan.keeps;
  for (int l = 0; l < space.levels; ++l) {
    whole.time[l].fill(1);
    std::iota(whole.order[l].begin(), whole.order[l].end(), std::int8_t{0});
  }
  for (int i = 0; i <= plan.last(); ++i) {
    const int first = i > 0 ? plan.stages[i - 1].level + 1 : 0;
    const std::vector<int>& choices = plan.stages[i].combos[combo_[i]].choices;
    for (std::size_t c = 0; c < choices.size(); ++c) whole.space[first + c] = space.space[first + c][choices[c]].loops;
    if (i == plan.last()) break;
    const int level = plan.stages[i].level;
    auto& order = whole.order[level];
    std::stable_sort(order.begin(), order.begin() + space.dims, [&](std::int8_t a, std::int8_t b) {
      const auto place = [&](std::int8_t d) {
        return std::find(order_[i]->begin(), order_[i]->end(), d) - order_[i]->begin();
      };
      return place(a) < place(b);
    });
    for (const std::int8_t d : *order_[i]) whole.time[level][d] = trips_[i][d];
  }
  return whole;
}

}  // namespace stepcast::dataflow::mapper
