#include "dataflow/chip/search/search_anneal.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

#include "dataflow/chip/count/count.h"
#include "model/base/contains.h"

namespace stepcast::dataflow::mapper {
namespace {

constexpr double first_heat = 0.3, final_heat = 0.003;  // in logarithms of the objective
constexpr double tie_weight = 0.02;                     // of what only breaks ties

struct Point {
  std::array<TensorMask, most_chip_levels> keeps{};
  std::array<Factors, most_chip_levels> time{};
  std::array<std::array<std::int8_t, most_chip_dims>, most_chip_levels> order{};
  std::array<int, most_chip_levels> space{};
};

class Chain {
 public:
  Chain(const Space& space, const ScoreTable& table, const SearchOptions& options, const Nest& shapes, int number)
      : space_(space), table_(table), objective_(options.objective), nest_(shapes),
        random_(options.seed * 1'000'003 + number) {}

  void run(std::int64_t steps) {
    Point here;
    double cost = 0;
    if (!begin(here) || !rate(here, cost)) return;
    for (std::int64_t i = 0; i < steps; ++i) {
      const double heat =
          first_heat * std::pow(final_heat / first_heat, static_cast<double>(i) / static_cast<double>(steps));
      Point next = here;
      double next_cost = 0;
      ++tally.looked;
      if (!change(next) || !rate(next, next_cost)) continue;
      if (next_cost > cost && std::exp((cost - next_cost) / heat) < chance()) continue;
      here = next;
      cost = next_cost;
    }
  }

  Found found;
  Tally tally;

 private:
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  double chance() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  [[nodiscard]] bool free(const Point& at, int level, int dim) const {
    return space_.fixed_time[level][dim] == 0 && at.keeps[level] != 0;
  }

  /// Everything at the outermost level, whatever the space allows of it.
  bool begin(Point& at) {
    for (int l = 0; l < space_.levels; ++l) {
      if (space_.space[l].empty()) return false;
      at.keeps[l] = space_.masks[l].front();
      at.time[l].fill(1);
      for (int d = 0; d < space_.dims; ++d)
        if (space_.fixed_time[l][d] > 0) at.time[l][d] = space_.fixed_time[l][d];
      Order order;
      for (const auto& loop : space_.constraints.levels[l].time) order.push_back(static_cast<std::int8_t>(loop.dim));
      for (int d = 0; d < space_.dims; ++d)
        if (!contains(order, d)) order.push_back(static_cast<std::int8_t>(d));
      std::copy(order.begin(), order.end(), at.order[l].begin());
    }
    if (settle(at, false)) return true;
    for (int tries = 0; tries < 1000; ++tries) {  // stated factors may leave no room for the first choice of units
      for (int l = 0; l < space_.levels; ++l)
        at.space[l] = static_cast<int>(below(static_cast<std::int64_t>(space_.space[l].size())));
      if (settle(at, false)) return true;
    }
    return false;
  }

  /// Factors in time that multiply with those in space to the extents: the nearest to what there is, the rest anywhere.
  bool settle(Point& at, bool anywhere) {
    for (int d = 0; d < space_.dims; ++d) {
      std::int64_t rest = space_.grids[d].padded;
      for (int l = 0; l < space_.levels; ++l) {
        const std::int64_t taken =
            space_.space[l][at.space[l]].factor[d] * std::max<std::int64_t>(1, space_.fixed_time[l][d]);
        if (rest % taken != 0) return false;
        rest /= taken;
      }
      std::array<int, most_chip_levels> levels{};
      int count = 0;
      for (int l = space_.levels - 1; l >= 0; --l) {
        if (space_.fixed_time[l][d] > 0) continue;
        if (!free(at, l, d)) {
          at.time[l][d] = 1;
          continue;
        }
        at.time[l][d] = std::gcd(at.time[l][d], rest);
        rest /= at.time[l][d];
        levels[count++] = l;
      }
      if (rest == 1) continue;
      if (count == 0) return false;
      at.time[levels[anywhere ? below(count) : count - 1]][d] *= rest;
    }
    return true;
  }

  bool change(Point& at) {
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
      case 3: return move_factor(at);
      case 4:
      case 5: return move_units(at);
      case 6: return swap_loops(at);
      default: return change_keeps(at);
    }
  }

  bool move_factor(Point& at) {
    const int d = static_cast<int>(below(space_.dims)), from = static_cast<int>(below(space_.levels)),
              to = static_cast<int>(below(space_.levels));
    if (from == to || !free(at, from, d) || !free(at, to, d) || at.time[from][d] == 1) return false;
    const DimGrid& grid = space_.grids[d];
    const std::int64_t factor = grid.divisor[1 + below(grid.size() - 1)];
    if (at.time[from][d] % factor != 0) return false;
    at.time[from][d] /= factor;
    at.time[to][d] *= factor;
    return true;
  }

  bool move_units(Point& at) {
    const int l = static_cast<int>(below(space_.levels));
    if (space_.space[l].size() < 2) return false;
    at.space[l] = static_cast<int>(below(static_cast<std::int64_t>(space_.space[l].size())));
    return settle(at, true);
  }

