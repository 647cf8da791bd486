// GPU side only. Going over a long array in 16-byte vectors with several loads of each lane under way.
#pragma once

#include "kernels/cuda/lane.cuh"

namespace stepcast::kernels::gpu {

constexpr unsigned kStreamThreads = 256;

/// A grid that fills every multiprocessor once and strides over the rest, or a smaller one for short arrays.
inline LaunchShape stream_shape(std::int64_t vectors, int sm_count, int blocks_per_sm) {
  const std::int64_t needed = (vectors + kStreamThreads - 1) / kStreamThreads;
  const std::int64_t full = static_cast<std::int64_t>(blocks_per_sm) * sm_count;
  const std::int64_t blocks = needed < full ? needed : full;
  return {.blocks = static_cast<unsigned>(blocks > 0 ? blocks : 1), .threads = kStreamThreads};
}

/// load(i) for this thread's share of the vectors, and finish(i, what was loaded). `Together` loads are issued before
/// the first of them is waited for, also of the last few: an array shorter than one turn of the grid is only those.
template <int Together, typename Load, typename Finish>
__device__ void for_each_vector(std::int64_t vectors, Load load, Finish finish) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + (Together - 1) * stride < vectors; i += Together * stride) {
    decltype(load(i)) loaded[Together];
    STEPCAST_UNROLL
    for (int t = 0; t < Together; ++t) loaded[t] = load(i + t * stride);
    STEPCAST_UNROLL
    for (int t = 0; t < Together; ++t) finish(i + t * stride, loaded[t]);
  }
  if (i >= vectors) return;
  decltype(load(i)) loaded[Together] = {};
  STEPCAST_UNROLL
  for (int t = 0; t < Together; ++t)
    if (i + t * stride < vectors) loaded[t] = load(i + t * stride);
  STEPCAST_UNROLL
  for (int t = 0; t < Together; ++t)
    if (i + t * stride < vectors) finish(i + t * stride, loaded[t]);
}

}  // namespace stepcast::kernels::gpu
