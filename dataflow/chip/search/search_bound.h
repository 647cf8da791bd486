// What a mapping costs at least, when only its outer levels are chosen.
// Outermost first: at each stage (a level with loops in time) first the units that share out its tiles, then its loops.
// What crosses the boundaries outside is then known exactly, because a tile moves when a loop outside changes it:
//   moved over a boundary = elements x (rounds of loops outside that the tensor lacks, less the innermost idle run).
// What is further inside is bounded by a tail: the cheapest way on from a tile, whatever led to it, found once per
// tile.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "dataflow/chip/search/search_space.h"

namespace stepcast::dataflow::mapper {

using Tile = std::array<std::int16_t, most_chip_dims>;  ///< indices into the grids
using PerTensor = std::array<double, most_chip_tensors>;

/// By tile: the combos that divide it, and the tile that each leaves.
struct DivisionTable {
  struct Part {
    std::int32_t combo = 0;
    std::uint32_t inside = 0;
  };
  std::vector<std::uint32_t> first;  ///< by tile, one more than tiles
  std::vector<Part> parts;
};

/// A level with loops in time, under given keep lists.
struct Stage {
  int level = 0;
  TensorMask keeps = 0;
  TensorMask moving = 0;                                ///< kept at a stage further inside
  std::array<std::int8_t, most_chip_tensors> source{};  ///< stage outside that gives a kept tensor
  std::vector<SpaceCombo> combos;                       ///< of the levels since the stage before
  std::vector<PerTensor> repeats;                       ///< by combo: units that need the same part
  std::shared_ptr<const DivisionTable> whole;  ///< combos that divide a tile; none where that is too much to list
  double most_units = 1;                       ///< of all levels up to here
  PerTensor most_repeats_inside{};             ///< by tensor, of all stages inside
};

/// Keep lists for all levels, and what follows from them.
struct KeepPlan {
  std::array<TensorMask, most_chip_levels> keeps{};
  std::vector<Stage> stages;  ///< the last one has no loops in time: the units inside the innermost store
  std::array<std::int8_t, most_chip_tensors> innermost{};  ///< stage that feeds the multiply-adds
  std::array<std::int8_t, most_chip_tensors>
      first_inside{};            ///< first stage inside the outermost that keeps it, -1 = none
  std::vector<int> chain_stage;  ///< by chain of the score table: stage whose tiles it waits for, -1 = none
  [[nodiscard]] int last() const { return static_cast<int>(stages.size()) - 1; }
};

/// Combos are those of a row of levels, whatever is kept: made once for all plans.
class Planner {
 public:
  Planner(const Space& space, const ScoreTable& table) : space_(space), table_(table) {}
  KeepPlan plan(const std::array<TensorMask, most_chip_levels>& keeps);

 private:
  Stage stage(int first, int level, bool units_only);
  const Space& space_;
  const ScoreTable& table_;
  std::map<std::pair<int, int>, Stage> known_;
};

/// Costs so far. Elements are those of all instances.
struct Frontier {
  Tile tile{};
  double units = 1, rounds = 1, energy = 0, traffic = 0, skew = 0;
  PerTensor idle_rounds{}, run{}, repeats{}, macs_fed{};  ///< rounds of loops it lacks; of the innermost run of them
  std::uint32_t moved = 0;                                ///< dims with loops in time so far
  std::array<double, most_chip_levels + 1> bytes{}, instances{};  ///< by stage
  std::array<PerTensor, most_chip_levels + 1> repeats_at{};       ///< by stage
};

struct Tail {
  double energy = std::numeric_limits<double>::infinity(), cycles = 0, units = 0, traffic = 0;
  [[nodiscard]] bool possible() const { return units > 0; }
};

class Bounder {
 public:
  /// cycle_limit: what needs more is of no interest; it sharpens the tails. quick: tails are merged_energy() only.
  Bounder(const Space& space, const ScoreTable& table, const KeepPlan& plan, double cycle_limit, bool quick = false);

  [[nodiscard]] Frontier root() const;
  /// The units of a stage take their parts. False: the combo does not divide the tile, or it does not fit.
  bool arrive(Frontier& at, int stage, int combo) const;
  /// The loops of a stage, outer to inner.
  void depart(Frontier& at, const Tile& next, const Factors& trips, const Order& order) const;
  [[nodiscard]] ChipScore bound(const Frontier& at, int stage, const Tail& tail) const;
  /// Before the units of `stage` are chosen: with what any tile costs further inside, and with the best for this one.
  [[nodiscard]] ChipScore rough_bound(const Frontier& at, int stage) const {
    return bound(at, stage, rough_[stage + 1]);
  }
  [[nodiscard]] ChipScore rough_base(const Frontier& at, int stage) const;
  [[nodiscard]] ChipScore merged_base(const Frontier& at, int stage);
  [[nodiscard]] ChipScore base(const Frontier& at, int stage);

  /// Least energy from a tile on: exact but for what the loops outside leave in place.
  const Tail& tail(int stage, const Tile& tile);
  /// The same, cheaper: as if all loops outside a tile were one level, for the best tile inside this one.
  double merged_energy(int stage, const Tile& tile);
  /// Combos of a stage that fit a tile; `best` over them.
  struct Entry {
    std::vector<int> combos;
    Tail best;
    bool made = false;
  };
  const Entry& entry(int stage, const Tile& tile);
  const std::vector<Order>& orders(int stage, std::uint32_t active);
  /// Visits every tile that the loops of a stage can hand on from `from`: (tile, trips, dims with trips > 1).
  template <typename Visit> void each_tile(int stage, const Tile& from, const Visit& visit) const;

