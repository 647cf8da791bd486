// GPU side only. Rows of a table gathered by number, and gradients added to the rows they came from. Device memory
// bounds both. Rows are whole 16-byte vectors. 4 bytes of id per row beside what is said.
#pragma once

#include "kernels/cuda/lane.cuh"

namespace stepcast::kernels::gpu {

constexpr unsigned kRowCopyThreads = 128;

/// out[r] = table[ids[r]]: each element read and written once.
template <typename T>
__global__ void __launch_bounds__(kRowCopyThreads)
    embedding_kernel(const T* table, const int* ids, T* out, std::int64_t rows, int columns) {
  constexpr int kTogether = 4;
  const int vectors = columns / kWidth<T>, step = static_cast<int>(blockDim.x);
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const std::int64_t from = static_cast<std::int64_t>(ids[r]) * vectors, to = r * vectors;
    for (int v = static_cast<int>(threadIdx.x); v < vectors; v += kTogether * step) {
      uint4 raw[kTogether] = {};
      STEPCAST_UNROLL
      for (int k = 0; k < kTogether; ++k)
        if (v + k * step < vectors) raw[k] = load_cached(table, from + v + k * step);
      STEPCAST_UNROLL
      for (int k = 0; k < kTogether; ++k)
        if (v + k * step < vectors) store(out, to + v + k * step, raw[k]);
    }
  }
}

__device__ inline void add_to(float* sums, std::uint16_t raw, Bf16) { atomicAdd(sums, to_float(Bf16{raw})); }
__device__ inline void add_to(float* sums, std::uint16_t raw, Fp16) { atomicAdd(sums, to_float(Fp16{raw})); }
/// Which of several comes first makes no difference: they are different floats.
template <typename T> __device__ void add_to(float* sums, uint2 raw, T) {
  const float2 low = pair_to_floats<T>(raw.x), high = pair_to_floats<T>(raw.y);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  atomicAdd(reinterpret_cast<float4*>(sums), make_float4(low.x, low.y, high.x, high.y));
#else
  atomicAdd(sums, low.x);
  atomicAdd(sums + 1, low.y);
  atomicAdd(sums + 2, high.x);
  atomicAdd(sums + 3, high.y);
#endif
}

/// to[i] += from[i], by a block. Raw: what a lane loads at once, of T's elements. `Together` loads are under way.
template <typename T, typename Raw, int Together> __device__ void add_row(const T* from, float* to, int columns) {
  constexpr int kEach = static_cast<int>(sizeof(Raw) / sizeof(T));
  const int count = columns / kEach, step = static_cast<int>(blockDim.x);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += Together * step) {
    Raw raw[Together] = {};
    STEPCAST_UNROLL
    for (int k = 0; k < Together; ++k)
      if (i + k * step < count) raw[k] = __ldcs(reinterpret_cast<const Raw*>(from) + i + k * step);
    STEPCAST_UNROLL
    for (int k = 0; k < Together; ++k)
      if (i + k * step < count) add_to(to + (i + k * step) * kEach, raw[k], T{});
  }
}

/// table[ids[r]] += dy[r], the table in fp32: of an element of 2 bytes the gradient is read, and 4 bytes are read and
/// written by the level-2 cache, which does the addition. A lane adds four successive elements with one instruction
/// where the chip can (compute capability 9.0), else one; `AtOnce` is for tests and says which. Either way the lanes of
/// a warp follow one another, so that the cache gets whole lines: 512 or 128 bytes of the table.
template <typename T, int AtOnce = 0>
__global__ void __launch_bounds__(kRowCopyThreads)
    embedding_backward_kernel(const T* dy, const int* ids, float* table, std::int64_t rows, int columns) {
  static_assert(sizeof(T) == 2);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr int kChip = 4;
#else
  constexpr int kChip = 1;
#endif
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    float* to = table + static_cast<std::int64_t>(ids[r]) * columns;
    if constexpr ((AtOnce == 0 ? kChip : AtOnce) == 4) add_row<T, uint2, 4>(dy + r * columns, to, columns);
    else add_row<T, std::uint16_t, 8>(dy + r * columns, to, columns);
  }
}

}  // namespace stepcast::kernels::gpu
