// A program on a chip as flat arrays, and what is counted of it.
#pragma once

#include <array>
#include <cstdint>

#include "dataflow/chip/chip.h"

namespace stepcast::dataflow {

inline constexpr int most_chip_dims = 16, most_chip_tensors = 8, most_chip_levels = 12, most_chip_loops = 64,
                     most_terms = 4, most_rank = 8;

/// How a window counts: an index of several loops, or with a step.
enum class Windows : std::uint8_t {
  /// The rule of count.h: sets of elements, each tile against the one just before.
  exact,
  /// Of inputs in whole tiles, as Timeloop v3.0.3 (NVlabs/timeloop 6b41058, nest-analysis.cpp) does: boxes, gaps
  /// included; overlap is kept along the innermost round outside, and along another only if it shifts the tile by as
  /// much, seen from the second round of the loops inside it; units share an element only where their whole tiles are
  /// the same, or a neighbour on the array has just had it. Short rounds and outputs count as exact.
  timeloop,
};

/// A ChipProgram in flat arrays: what the mapper changes a million times a second. Loops of one round are left out.
struct Nest {
  struct Loop {
    std::int8_t dim = 0, level = 0;
    bool space = false;
    std::int64_t trips = 1;
    bool down = false;  ///< space: along the second axis, y
  };
  struct Index {
    std::int8_t terms = 0;
    std::array<std::int8_t, most_terms> dim{};
    std::array<std::int32_t, most_terms> step{};
  };
  struct Shape {
    std::int8_t rank = 0;
    std::uint32_t uses = 0;    ///< bit d: some index has dim d
    std::uint32_t window = 0;  ///< bit d: dim d stands in an index that is not just one loop
    bool output = false;
    std::array<Index, most_rank> index{};
  };
  int dims = 0, tensors = 0, levels = 0, loops = 0;
  Windows windows = Windows::exact;
  /// by level: units that there are, across and down
  std::array<std::array<std::int64_t, 2>, most_chip_levels> mesh{};
  std::array<std::int64_t, most_chip_dims> extent{};
  std::array<Shape, most_chip_tensors> shape{};
  std::array<std::uint8_t, most_chip_levels> keeps{};  ///< by level: bit t, tensor t is kept
  std::array<Loop, most_chip_loops> loop{};            ///< outer to inner
};

/// Errors: more dims, tensors, levels or loops than the arrays hold; more than 2^62 multiply-adds; steps below 1; a dim
/// that stands in two windows of one tensor.
Expected<Nest> nest_of(const ChipProgram& chip, Windows windows = Windows::exact);

/// Per instance of the level, averaged over the instances that work where they differ (whole numbers where tiles are).
/// All 0 where the tensor is not kept, but for `sent`.
struct TensorCount {
  std::int64_t tile = 0;  ///< elements held at once by the largest instance, one buffer
  double reads = 0;       ///< given to the next level inside (output: partial sums read to be added to)
  double fills = 0;       ///< written from the level outside (output: partial sums brought back)
  double updates = 0;     ///< output: written from inside
  double refills = 0;     ///< output: the part of fills that are partial sums; inputs 0
  double reductions = 0;  ///< output: accumulations at this level (Timeloop's temporal reductions)
  double sent = 0;        ///< all instances: elements that pass between this level and the units inside,
                          ///< kept here or not: a multicast counted once (inputs), a sum counted
                          ///< once (output: what goes outwards; refills are on top)
  double sent_apart = 0;  ///< the same without multicast or reduction: a copy for every unit
};

struct Counts {
  std::int64_t macs = 0;                                   ///< as run: only inside the extents
  std::int64_t steps = 0;                                  ///< rounds in time of the busiest unit
  std::int64_t units = 1;                                  ///< innermost units that work
  std::array<std::int64_t, most_chip_levels> instances{};  ///< of each level that work
  std::array<std::array<TensorCount, most_chip_tensors>, most_chip_levels> at{};
};

}  // namespace stepcast::dataflow