  /// Bytes more over the outermost boundary for tensors that only it keeps, once a combo is chosen.
  [[nodiscard]] double fed_outermost(const Frontier& at, int stage, int combo) const;
  [[nodiscard]] const KeepPlan& plan() const { return plan_; }
  [[nodiscard]] const Space& space() const { return space_; }
  std::int64_t looked_at = 0;  ///< steps that tails took
  bool limited = false;

 private:
  struct Moved {
    double out = 0, in = 0;
  };  ///< elements that the outer level gives, the inner ones take
  [[nodiscard]] double rate(int stage, int tensor) const {
    return table_.energy_pj[plan_.stages[stage].level * space_.tensors + tensor];
  }
  [[nodiscard]] double word(int stage, int tensor) const {
    return table_.word_bytes[plan_.stages[stage].level * space_.tensors + tensor];
  }
  [[nodiscard]] bool is_output(int tensor) const { return space_.chip.tensors[tensor].use == TensorUse::output; }
  [[nodiscard]] bool fits(int stage, const Tile& tile, std::uint32_t moved) const;
  [[nodiscard]] std::size_t node(const Tile& tile) const;
  [[nodiscard]] double awaited(const Frontier& at, int tensor) const;
  void cross(Frontier& at, int stage, int tensor) const;
  [[nodiscard]] double fed(const Frontier& at, int stage, int tensor, double units, double repeats) const;
  void feed(Frontier& at, int stage, int tensor) const;
  [[nodiscard]] Moved moved(const Frontier& at, int stage, int tensor) const;
  [[nodiscard]] double waited(const Frontier& at, int stage) const;
  Tail make_tail(int stage, const Tile& tile);
  Tail quick_tail(int stage, std::size_t node);
  Tail last_tail(int stage, const Tile& tile);
  struct Merged {
    std::vector<double> at, inside;
  };  ///< by tile handed on; least of all tiles inside
  const Merged& merged(int stage);
  double merged_at(int stage, const Tile& next);
  void relax(int stage, const Tile& next, const Factors& trips, const Order& order, Tail& best);
  [[nodiscard]] double idle_of(int tensor, const Tile& next) const;
  [[nodiscard]] double cross_tail(
      int stage, const PerTensor& rounds, const PerTensor& repeats, double* out_bytes) const;
  struct Fed {
    double energy = 0, traffic = 0;
  };
  [[nodiscard]] Fed feed_tail(int stage, int combo) const { return feeds_[stage][combo]; }
  [[nodiscard]] Fed make_feed(int stage, int combo) const;
  [[nodiscard]] bool divide(int stage, int combo, Tile& tile) const;
  template <typename Visit> void each_combo(int stage, const Tile& tile, const Visit& visit);
  [[nodiscard]] Tile tile_of(std::size_t node) const;
  const Tail& tail_at(int stage, std::size_t node);
  [[nodiscard]] double feed_cycles(int stage) const;
  [[nodiscard]] ChipScore base_with(const Frontier& at, int stage, const Tail& tail) const;
  [[nodiscard]] std::vector<Tail> rough_tails() const;

  const Space& space_;
  const ScoreTable& table_;
  const KeepPlan& plan_;
  double least_units_ = 0;
  bool quick_ = false, paced_ = false;  ///< some level has a bandwidth
  PerTensor real_{};                    ///< share of the rounds it lacks that run, where tiles are ragged
  double real_rounds_ = 1;
  std::vector<std::size_t> stride_;
  std::vector<Tail> rough_;  ///< by stage: its feeding and all further inside, for any tile
  std::vector<std::vector<Fed>> feeds_;
  std::vector<std::vector<Tail>> tails_;
  std::vector<std::vector<Entry>> entries_;
  std::vector<Merged> merged_;
  std::vector<std::map<std::uint32_t, std::vector<Order>>> orders_;
};

template <typename Visit> void Bounder::each_tile(int stage, const Tile& from, const Visit& visit) const {
  const int level = plan_.stages[stage].level;
  const bool free = plan_.keeps[level] != 0;
  Tile next = from;
  Factors trips;
  trips.fill(1);
  std::uint32_t active = 0;
  const auto grow = [&](const auto& self, int d) -> void {
    if (d == space_.dims) return visit(next, trips, active);
    const DimGrid& grid = space_.grids[d];
    const std::int64_t fixed = space_.fixed_time[level][d];
    for (int i = 0; i <= from[d]; ++i) {
      const int left = grid.over(from[d], i);
      if (left < 0 || (fixed > 0 && grid.divisor[i] != fixed) || (fixed == 0 && !free && i > 0)) continue;
      next[d] = static_cast<std::int16_t>(left);
      trips[d] = grid.divisor[i];
      const std::uint32_t before = active;
      if (trips[d] > 1) active |= 1U << d;
      self(self, d + 1);
      active = before;
    }
    next[d] = from[d];
    trips[d] = 1;
  };
  grow(grow, 0);
}

}  // namespace stepcast::dataflow::mapper
