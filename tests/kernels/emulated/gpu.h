// CUDA's own names for g++, so that a test can include a .cuh of kernels/cuda/ and run its kernels on the CPU:
//
//   #include "tests/kernels/emulated/gpu.h"     // before the .cuh
//   #include "kernels/cuda/memory/norm_kernels.cuh"
//   emulate(blocks, threads, shared_bytes, [&] { norm_kernel<Bf16>(x.data(), ...); });
//
// Buffers are plain vectors: AddressSanitizer finds what is read or written beyond their ends. A barrier that not all
// threads reach fails the test. Times mean nothing. What a warp does as one is built on emulated::with_warp (block.h).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "tests/kernels/emulated/block.h"

// Static: a program with a GPU build of the same kernels has functions of the same names, which launch them.
#define __global__ static
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
// Blocks run one after another, so that one copy is enough. Unlike dynamic shared memory it is not reset at a block's
// start.
#define __shared__ static

namespace stepcast::kernels::gpu {

using dim3 = emulated::Extent;
inline const emulated::Index& threadIdx = emulated::here.thread;
inline const emulated::Index& blockIdx = emulated::here.block;
inline const emulated::Extent& blockDim = emulated::here.threads;
inline const emulated::Extent& gridDim = emulated::here.blocks;

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }

// A GPU faults where a vector is not aligned to its size; the CPU would not.
template <typename T> const T& aligned(const T* address) {
  if (reinterpret_cast<std::uintptr_t>(address) % alignof(T) != 0) emulated::complain("a vector access is misaligned");
  return *address;
}
template <typename T> T __ldg(const T* address) { return aligned(address); }
template <typename T> T __ldcs(const T* address) { return aligned(address); }
template <typename T> T __ldcg(const T* address) { return aligned(address); }
template <typename T> void __stcs(T* address, T value) { const_cast<T&>(aligned(address)) = value; }
template <typename T> void __stcg(T* address, T value) { const_cast<T&>(aligned(address)) = value; }

inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fdividef(float a, float b) { return a / b; }
using std::max;
using std::min;

using Where = std::source_location;
inline void __syncthreads(Where where = Where::current()) { emulated::meet_block(where); }
inline void __syncwarp(unsigned mask = ~0u, Where where = Where::current()) {
  emulated::with_warp<int>(
      mask, 0, [](const auto&) {}, where);
}

/// Each lane gets the value of lane source(own lane).
template <typename T, typename Source> T shuffled(unsigned mask, T value, Source source, Where where) {
  return emulated::with_warp<T>(
      mask, value,
      [&](const auto& lanes) {
        for (unsigned l = 0; l < emulated::warp_lanes; ++l) {
          if (lanes[l] == nullptr) continue;
          const unsigned from = source(l);
          if (lanes[from] == nullptr) return emulated::complain("a shuffle reads a lane that is not in its mask");
          lanes[l]->result = lanes[from]->argument;
        }
      },
      where);
}
// `width` cuts the warp into equal parts; a source outside a lane's own part gives the lane its own value.
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int across, unsigned width = 32, Where where = Where::current()) {
  return shuffled(
      mask, value,
      [=](unsigned l) {
        const unsigned from = l ^ static_cast<unsigned>(across);
        return from / width <= l / width ? from : l;  // CUDA: later parts cannot be read from earlier ones
      },
      where);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, unsigned width = 32, Where where = Where::current()) {
  return shuffled(
      mask, value, [=](unsigned l) { return l % width + by < width ? l + by : l; }, where);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, unsigned width = 32, Where where = Where::current()) {
  return shuffled(
      mask, value, [=](unsigned l) { return l % width >= by ? l - by : l; }, where);
}
/// `from` may differ from lane to lane.
template <typename T>
T __shfl_sync(unsigned mask, T value, int from, unsigned width = 32, Where where = Where::current()) {
  struct Ask {
    T value;
    int from;
  };
  return emulated::with_warp<T>(
      mask, Ask{value, from},
      [&](const auto& lanes) {
        for (unsigned l = 0; l < emulated::warp_lanes; ++l) {
          if (lanes[l] == nullptr) continue;
          const unsigned source = l / width * width + static_cast<unsigned>(lanes[l]->argument.from) % width;
          if (lanes[source] == nullptr) return emulated::complain("a shuffle reads a lane that is not in its mask");
          lanes[l]->result = lanes[source]->argument.value;
        }
      },
      where);
}
inline unsigned __ballot_sync(unsigned mask, int holds, Where where = Where::current()) {
  return emulated::with_warp<unsigned>(
      mask, holds != 0,
      [](const auto& lanes) {
        unsigned votes = 0;
        for (unsigned l = 0; l < emulated::warp_lanes; ++l)
          if (lanes[l] != nullptr && lanes[l]->argument) votes |= 1u << l;
        for (auto* lane : lanes)
          if (lane != nullptr) lane->result = votes;
      },
      where);
}
inline int __any_sync(unsigned mask, int holds, Where where = Where::current()) {
  return __ballot_sync(mask, holds, where) != 0;
}
inline int __all_sync(unsigned mask, int holds, Where where = Where::current()) {
  return __ballot_sync(mask, !holds, where) == 0;
}

/// Fibers are not interrupted, so that these are as one.
template <typename T> T atomicAdd(T* address, T value) { return std::exchange(*address, *address + value); }
template <typename T> T atomicMax(T* address, T value) { return std::exchange(*address, std::max(*address, value)); }
template <typename T> T atomicXor(T* address, T value) { return std::exchange(*address, *address ^ value); }

/// kernel<<<blocks, threads, shared_bytes>>>(...), written as a call; what goes wrong fails the test.
template <typename Kernel> void emulate(dim3 blocks, dim3 threads, std::size_t shared_bytes, Kernel kernel) {
  const std::string wrong = emulated::run(blocks, threads, shared_bytes, kernel);
  if (!wrong.empty()) ADD_FAILURE() << wrong;
}

}  // namespace stepcast::kernels::gpu
