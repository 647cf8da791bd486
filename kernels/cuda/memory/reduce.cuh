// GPU side only. Sums, maxima and exclusive ors over the lanes of a warp and the warps of a block; every lane gets the
// result.
#pragma once

#include "kernels/cuda/lane.cuh"

namespace stepcast::kernels::gpu {

struct Sum {
  static constexpr float nothing = 0;
  __device__ static float of(float a, float b) { return a + b; }
};
struct Max {
  static constexpr float nothing = -3.402823466e38f;  // the lowest float, not infinity: inf - inf is no number
  __device__ static float of(float a, float b) { return fmaxf(a, b); }
};

struct Xor {
  static constexpr unsigned nothing = 0;
  __device__ static unsigned of(unsigned a, unsigned b) { return a ^ b; }
};

template <typename How, typename X> __device__ X over_warp(X x) {
  STEPCAST_UNROLL
  for (int across = 16; across > 0; across /= 2) x = How::of(x, __shfl_xor_sync(kAllLanes, x, across));
  return x;
}

/// Of a block in one dimension of whole warps. `scratch` is 32 numbers of shared memory; it may be used again at once.
template <typename How, typename X> __device__ X over_block(X x, X* scratch) {
  x = over_warp<How>(x);
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  if (warps == 1) return x;
  __syncthreads();  // whoever still reads what was in scratch before
  if (lane == 0) scratch[warp] = x;
  __syncthreads();
  return over_warp<How>(lane < warps ? scratch[lane] : How::nothing);
}

/// Over the threads that share a row: one warp of several in the block, or the whole block.
template <typename How, bool OneWarp> __device__ float over_row(float x, float* scratch) {
  if constexpr (OneWarp) return over_warp<How>(x);
  else return over_block<How>(x, scratch);
}

}  // namespace stepcast::kernels::gpu