  bool swap_loops(Point& at) {
    const int l = static_cast<int>(below(space_.levels)), a = static_cast<int>(below(space_.dims)),
              b = static_cast<int>(below(space_.dims));
    if (a == b || at.keeps[l] == 0) return false;
    std::swap(at.order[l][a], at.order[l][b]);
    const auto& stated = space_.constraints.levels[l].time;
    const auto place = [&](int d) { return std::find(at.order[l].begin(), at.order[l].end(), d); };
    for (std::size_t i = 1; i < stated.size(); ++i)
      if (place(stated[i - 1].dim) > place(stated[i].dim)) return false;
    return true;
  }

  bool change_keeps(Point& at) {
    const int l = static_cast<int>(below(space_.levels));
    if (space_.masks[l].size() < 2) return false;
    at.keeps[l] = space_.masks[l][below(static_cast<std::int64_t>(space_.masks[l].size()))];
    return settle(at, true);
  }

  [[nodiscard]] bool fits(const Point& at) const {
    Factors tile;
    tile.fill(1);
    for (int l = space_.levels - 1; l >= 0; --l) {
      for (int d = 0; d < space_.dims; ++d) tile[d] *= at.time[l][d];
      const ChipLevel& level = space_.chip.levels[l];
      if (level.capacity_bytes > 0 && used(at, l, tile) > level.capacity_bytes) return false;
      const Factors& units = space_.space[l][at.space[l]].factor;
      for (int d = 0; d < space_.dims; ++d) tile[d] *= units[d];
    }
    return true;
  }

  [[nodiscard]] double used(const Point& at, int level, Factors tile) const {
    std::uint32_t moved = 0;
    for (int d = 0; d < space_.dims; ++d) {
      tile[d] = std::min(tile[d], space_.grids[d].extent);
      for (int l = 0; l < level; ++l)
        if (at.time[l][d] > 1) moved |= 1U << d;
    }
    double bytes = 0;
    for (int t = 0; t < space_.tensors; ++t) {
      if (!(at.keeps[level] >> t & 1U)) continue;
      const int buffers = (moved & space_.uses[t]) != 0 ? space_.chip.levels[level].buffers : 1;
      bytes += tile_size(space_.chip.tensors[t], tile) * table_.word_bytes[level * space_.tensors + t] * buffers;
    }
    return bytes;
  }

  bool rate(const Point& at, double& cost) {
    if (!fits(at)) {
      ++tally.pruned;
      return false;
    }
    nest_.loops = 0;
    for (int l = 0; l < space_.levels; ++l) {
      nest_.keeps[l] = static_cast<std::uint8_t>(at.keeps[l]);
      for (const ChipLoop& loop : space_.space[l][at.space[l]].loops) add(loop.dim, l, true, loop.trips);
      for (int i = 0; i < space_.dims; ++i)
        if (const int d = at.order[l][i]; at.time[l][d] > 1) add(d, l, false, at.time[l][d]);
    }
    ++tally.evaluated;
    count(nest_, counts_);
    const ChipScore score = dataflow::score(nest_, counts_, table_);
    const Rank rank = rank_of(score, objective_);
    cost = std::log(rank[0] + 1) + tie_weight * (std::log(rank[1] + 1) + std::log(rank[2] + 1));
    if (less(rank, found.rank)) keep(at, score, rank);
    return true;
  }

  void add(int dim, int level, bool in_space, std::int64_t trips) {
    nest_.loop[nest_.loops++] = {static_cast<std::int8_t>(dim), static_cast<std::int8_t>(level), in_space, trips};
  }

  void keep(const Point& at, const ChipScore& score, const Rank& rank) {
    found.rank = rank;
    found.score = score;
    found.mapping.keeps = at.keeps;
    found.mapping.time = at.time;
    found.mapping.order = at.order;
    for (int l = 0; l < space_.levels; ++l) found.mapping.space[l] = space_.space[l][at.space[l]].loops;
  }

  const Space& space_;
  const ScoreTable& table_;
  SearchObjective objective_;
  Nest nest_;
  Counts counts_;
  std::mt19937_64 random_;
};

}  // namespace

Tally anneal(const Space& space, const ScoreTable& table, const SearchOptions& options, const Nest& shapes, int chains,
    std::int64_t steps, Found& found) {
  std::vector<Chain> all;
  for (int i = 0; i < chains; ++i) all.emplace_back(space, table, options, shapes, i);
  std::atomic<int> next{0};
  const auto serve = [&] {
    for (int i = next++; i < chains; i = next++) all[i].run(steps);
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < std::min(options.threads, chains); ++i) helpers.emplace_back(serve);
  serve();
  for (std::thread& helper : helpers) helper.join();
  Tally tally;
  for (const Chain& chain : all) {
    tally.looked += chain.tally.looked;
    tally.evaluated += chain.tally.evaluated;
    tally.pruned += chain.tally.pruned;
    if (chain.found.any() && less(chain.found.rank, found.rank)) found = chain.found;
  }
  return tally;
}

}  // namespace stepcast::dataflow::mapper
