#include "dataflow/chip/search/search_space.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stepcast::dataflow::mapper {
namespace {

constexpr std::size_t most_choices = 200'000;  // ways to lay dims on the axes of one level

double distinct(const ChipIndex& index, const Factors& tile) {
  if (index.terms.size() == 1) return static_cast<double>(tile[index.terms[0].dim]);
  std::int64_t divisor = 0;
  double window = 1, points = 1;
  for (const ChipIndex::Term& term : index.terms) divisor = std::gcd(divisor, term.step);
  for (const ChipIndex::Term& term : index.terms) {
    window += static_cast<double>(term.step / divisor) * static_cast<double>(tile[term.dim] - 1);
    points *= static_cast<double>(tile[term.dim]);
  }
  if (index.terms.size() != 2) return std::min(window, points);
  // a*i + b*j with coprime steps takes a value again where i is b less and j is a more.
  const double n = static_cast<double>(tile[index.terms[0].dim]), m = static_cast<double>(tile[index.terms[1].dim]);
  const double a = static_cast<double>(index.terms[0].step / divisor),
               b = static_cast<double>(index.terms[1].step / divisor);
  return n * m - std::max(0.0, n - b) * std::max(0.0, m - a);
}

using AxisChoice = std::vector<ChipLoop>;

/// All ways to put dims on one axis, within its units and what is stated for it.
class AxisChoices {
 public:
  AxisChoices(const Space& space, int level, int axis)
      : space_(space), axis_(axis), units_(space.chip.levels[level].axes[axis].units) {
    fixed_.fill(0);
    for (const SearchConstraints::Loop& loop : space.constraints.levels[level].space) {
      if (loop.axis != axis) continue;
      stated_ |= 1U << loop.dim;
      fixed_[loop.dim] = loop.trips;
      only_stated_ = only_stated_ || loop.trips == 0;
    }
    grow(0, 1);
  }
  std::vector<AxisChoice> take() { return std::move(choices_); }

 private:
  void grow(int dim, std::int64_t used) {
    if (dim == space_.dims) {
      choices_.push_back(loops_);
      return;
    }
    const bool stated = stated_ >> dim & 1U;
    for (const std::int64_t factor : space_.grids[dim].divisor) {
      if (factor > units_ / used) break;
      if (fixed_[dim] > 0 && factor != fixed_[dim]) continue;
      if (!stated && only_stated_ && factor > 1) break;
      if (factor > 1) loops_.push_back({dim, factor, axis_, space_.grids[dim].padded > space_.grids[dim].extent, {}});
      grow(dim + 1, used * factor);
      if (factor > 1) loops_.pop_back();
    }
  }

  const Space& space_;
  int axis_;
  std::int64_t units_;
  std::uint32_t stated_ = 0;
  bool only_stated_ = false;
  Factors fixed_{};
  AxisChoice loops_;
  std::vector<AxisChoice> choices_;
};

/// One choice for each product of factors: which axis carries which dim changes no count.
std::vector<SpaceChoice> level_choices(const Space& space, int level, bool& limited) {
  std::map<Factors, AxisChoice> found;
  Factors one;
  one.fill(1);
  found.emplace(one, AxisChoice{});
  for (std::size_t axis = 0; axis < space.chip.levels[level].axes.size(); ++axis) {
    std::map<Factors, AxisChoice> next;
    for (const AxisChoice& choice : AxisChoices(space, level, static_cast<int>(axis)).take())
      for (const auto& [factor, loops] : found) {
        if (next.size() >= most_choices) {
          limited = true;
          break;
        }
        Factors product = factor;
        AxisChoice joined = loops;
        bool whole = true;
        for (const ChipLoop& loop : choice) {
          product[loop.dim] *= loop.trips;
          whole = whole && space.grids[loop.dim].index_of(product[loop.dim]) >= 0;
        }
        joined.insert(joined.end(), choice.begin(), choice.end());
        if (!whole) continue;
        const auto [at, added] = next.try_emplace(product, joined);
        if (!added && joined.size() < at->second.size()) at->second = joined;
      }
    found = std::move(next);
  }
  std::vector<SpaceChoice> choices;
  for (auto& [factor, loops] : found) choices.push_back({factor, std::move(loops)});
  return choices;
}

std::vector<TensorMask> masks_of(const Space& space, int level) {
  const ChipLevel& at = space.chip.levels[level];
  TensorMask stated = 0;
  for (int t = 0; t < space.tensors; ++t) stated |= at.keeps[t] ? 1U << t : 0U;
  if (!at.store || level == space.outermost || space.constraints.levels[level].keeps) return {stated};
  std::vector<TensorMask> all;
  for (TensorMask mask = 1U << space.tensors; mask-- > 0;) all.push_back(mask);
  return all;
}

double choose(double n, double k) {
  double ways = 1;
  for (double i = 1; i <= k; ++i) ways = ways * (n - k + i) / i;
  return ways;
}

}  // namespace

int DimGrid::index_of(std::int64_t value) const {
  const auto found = std::lower_bound(divisor.begin(), divisor.end(), value);
  return found != divisor.end() && *found == value ? static_cast<int>(found - divisor.begin()) : -1;
}

