// GPU side only. 16-bit numbers to fp8 e4m3 under one scale for the whole tensor, and the largest absolute value for
// the next step's scale, as delayed scaling has it (Micikevicius et al., "FP8 Formats for Deep Learning", arXiv
// 2209.05433). Device memory bounds it: 2 bytes are read and 1 written per element. Chips before 8.9 have no such
// conversion and take many instructions for it; there they may be the bound.
#pragma once

#include "kernels/cuda/memory/reduce.cuh"
#include "kernels/cuda/memory/stream.cuh"

namespace stepcast::kernels::gpu {

/// `amax` holds a float that is not negative; such floats have the order of their bits as integers. At most one atomic
/// operation per block, and none where `amax` is as large already: thousands on one address would outlast the data.
/// What is read there may be older than another block's maximum, which costs an operation more and changes no result.
template <typename T>
__global__ void __launch_bounds__(kStreamThreads)
    quantize_kernel(const T* x, Fp8E4m3* y, float scale, float* amax, std::int64_t vectors) {
  __shared__ float of_warps[kWarp];
  float largest = 0;
  for_each_vector<4>(
      vectors, [&](std::int64_t i) { return load_streaming(x, i); },
      [&](std::int64_t i, uint4 raw) {
        float a[kWidth<T>];
        unpack<T>(raw, a);
        std::uint32_t words[2];
        STEPCAST_UNROLL
        for (int w = 0; w < 2; ++w) {
          const std::uint32_t low = fp8_pair_from_floats(a[4 * w] * scale, a[4 * w + 1] * scale);
          const std::uint32_t high = fp8_pair_from_floats(a[4 * w + 2] * scale, a[4 * w + 3] * scale);
          words[w] = low | high << 16;
        }
        STEPCAST_UNROLL
        for (int e = 0; e < kWidth<T>; ++e) largest = fmaxf(largest, fabsf(a[e]));
        reinterpret_cast<uint2*>(y)[i] = make_uint2(words[0], words[1]);
      });
  largest = over_block<Max>(largest, of_warps);
  if (threadIdx.x == 0 && largest > *static_cast<volatile const float*>(amax))
    atomicMax(reinterpret_cast<int*>(amax), __float_as_int(largest));
}

}  // namespace stepcast::kernels::gpu
