// GPU side only. A shape in the words of the kernels.
#pragma once

#include "kernels/cuda/attention/attention_tile.cuh"
#include "kernels/reference/attention_reference.h"

namespace stepcast::kernels::gpu {

inline AttentionSizes attention_sizes(const AttentionShape& shape) {
  constexpr double log2_e = 1.4426950408889634;
  return {static_cast<int>(shape.positions), static_cast<int>(shape.heads), static_cast<int>(shape.group()),
      shape.causal, static_cast<float>(shape.scale()), static_cast<float>(shape.scale() * log2_e)};
}

}  // namespace stepcast::kernels::gpu