DimGrid grid_of(std::int64_t extent, std::int64_t padded) {
  DimGrid grid{extent, padded, {}, {}};
  for (std::int64_t d = 1; d <= padded / d; ++d) {
    if (padded % d != 0) continue;
    grid.divisor.push_back(d);
    if (d != padded / d) grid.divisor.push_back(padded / d);
  }
  std::sort(grid.divisor.begin(), grid.divisor.end());
  grid.quotient.assign(static_cast<std::size_t>(grid.size()) * grid.size(), -1);
  for (int a = 0; a < grid.size(); ++a)
    for (int b = 0; b <= a; ++b)
      if (grid.divisor[a] % grid.divisor[b] == 0)
        grid.quotient[a * grid.size() + b] =
            static_cast<std::int16_t>(grid.index_of(grid.divisor[a] / grid.divisor[b]));
  return grid;
}

double tile_size(const ChipTensor& tensor, const Factors& tile) {
  double elements = 1;
  for (const ChipIndex& index : tensor.indices)
    if (!index.terms.empty()) elements *= distinct(index, tile);
  return elements;
}

double Space::lattice() const {
  double tiles = 1;
  for (const DimGrid& grid : grids) tiles *= grid.size();
  return tiles;
}

double Space::size() const {
  double all = 1;
  int long_dims = 0;
  for (int d = 0; d < dims; ++d) {
    double slots = 0;
    std::int64_t left = grids[d].padded;
    for (int l = 0; l < levels; ++l) {
      slots += static_cast<double>(chip.levels[l].axes.size());
      if (fixed_time[l][d] > 0) left /= fixed_time[l][d];
      else if (chip.levels[l].store) ++slots;
      for (const SearchConstraints::Loop& loop : constraints.levels[l].space)
        if (loop.dim == d && loop.trips > 0) left /= loop.trips, --slots;
    }
    for (std::int64_t p = 2; left > 1 && slots > 0; ++p) {
      if (p > left / p) p = left;
      double power = 0;
      for (; left % p == 0; left /= p) ++power;
      if (power > 0) all *= choose(power + slots - 1, slots - 1);
    }
    long_dims += grids[d].padded > 1 ? 1 : 0;
  }
  for (int l = 0; l < levels; ++l) {
    all *= static_cast<double>(masks[l].size());
    if (chip.levels[l].store)
      all *= std::tgamma(long_dims + 1) / std::tgamma(static_cast<double>(constraints.levels[l].time.size()) + 1);
  }
  return all;
}

Expected<Space> space_of(
    const ChipProgram& start, const SearchConstraints& constraints, const std::vector<std::int64_t>& padded) {
  Space space;
  space.chip = start;
  space.constraints = constraints;
  space.dims = static_cast<int>(start.dims.size());
  space.tensors = static_cast<int>(start.tensors.size());
  space.levels = static_cast<int>(start.levels.size());
  space.constraints.levels.resize(space.levels);
  while (space.outermost < space.levels && !start.levels[space.outermost].store) ++space.outermost;
  Factors whole;
  whole.fill(1);
  for (int d = 0; d < space.dims; ++d) {
    whole[d] = start.dims[d].extent;
    space.grids.push_back(grid_of(whole[d], padded[d] > 0 ? padded[d] : whole[d]));
    space.macs *= static_cast<double>(whole[d]);
  }
  for (const ChipTensor& tensor : start.tensors) {
    std::uint32_t uses = 0;
    bool windowed = false;
    for (const ChipIndex& index : tensor.indices) {
      windowed = windowed || index.terms.size() > 1;
      for (const ChipIndex::Term& term : index.terms) uses |= 1U << term.dim;
    }
    space.uses.push_back(uses);
    space.windowed.push_back(windowed);
    space.footprint.push_back(tile_size(tensor, whole));
  }
  for (int l = 0; l < space.levels; ++l) {
    space.chip.levels[l].space.clear();
    space.chip.levels[l].time.clear();
    space.fixed_time.emplace_back();
    space.fixed_time.back().fill(0);
    for (const SearchConstraints::Loop& loop : space.constraints.levels[l].time)
      space.fixed_time[l][loop.dim] = loop.trips;
    space.masks.push_back(masks_of(space, l));
  }
  for (int l = 0; l < space.levels; ++l) space.space.push_back(level_choices(space, l, space.limited));
  return space;
}

std::vector<SpaceCombo> combos_of(const Space& space, int first, int last) {
  Factors one;
  one.fill(1);
  std::vector<std::pair<Factors, std::vector<int>>> rows{{one, {}}};
  for (int l = first; l <= last; ++l) {
    std::vector<std::pair<Factors, std::vector<int>>> next;
    for (const auto& [factor, choices] : rows)
      for (int c = 0; c < static_cast<int>(space.space[l].size()); ++c) {
        Factors product = factor;
        bool whole = true;
        for (int d = 0; d < space.dims; ++d) {
          product[d] *= space.space[l][c].factor[d];
          whole = whole && space.grids[d].index_of(product[d]) >= 0;
        }
        if (!whole) continue;
        next.emplace_back(product, choices);
        next.back().second.push_back(c);
      }
    rows = std::move(next);
  }
  std::vector<SpaceCombo> combos;
  for (auto& [factor, choices] : rows) {
    SpaceCombo combo{{}, std::move(choices), 1};
    for (int d = 0; d < space.dims; ++d) {
      if (factor[d] == 1) continue;
      combo.parts.push_back({d, space.grids[d].index_of(factor[d]), factor[d]});
      combo.units *= static_cast<double>(factor[d]);
    }
    combos.push_back(std::move(combo));
  }
  return combos;
}

}  // namespace stepcast::dataflow::mapper
