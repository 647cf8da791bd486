// GPU side only. What one lane of a kernel does by itself: loads and stores of 16 bytes, their conversion to floats,
// fast functions, shared memory. Kernels use only CUDA's own names and these, so that tests can run them on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/number.cuh"

// A macro, since g++ warns of a pragma that it does not know. For arrays that must live in registers.
#ifdef __CUDACC__
#define STEPCAST_UNROLL _Pragma("unroll")
#define STEPCAST_UNROLL_BY(n) STEPCAST_PRAGMA(unroll n)
#define STEPCAST_PRAGMA(text) _Pragma(#text)
#else
#define STEPCAST_UNROLL
#define STEPCAST_UNROLL_BY(n)
#endif

namespace stepcast::kernels::gpu {

constexpr unsigned kAllLanes = 0xFFFFFFFFu;
constexpr unsigned kWarp = 32;

/// What is written between <<< and >>>.
struct LaunchShape {
  unsigned blocks = 1, threads = 32, rows_at_once = 1;  ///< blocks of threads x rows_at_once
  std::size_t shared_bytes = 0;
};

/// The block's dynamic shared memory, 128-byte aligned; every call gives its start.
template <typename T> __device__ T* dynamic_shared() {
#ifdef __CUDACC__
  extern __shared__ __align__(128) unsigned char dynamic_shared_bytes[];
  return reinterpret_cast<T*>(dynamic_shared_bytes);
#else
  return static_cast<T*>(emulated::shared_memory());
#endif
}

/// Elements in 16 bytes, the most that a lane moves with one instruction.
template <typename T> constexpr int kWidth = 16 / static_cast<int>(sizeof(T));

/// Of data that nobody writes while the kernel runs and that others read again (weights, ids).
__device__ inline uint4 load_cached(const void* data, std::int64_t vector) {
  return __ldg(static_cast<const uint4*>(data) + vector);
}
/// Of data that is read once: makes room in the caches first.
__device__ inline uint4 load_streaming(const void* data, std::int64_t vector) {
  return __ldcs(static_cast<const uint4*>(data) + vector);
}
/// Results stay in the cache where they can: in a training step the next kernel reads them.
__device__ inline void store(void* data, std::int64_t vector, uint4 value) {
  static_cast<uint4*>(data)[vector] = value;
}

/// The elements of 16 bytes as floats, and back.
template <typename T> __device__ void unpack(uint4 raw, float (&x)[kWidth<T>]) {
  const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
  STEPCAST_UNROLL
  for (int w = 0; w < 4; ++w) {
    if constexpr (sizeof(T) == 4) {
      x[w] = __uint_as_float(words[w]);
    } else {
      const float2 two = pair_to_floats<T>(words[w]);
      x[2 * w] = two.x;
      x[2 * w + 1] = two.y;
    }
  }
}
template <typename T> __device__ uint4 pack(const float (&x)[kWidth<T>]) {
  std::uint32_t words[4];
  STEPCAST_UNROLL
  for (int w = 0; w < 4; ++w) {
    if constexpr (sizeof(T) == 4) words[w] = __float_as_uint(x[w]);
    else words[w] = pair_from_floats<T>(x[2 * w], x[2 * w + 1]);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

/// 2^x and 1/x by the special-function unit: 2 and 1 units in the last place (CUDA C++ Programming Guide, ex2.approx
/// and rcp.approx in the PTX ISA).
__device__ inline float fast_exp2(float x) {
#ifdef __CUDACC__
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return std::exp2(x);
#endif
}
constexpr float kLog2E = 1.4426950408889634f;
__device__ inline float fast_exp(float x) { return fast_exp2(x * kLog2E); }
__device__ inline float fast_reciprocal(float x) { return __fdividef(1.0f, x); }
__device__ inline float fast_sigmoid(float x) { return fast_reciprocal(1.0f + fast_exp(-x)); }
/// By way of e^2x, which may overflow: 1 - 2/inf is 1.
__device__ inline float fast_tanh(float x) { return 1.0f - 2.0f * fast_reciprocal(1.0f + fast_exp(2.0f * x)); }

}  // namespace stepcast::kernels::gpu
