// How often every level reads and writes every tensor, exactly, from the loops alone.
// Rule (Timeloop's nest analysis, Parashar et al. 2019, for whole tiles): a tile moves when it changes. For tensor T and the step from a
// level l that keeps it to the next level c inside that does (or the multiply-add):
//   reads(l)  = elements of T that change hands: tile(c) x units that need different parts x rounds outside c, where the
//               innermost rounds that T does not depend on cost nothing (the multiply-add reads every time);
//   fills(c)  = reads(l) per unit;  updates(l) = the same for the output, after sums over units;
//   refills   = partial sums read back: updates less the first write of every element.
// Short last rounds are counted as they run, not rounded; sliding windows move only what is new.
#pragma once

#include <array>
#include <cstdint>

#include "dataflow/chip/chip.h"

namespace stepcast {

inline constexpr int kMostChipDims = 16, kMostChipTensors = 8, kMostChipLevels = 12, kMostChipLoops = 64,
                     kMostTerms = 4, kMostRank = 8;

/// A ChipProgram in flat arrays: what the mapper changes a million times a second. Loops of one round are left out.
struct Nest {
  struct Loop {
    std::int8_t dim = 0, level = 0;
    bool space = false;
    std::int64_t trips = 1;
  };
  struct Index {
    std::int8_t terms = 0;
    std::array<std::int8_t, kMostTerms> dim{};
    std::array<std::int32_t, kMostTerms> step{};
  };
  struct Shape {
    std::int8_t rank = 0;
    std::uint32_t uses = 0;            ///< bit d: some index has dim d
    bool output = false;
    std::array<Index, kMostRank> index{};
  };
  int dims = 0, tensors = 0, levels = 0, loops = 0;
  std::array<std::int64_t, kMostChipDims> extent{};
  std::array<Shape, kMostChipTensors> shape{};
  std::array<std::uint8_t, kMostChipLevels> keeps{};       ///< by level: bit t, tensor t is kept
  std::array<Loop, kMostChipLoops> loop{};                 ///< outer to inner
};

/// Per instance of the level, averaged over the instances that work where they differ (whole numbers where tiles are).
struct TensorCount {
  std::int64_t tile = 0;               ///< elements held at once by the largest instance, one buffer
  double reads = 0;                    ///< given to the next level inside (output: partial sums read for accumulation or refill)
  double fills = 0;                    ///< written from the level outside (output: partial sums brought back)
  double updates = 0;                  ///< output: written from inside
  double refills = 0;                  ///< output: the part of fills that are partial sums; inputs 0
  double reductions = 0;               ///< output: accumulations at this level (Timeloop's temporal reductions)
  double sent = 0;                     ///< all instances: elements that cross the fabric towards the units inside, a
                                       ///< multicast counted once (inputs) or a sum counted once (output)
  double sent_apart = 0;               ///< the same without multicast or reduction: a copy for every unit
};

struct Counts {
  std::int64_t macs = 0;               ///< as run: only inside the extents
  std::int64_t steps = 0;              ///< rounds in time of the busiest unit
  std::int64_t units = 1;              ///< innermost units that work
  std::array<std::int64_t, kMostChipLevels> instances{};   ///< of each level that work
  std::array<std::array<TensorCount, kMostChipTensors>, kMostChipLevels> at{};
};

/// Errors: more dims, tensors, levels or loops than the arrays hold; more than 2^62 multiply-adds.
Expected<Nest> nest_of(const ChipProgram& chip);

/// No allocation. Whole tiles take the closed form; short rounds and windows a slower exact way.
void count(const Nest& nest, Counts& counts);

}  // namespace stepcast
