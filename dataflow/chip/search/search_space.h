// The space that the mapper walks: for every dim the lattice of its divisors, for every level what its units may share
// out, which loop orders differ, which tensors may be kept.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "dataflow/chip/search/search_problem.h"

namespace stepcast::dataflow::mapper {

using Factors = std::array<std::int64_t, most_chip_dims>;
using TensorMask = std::uint32_t;

/// Divisors of one dim. A tile is a divisor per dim, named by its index here.
struct DimGrid {
  std::int64_t extent = 1, padded = 1;  ///< padded > extent: tiles are ragged
  std::vector<std::int64_t> divisor;    ///< of padded, ascending
  std::vector<std::int16_t> quotient;   ///< [a * size + b]: index of divisor a / divisor b, -1 where not whole
  [[nodiscard]] int size() const { return static_cast<int>(divisor.size()); }
  [[nodiscard]] int over(int a, int b) const { return quotient[a * size() + b]; }
  [[nodiscard]] int index_of(std::int64_t value) const;  ///< -1: not a divisor
};
DimGrid grid_of(std::int64_t extent, std::int64_t padded);

/// One way to lay dims on the axes of one level.
struct SpaceChoice {
  Factors factor;  ///< by dim, over all axes
  std::vector<ChipLoop> loops;
};

/// Space choices of several levels in a row, those between two levels with loops in time.
struct SpaceCombo {
  struct Part {
    int dim, index;
    std::int64_t factor;
  };  ///< dims that are split; index of the factor in the dim's grid
  std::vector<Part> parts;
  std::vector<int> choices;  ///< by level of the row
  double units = 1;
};

/// A whole mapping. What is not whole tiles is told by the grids.
struct Mapping {
  std::array<TensorMask, most_chip_levels> keeps{};
  std::array<Factors, most_chip_levels> time{};                                   ///< trips
  std::array<std::array<std::int8_t, most_chip_dims>, most_chip_levels> order{};  ///< all dims, outer to inner
  std::array<std::vector<ChipLoop>, most_chip_levels> space;
};

struct Space {
  ChipProgram chip;  ///< without loops
  SearchConstraints constraints;
  int dims = 0, tensors = 0, levels = 0, outermost = 0;  ///< outermost: first level that stores
  std::vector<DimGrid> grids;
  std::vector<std::vector<SpaceChoice>> space;  ///< by level
  std::vector<std::vector<TensorMask>> masks;   ///< by level: keep lists to try
  std::vector<Factors> fixed_time;              ///< by level, 0 = free
  std::vector<TensorMask> uses;                 ///< by tensor: dims, as bits
  std::vector<char> windowed;                   ///< by tensor: an index has two terms or more
  std::vector<double> footprint;                ///< by tensor: elements
  double macs = 1;
  bool limited = false;                  ///< some choices were left out
  [[nodiscard]] double lattice() const;  ///< tiles
  [[nodiscard]] double size() const;     ///< all mappings, legal or not
};

/// Elements of a tensor in a tile of these extents; exact for indices of one or two terms, the window for more.
double tile_size(const ChipTensor& tensor, const Factors& tile);

/// `padded` by dim, 0 = as whole as the constraints are.
Expected<Space> space_of(
    const ChipProgram& start, const SearchConstraints& constraints, const std::vector<std::int64_t>& padded);

/// Combos of the levels first..last.
std::vector<SpaceCombo> combos_of(const Space& space, int first, int last);

using Order = std::vector<std::int8_t>;  ///< active dims, outer to inner

/// Loop orders of one level that can differ in any count: of those that leave the same tensors in place the first, and
/// none that leaves less in place than another. `moving`: tensors kept further inside. `limited` is set where a
/// sliding window would tell more orders apart than are worth trying.
std::vector<Order> orders_of(const Space& space, int level, std::uint32_t active, TensorMask moving, bool& limited);

ChipProgram chip_of(const Space& space, const Mapping& mapping);

}  // namespace stepcast::dataflow::mapper
