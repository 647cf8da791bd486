// What one block needs in memory while a micro-batch passes it. Internal to sim/: memory.cpp adds it up over a
// timeline, fast/ over counts of units in flight.
#pragma once

#include <cstdint>
#include <vector>

#include "dataflow/program.h"
#include "model/stack.h"
#include "sim/memory/memory_report.h"

namespace stepcast::sim {

/// What lies in memory at one moment of a block's lists, beside what is persistent.
struct Moment {
  double saved = 0, temporary = 0, message = 0;
  double gradients = 0;  ///< of weights: 0 where all stand, below it by those that are not made yet
  [[nodiscard]] double sum() const { return saved + temporary + message + gradients; }
};

/// What one instance of a block needs.
struct BlockMemory {
  MemoryReport persistent;
  Bytes saved;              ///< per micro-batch in flight
  Bytes gathered;           ///< one copy of the gathered weights
  std::int64_t window = 1;  ///< copies of them that live at once
  Moment fullest;           ///< of its lists
};

BlockMemory memory_of(const ProgramBlock& block);
std::vector<BlockMemory> block_memories(const Program& program);

/// The fullest moment of one micro-batch's walk through a chunk: what the blocks before keep, plus the block at work.
/// `saved` is relative to what the whole chunk keeps when its forward is done. With `made_in_backward` a block's weight
/// gradients take room only behind its backward; so it is where a step has one micro-batch (`makes_gradients`).
Moment fullest_moment(
    const std::vector<BlockRun>& runs, const std::vector<BlockMemory>& blocks, bool made_in_backward = false);
bool makes_gradients(const Stack& stack, std::int64_t micro_batches);

/// Of a rank whose tensors take `tensors`, the stack's workspace not among them: what the allocator gives out, what it
/// loses, and what stands outside of it.
struct RankMemory {
  Bytes allocated, reserved, peak;
};
RankMemory rank_memory(Bytes tensors, const Stack& stack);

}  // namespace stepcast::sim
