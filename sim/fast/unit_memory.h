// What one micro-batch needs in memory in each block of a program, on any stages: asked before what it costs in time,
// for most steps of a wide sweep do not fit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataflow/program.h"
#include "sim/fast/held_units.h"
#include "sim/fast/stage_shape.h"
#include "sim/fast/step_costs.h"
#include "sim/memory/block_memory.h"

namespace stepcast::sim {

class UnitMemory {
 public:
  explicit UnitMemory(const Program& program);

  /// Bytes that a stage keeps until backward, and its fullest moment on top of what units in flight keep.
  [[nodiscard]] double saved(const std::vector<BlockRun>& runs) const;
  [[nodiscard]] Moment fullest(const std::vector<BlockRun>& runs) const { return fullest_moment(runs, blocks_); }
  /// Bytes on a rank that runs all of `runs`: the largest window of gathered weights and what blocks share by name.
  [[nodiscard]] double gathered(const std::vector<BlockRun>& runs) const;
  [[nodiscard]] double shared(const std::vector<BlockRun>& runs) const;

 private:
  // clang-format off
  struct SharedBuffer { int block; int label; double bytes; };
  struct SharedBytes { std::uint64_t blocks; double bytes; };  ///< blocks: a bit of each
  // clang-format on
  [[nodiscard]] double sum_shared(const std::vector<BlockRun>& runs) const;

  std::vector<BlockMemory> blocks_;
  std::vector<SharedBuffer> shared_;  ///< block by block
  int labels_ = 0;
  mutable std::vector<SharedBytes> shared_by_;  ///< what has been asked before; one thread at a time
};

/// The same on the stages and ranks of a shape: bytes.
struct MemoryOnShape {
  struct OnRank {
    double fullest = 0, gathered = 0, shared = 0;
  };
  std::vector<double> saved;  ///< by kind of stage
  std::vector<OnRank> ranks;  ///< by kind of rank
};
/// Into `on`, whose room is used again.
void lay_memory(const UnitMemory& units, const StageShape& shape, MemoryOnShape& on);

/// Bytes in tensors on the fullest rank; rank_memory() makes the device's peak of it.
double tensor_bytes(const MemoryOnShape& units, const OnceOnShape& once, const HeldUnits& held);

/// Bytes in tensors that no layout of the layers undercuts on its fullest rank, wherever they lie on the virtual
/// stages, even in parts. `layers`: how many there are of each block.
double least_tensor_bytes(
    const UnitMemory& units, const StepCosts& once, const HeldOnStages& held, std::span<const BlockRun> layers);

}  // namespace stepcast::sim
