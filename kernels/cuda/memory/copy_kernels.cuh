// GPU side only. The plainest streams, by which the bandwidth of device memory itself is measured: read, write, copy.
// Device memory bounds them: n bytes are read, written, or both. Every lane has several loads of 16 bytes under way,
// and the grid fills the GPU once and strides over the rest. No templates: one source of the GPU build includes this.
#pragma once

#include "kernels/cuda/memory/reduce.cuh"
#include "kernels/cuda/memory/stream.cuh"

namespace stepcast::kernels::gpu {

/// Where read_kernel leaves what it saw: words 128 bytes apart, so that few blocks wait for the same one. The level-2
/// cache does one atomic operation after the other on an address.
constexpr unsigned kReadWords = 64, kReadStride = 32;

/// Exclusive or of all words that a block saw, added in the same way to one of kReadWords words of `result`: reads the
/// data without changing it, and all of `result` together tells whether all of it was read. 4 bytes per block beside
/// the data.
__global__ void __launch_bounds__(kStreamThreads)
    read_kernel(const uint4* data, std::int64_t vectors, unsigned* result) {
  __shared__ unsigned of_warps[kWarp];
  unsigned seen = 0;
  for_each_vector<8>(
      vectors, [&](std::int64_t i) { return load_streaming(data, i); },
      [&](std::int64_t, uint4 v) { seen ^= v.x ^ v.y ^ v.z ^ v.w; });
  seen = over_block<Xor>(seen, of_warps);
  if (threadIdx.x == 0) atomicXor(result + blockIdx.x % kReadWords * kReadStride, seen);
}

__global__ void __launch_bounds__(kStreamThreads) write_kernel(uint4* data, std::int64_t vectors, uint4 value) {
  for_each_vector<4>(
      vectors, [](std::int64_t) { return 0; }, [&](std::int64_t i, int) { store(data, i, value); });
}

__global__ void __launch_bounds__(kStreamThreads) copy_kernel(const uint4* from, uint4* to, std::int64_t vectors) {
  for_each_vector<4>(
      vectors, [&](std::int64_t i) { return load_streaming(from, i); },
      [&](std::int64_t i, uint4 v) { store(to, i, v); });
}

}  // namespace stepcast::kernels::gpu
