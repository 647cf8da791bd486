// What lies in the memory of a rank, by kind.
#pragma once

#include <cstdint>
#include <vector>

#include "model/base/units.h"

namespace stepcast::sim {

/// `framework` is what does not lie in tensors: the CUDA context and NCCL (Stack::framework_memory), and what the
/// allocator loses (Stack::allocator_slack of the rest).
struct MemoryReport {
  Bytes weights, gradients, optimizer, activations, gathered_weights, temporary, communication, framework;
  Bytes allocated;  ///< in tensors: what torch.cuda.max_memory_allocated gives
  Bytes reserved;   ///< held by the allocator: allocated and its slack
  Bytes peak;       ///< on the device: reserved, CUDA context and NCCL, on the fullest rank
  Bytes capacity;
  bool fits = false;
  std::int64_t rank = 0;      ///< first rank of the stage with the least room
  std::vector<Bytes> kept;    ///< by virtual stage of the order: by one unit, from its forward to its weight gradient
  std::vector<Bytes> always;  ///< by stage: on each of its ranks during the whole step: weights, gradients, optimizer
  std::vector<Bytes> peaks;   ///< by stage: `peak` of its ranks
  [[nodiscard]] Bytes sum() const {
    return weights + gradients + optimizer + activations + gathered_weights + temporary + communication + framework;
  }
};

}  // namespace stepcast::sim
