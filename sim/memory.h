// Peak memory per rank, by lifetime: what is persistent, what is kept per micro-batch in flight (the order says how
// many), what a block needs while it runs, and what the framework takes.
#pragma once

#include <cstdint>
#include <vector>

#include "dataflow/program.h"
#include "model/machine/machine.h"
#include "model/stack.h"
#include "sim/schedule/engine/engine.h"

namespace stepcast {

/// `framework` is what does not lie in tensors: the CUDA context and NCCL (Stack::framework_memory), and what the allocator
/// loses (Stack::allocator_slack of the rest).
struct MemoryReport {
  Bytes weights, gradients, optimizer, activations, gathered_weights, temporary, communication, framework;
  Bytes allocated;  ///< in tensors: what torch.cuda.max_memory_allocated gives
  Bytes reserved;   ///< held by the allocator: allocated and its slack
  Bytes peak;       ///< on the device: reserved, CUDA context and NCCL, on the fullest rank
  Bytes capacity;
  bool fits = false;
  std::int64_t rank = 0;  ///< first rank of the fullest stage
  std::vector<Bytes> kept;    ///< by virtual stage of the order: by one unit, from its forward to its weight gradient
  std::vector<Bytes> always;  ///< by stage: on each of its ranks during the whole step: weights, gradients, optimizer
  [[nodiscard]] Bytes sum() const {
    return weights + gradients + optimizer + activations + gathered_weights + temporary + communication + framework;
  }
};

/// Of the fullest stage. What is kept per micro-batch peaks together with the block that needs most while it runs.
MemoryReport peak_memory(const Program& program, const Order& order, const Timeline& timeline, const Machine& machine,
                         const Stack& stack);

}  // namespace stepcast
