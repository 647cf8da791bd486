#include "tests/dataflow/chip/brute_force.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace stepcast::dataflow::brute {
namespace {

using Numbers = std::vector<std::int64_t>;

struct FlatLoop {
  int level;
  bool space;
  int dim;
  std::int64_t trips;
};

/// One multiply-add: where each loop stands, and the loop indices of the operator.
struct Point {
  Numbers digits;
  Numbers index;
};

std::vector<FlatLoop> flat_loops(const ChipProgram& chip) {
  std::vector<FlatLoop> loops;
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    for (const ChipLoop& loop : chip.levels[l].space)
      loops.push_back({static_cast<int>(l), true, loop.dim, loop.trips});
    for (const ChipLoop& loop : chip.levels[l].time)
      loops.push_back({static_cast<int>(l), false, loop.dim, loop.trips});
  }
  return loops;
}

/// All points in nest order: the loops as written, a point runs if every index is inside its extent.
std::vector<Point> all_points(const ChipProgram& chip, const std::vector<FlatLoop>& loops) {
  std::vector<Point> points;
  Point point{Numbers(loops.size(), 0), Numbers(chip.dims.size(), 0)};
  while (true) {
    std::fill(point.index.begin(), point.index.end(), 0);
    for (std::size_t i = 0; i < loops.size(); ++i) {
      std::int64_t& index = point.index[loops[i].dim];
      index = index * loops[i].trips + point.digits[i];
    }
    bool runs = true;
    for (std::size_t d = 0; d < chip.dims.size(); ++d) runs &= point.index[d] < chip.dims[d].extent;
    if (runs) points.push_back(point);
    std::size_t i = loops.size();
    while (i > 0 && ++point.digits[i - 1] == loops[i - 1].trips) point.digits[--i] = 0;
    if (i == 0) return points;
  }
}

Numbers element_of(const ChipTensor& tensor, const Point& point) {
  Numbers element;
  for (const ChipIndex& index : tensor.indices) {
    std::int64_t value = 0;
    for (const ChipIndex::Term& term : index.terms) value += term.step * point.index[term.dim];
    element.push_back(value);
  }
  return element;
}

/// Which unit of `level` this is.
Numbers unit_of(const std::vector<FlatLoop>& loops, const Point& point, int level) {
  Numbers unit;
  for (std::size_t i = 0; i < loops.size(); ++i)
    if (loops[i].space && loops[i].level <= level) unit.push_back(point.digits[i]);
  return unit;
}

/// The round of all loops in time outside `level`.
Numbers round_of(const std::vector<FlatLoop>& loops, const Point& point, int level) {
  Numbers round;
  for (std::size_t i = 0; i < loops.size(); ++i)
    if (!loops[i].space && loops[i].level < level) round.push_back(point.digits[i]);
  return round;
}

using Elements = std::set<Numbers>;

class Run {
 public:
  explicit Run(const ChipProgram& chip) : chip_(chip), loops_(flat_loops(chip)), points_(all_points(chip, loops_)) {}

  Counts counts() {
    const int levels = static_cast<int>(chip_.levels.size());
    counts_.macs = static_cast<std::int64_t>(points_.size());
    for (int l = 0; l < levels; ++l) counts_.instances[l] = count_units(l);
    counts_.units = count_units(levels);
    std::map<Numbers, std::set<Numbers>> rounds;
    for (const Point& point : points_) rounds[unit_of(loops_, point, levels)].insert(round_of(loops_, point, levels));
    for (const auto& [unit, of_unit] : rounds)
      counts_.steps = std::max(counts_.steps, static_cast<std::int64_t>(of_unit.size()));
    for (std::size_t t = 0; t < chip_.tensors.size(); ++t) count_tensor(static_cast<int>(t));
    return counts_;
  }

 private:
  std::int64_t count_units(int level) const {
    std::set<Numbers> units;
    for (const Point& point : points_) units.insert(unit_of(loops_, point, level));
    return static_cast<std::int64_t>(units.size());
  }

  void count_tensor(int t) {
    const int levels = static_cast<int>(chip_.levels.size());
    int outer = -1;
    for (int l = 0; l <= levels; ++l) {
      if (l < levels && !chip_.levels[l].keeps[t]) continue;
      if (outer >= 0) pass(t, outer, l);
      outer = l;
    }
  }

