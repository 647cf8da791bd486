// GPU side only. Rows of a table gathered by number, and gradients added to the rows they came from. Device memory
// bounds both. Rows are whole 16-byte vectors. 4 bytes of id per row beside what is said.
#pragma once

#include "kernels/cuda/lane.cuh"

namespace stepcast::gpu {

constexpr unsigned kRowCopyThreads = 128;

/// out[r] = table[ids[r]]: each element read and written once.
template <typename T>
__global__ void __launch_bounds__(kRowCopyThreads)
    embedding_kernel(const T* table, const int* ids, T* out, std::int64_t rows, int columns) {
  constexpr int kTogether = 4;
  const int vectors = columns / kWidth<T>, step = static_cast<int>(blockDim.x);
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const std::int64_t from = static_cast<std::int64_t>(ids[r]) * vectors, to = r * vectors;
    int v = static_cast<int>(threadIdx.x);
    for (; v + (kTogether - 1) * step < vectors; v += kTogether * step) {
      uint4 raw[kTogether];
      STEPCAST_UNROLL
      for (int k = 0; k < kTogether; ++k) raw[k] = load_cached(table, from + v + k * step);
      STEPCAST_UNROLL
      for (int k = 0; k < kTogether; ++k) store(out, to + v + k * step, raw[k]);
    }
    for (; v < vectors; v += step) store(out, to + v, load_cached(table, from + v));
  }
}

/// Four floats in memory at once where the chip can (compute capability 9.0), by whichever thread comes first.
__device__ inline void add_to(float* sums, float4 x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  atomicAdd(reinterpret_cast<float4*>(sums), x);
#else
  atomicAdd(sums, x.x);
  atomicAdd(sums + 1, x.y);
  atomicAdd(sums + 2, x.z);
  atomicAdd(sums + 3, x.w);
#endif
}

/// table[ids[r]] += dy[r], the table in fp32: of an element of 2 bytes the gradient is read, and 4 bytes are read and
/// written by the level-2 cache, which does the addition.
template <typename T>
__global__ void __launch_bounds__(kRowCopyThreads)
    embedding_backward_kernel(const T* dy, const int* ids, float* table, std::int64_t rows, int columns) {
  constexpr int W = kWidth<T>;
  const int vectors = columns / W;
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    float* to = table + static_cast<std::int64_t>(ids[r]) * columns;
    STEPCAST_UNROLL_BY(2)
    for (int v = static_cast<int>(threadIdx.x); v < vectors; v += static_cast<int>(blockDim.x)) {
      float x[W];
      unpack<T>(load_streaming(dy, r * vectors + v), x);
      STEPCAST_UNROLL
      for (int e = 0; e < W; e += 4) add_to(to + v * W + e, make_float4(x[e], x[e + 1], x[e + 2], x[e + 3]));
    }
  }
}

}  // namespace stepcast::gpu
