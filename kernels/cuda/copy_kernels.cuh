// GPU side only. The plainest streams, by which the bandwidth of device memory itself is measured: read, write, copy.
// Device memory bounds them: n bytes are read, written, or both. Every lane has several loads of 16 bytes under way,
// and the grid fills the GPU once and strides over the rest. No templates: one source of the GPU build includes this.
#pragma once

#include "kernels/cuda/stream.cuh"

namespace stepcast::gpu {

/// Exclusive or of all words that a thread saw, added in the same way to *result: reads the data without changing it,
/// and the result tells whether all of it was read. 4 bytes per warp beside the data.
__global__ void __launch_bounds__(kStreamThreads)
    read_kernel(const uint4* data, std::int64_t vectors, unsigned* result) {
  unsigned seen = 0;
  for_each_vector<8>(vectors, [&](std::int64_t i) { return load_streaming(data, i); },
                     [&](std::int64_t, uint4 v) { seen ^= v.x ^ v.y ^ v.z ^ v.w; });
  STEPCAST_UNROLL
  for (int across = 16; across > 0; across /= 2) seen ^= __shfl_xor_sync(kAllLanes, seen, across);
  if (threadIdx.x % kWarp == 0) atomicXor(result, seen);
}

__global__ void __launch_bounds__(kStreamThreads) write_kernel(uint4* data, std::int64_t vectors, uint4 value) {
  for_each_vector<4>(vectors, [](std::int64_t) { return 0; }, [&](std::int64_t i, int) { store(data, i, value); });
}

__global__ void __launch_bounds__(kStreamThreads) copy_kernel(const uint4* from, uint4* to, std::int64_t vectors) {
  for_each_vector<4>(vectors, [&](std::int64_t i) { return load_streaming(from, i); },
                     [&](std::int64_t i, uint4 v) { store(to, i, v); });
}

}  // namespace stepcast::gpu