  /// Everything between `outer` and `inner` (levels: the multiply-adds), round by round.
  void pass(int t, int outer, int inner) {
    const int levels = static_cast<int>(chip_.levels.size());
    const int last = std::min(inner, levels - 1);
    std::map<Numbers, std::map<Numbers, Elements>> rounds;  // round, unit of inner: its tile
    for (const Point& point : points_)
      rounds[round_of(loops_, point, inner)][unit_of(loops_, point, inner)].insert(element_of(chip_.tensors[t], point));
    std::map<Numbers, Elements> holds, held;       // unit of inner: its tile now; ever
    std::map<Numbers, Elements> written;           // unit of outer: outputs that were here before
    std::vector<std::int64_t> crossed(levels, 0);  // by level
    std::int64_t copies = 0, again = 0, rewritten = 0, tile = 0;
    for (const auto& [round, units] : rounds) {
      std::vector<std::map<Numbers, Elements>> together(levels);  // by level, unit there: what goes through it
      for (const auto& [unit, elements] : units) {
        tile = std::max(tile, static_cast<std::int64_t>(elements.size()));
        for (const Numbers& element : elements) {
          if (inner < levels && holds[unit].contains(element)) continue;
          ++copies;
          if (!held[unit].insert(element).second) ++again;
          for (int j = outer; j <= last; ++j) together[j][outward(unit, j)].insert(element);
        }
        holds[unit] = elements;
      }
      for (int j = outer; j <= last; ++j)
        for (const auto& [unit, elements] : together[j]) crossed[j] += static_cast<std::int64_t>(elements.size());
      for (const auto& [unit, elements] : together[outer])
        for (const Numbers& element : elements)
          if (!written[unit].insert(element).second) ++rewritten;
    }
    book(t, outer, inner, crossed, copies, again, rewritten, tile);
  }

  /// The unit of `level` that a unit further in belongs to: units list their loops outer to inner.
  Numbers outward(const Numbers& unit, int level) const {
    std::size_t length = 0;
    for (const FlatLoop& loop : loops_) length += loop.space && loop.level <= level ? 1 : 0;
    return Numbers(unit.begin(), unit.begin() + static_cast<std::ptrdiff_t>(std::min(length, unit.size())));
  }

  void book(int t, int outer, int inner, const std::vector<std::int64_t>& crossed, std::int64_t copies,
      std::int64_t again, std::int64_t rewritten, std::int64_t tile) {
    const int levels = static_cast<int>(chip_.levels.size());
    const auto average = [&](std::int64_t all, int level) {
      return static_cast<double>(all) / static_cast<double>(counts_.instances[level]);
    };
    const int last = std::min(inner, levels - 1);
    for (int j = outer; j <= last; ++j) {
      counts_.at[j][t].sent = static_cast<double>(crossed[j]);
      counts_.at[j][t].sent_apart = static_cast<double>(crossed[std::min(j + 1, last)]);
    }
    TensorCount& at = counts_.at[outer][t];
    const bool output = chip_.tensors[t].use == TensorUse::output;
    if (output) {
      at.updates = average(crossed[outer], outer);
      at.reads = at.reductions = average(rewritten, outer);
    } else {
      at.reads = average(crossed[outer], outer);
    }
    if (outer == 0 || at.tile == 0) at.tile = whole_tile(t, outer);
    if (inner == levels) return;
    TensorCount& below = counts_.at[inner][t];
    below.tile = tile;
    below.fills = average(output ? again : copies, inner);
    if (output) below.refills = below.fills;
  }

  std::int64_t whole_tile(int t, int level) const {
    std::map<std::pair<Numbers, Numbers>, Elements> tiles;
    for (const Point& point : points_)
      tiles[{round_of(loops_, point, level), unit_of(loops_, point, level)}].insert(
          element_of(chip_.tensors[t], point));
    std::size_t most = 0;
    for (const auto& [at, elements] : tiles) most = std::max(most, elements.size());
    return static_cast<std::int64_t>(most);
  }

  const ChipProgram& chip_;
  std::vector<FlatLoop> loops_;
  std::vector<Point> points_;
  Counts counts_;
};

}  // namespace

Counts run_literally(const ChipProgram& chip) { return Run(chip).counts(); }

}  // namespace stepcast::dataflow::brute
