// GPU side only. A row of a matrix that a kernel needs twice, first for a sum or maximum over it: read from device
// memory once, by one warp or one block, and kept in registers, or as much of it as fits in shared memory where it is
// long.
#pragma once

#include "kernels/cuda/memory/reduce.cuh"

namespace stepcast::kernels::gpu {

/// Where a row lies in 16-byte vectors. Rows need not start on one: the first and last vector may hold elements of the
/// neighbours, which are read with them and left alone. Buffers end on a whole vector.
template <typename T> struct RowPlace {
  std::int64_t first;  ///< vector
  int skip, end;       ///< elements of the first vector that are not ours; skip + columns
  int vectors;
  __device__ RowPlace(std::int64_t row, int columns) {
    const std::int64_t start = row * columns;
    first = start / kWidth<T>;
    skip = static_cast<int>(start % kWidth<T>);
    end = skip + columns;
    vectors = (end + kWidth<T> - 1) / kWidth<T>;
  }
  __device__ bool whole(int v) const { return v * kWidth<T> >= skip && (v + 1) * kWidth<T> <= end; }
  __device__ bool has(int element) const { return element >= skip && element < end; }

  /// What is not ours becomes `neutral`.
  __device__ void expand(uint4 raw, int v, float neutral, float (&x)[kWidth<T>]) const {
    unpack<T>(raw, x);
    if (whole(v)) return;
    STEPCAST_UNROLL
    for (int e = 0; e < kWidth<T>; ++e)
      if (!has(v * kWidth<T> + e)) x[e] = neutral;
  }
  __device__ void put(T* data, int v, const float (&x)[kWidth<T>]) const {
    if (whole(v)) return store(data, first + v, pack<T>(x));
    STEPCAST_UNROLL
    for (int e = 0; e < kWidth<T>; ++e)
      if (has(v * kWidth<T> + e)) data[(first + v) * kWidth<T> + e] = from_float<T>(x[e]);
  }
};

/// In registers, as it came: vectors thread, thread + threads, ... of the row. Numbers of two bytes take half the
/// registers that their floats would: two blocks of 512 threads that hold two rows each fit on a multiprocessor.
template <typename T, int Vectors> struct HeldRow {
  static constexpr bool in_registers = true;
  uint4 raw[Vectors];
  float neutral = 0;

  __device__ HeldRow(uint4*, int) {}
  __device__ void load(const T* data, const RowPlace<T>& place, float outside) {
    neutral = outside;
    STEPCAST_UNROLL
    for (int k = 0; k < Vectors; ++k) {
      const int v = static_cast<int>(threadIdx.x + k * blockDim.x);
      raw[k] = v < place.vectors ? load_streaming(data, place.first + v) : make_uint4(0, 0, 0, 0);
    }
  }
  /// The k-th vector of this thread, `v` of the row, as floats. The compiler shall not keep those from one pass over
  /// the row to the next, and so must not know that the vector is still the same.
  __device__ void get(const RowPlace<T>& place, int k, int v, float (&x)[kWidth<T>]) {
#ifdef __CUDACC__
    if constexpr (sizeof(T) < 4) asm volatile("" : "+r"(raw[k].x), "+r"(raw[k].y), "+r"(raw[k].z), "+r"(raw[k].w));
#endif
    place.expand(raw[k], v, neutral, x);
  }
  /// body(vector, its elements).
  template <typename Body> __device__ void for_each(const RowPlace<T>& place, Body body) {
    STEPCAST_UNROLL
    for (int k = 0; k < Vectors; ++k) {
      const int v = static_cast<int>(threadIdx.x + k * blockDim.x);
      if (v >= place.vectors) continue;
      float x[kWidth<T>];
      get(place, k, v, x);
      body(v, x);
    }
  }
};

/// Of any length: the first vectors in shared memory, the rest read again, mostly from the level-2 cache.
template <typename T> struct LongRow {
  static constexpr bool in_registers = false;
  uint4* kept;
  int capacity;
  const T* data = nullptr;
  float neutral = 0;

  __device__ LongRow(uint4* shared, int shared_vectors) : kept(shared), capacity(shared_vectors) {}
  /// Each thread reads back only what it wrote, so that no barrier is needed.
  __device__ void load(const T* from, const RowPlace<T>& place, float outside) {
    data = from;
    neutral = outside;
    const int held = capacity < place.vectors ? capacity : place.vectors;
    constexpr int kTogether = 4;
    const int step = static_cast<int>(blockDim.x);
    int v = static_cast<int>(threadIdx.x);
    for (; v + (kTogether - 1) * step < held; v += kTogether * step) {
      uint4 raw[kTogether];
      STEPCAST_UNROLL
      for (int k = 0; k < kTogether; ++k) raw[k] = load_streaming(data, place.first + v + k * step);
      STEPCAST_UNROLL
      for (int k = 0; k < kTogether; ++k) kept[v + k * step] = raw[k];
    }
    for (; v < held; v += step) kept[v] = load_streaming(data, place.first + v);
  }
  /// What is not kept may be written over in place, and so is not read by way of the read-only cache.
  __device__ uint4 at(const RowPlace<T>& place, int v) const {
    return v < capacity ? kept[v] : reinterpret_cast<const uint4*>(data)[place.first + v];
  }
  template <typename Body> __device__ void for_each(const RowPlace<T>& place, Body body) {
    for (int v = static_cast<int>(threadIdx.x); v < place.vectors; v += static_cast<int>(blockDim.x)) {
      float x[kWidth<T>];
      place.expand(at(place, v), v, neutral, x);
      body(v, x);
    }
  }
};

/// The same place of two rows: body(vector, elements of one, elements of the other).
template <typename T, int Vectors, typename Body>
__device__ void for_both(HeldRow<T, Vectors>& a, HeldRow<T, Vectors>& b, const RowPlace<T>& place, Body body) {
  STEPCAST_UNROLL
  for (int k = 0; k < Vectors; ++k) {
    const int v = static_cast<int>(threadIdx.x + k * blockDim.x);
    if (v >= place.vectors) continue;
    float x[kWidth<T>], y[kWidth<T>];
    a.get(place, k, v, x);
    b.get(place, k, v, y);
    body(v, x, y);
  }
}
template <typename T, typename Body>
__device__ void for_both(LongRow<T>& a, LongRow<T>& b, const RowPlace<T>& place, Body body) {
  for (int v = static_cast<int>(threadIdx.x); v < place.vectors; v += static_cast<int>(blockDim.x)) {
    float x[kWidth<T>], y[kWidth<T>];
    place.expand(a.at(place, v), v, a.neutral, x);
    place.expand(b.at(place, v), v, b.neutral, y);
    body(v, x, y);
  }
}

constexpr std::size_t kScratchBytes = kWarp * sizeof(float);  // of over_block, at the start of shared memory
__device__ inline float* scratch() { return dynamic_shared<float>(); }
/// What lies behind it, for LongRow.
__device__ inline uint4* kept_vectors() { return dynamic_shared<uint4>() + kScratchBytes / 16; }

}  // namespace stepcast::kernels::gpu
