// GPU side only. Rotary position embedding (Su et al., "RoFormer", arXiv 2104.09864) in the halves form that Llama's
// published code uses: elements i and i + d/2 of a head turn by the angle position * base^(-2i/d). Device memory bounds
// it: each element is read and written once; the angles of a position are computed, once for all its heads.
#pragma once

#include "kernels/cuda/lane.cuh"

namespace stepcast::kernels::gpu {

constexpr float kRopeLog2Base = 13.287712379549449f;  // log2(10000), RoFormer section 3.2.2
constexpr unsigned kRopeThreads = 128;

/// Cosines and sines of a position, in shared memory. Lanes read numbers 4 or 8 apart: a gap after every 32 moves those
/// that would share a bank to the next one.
struct RopeTurns {
  float *cosines, *sines;
  __host__ __device__ static constexpr int at(int i) { return i + i / 32; }
  static constexpr std::size_t bytes(int half) { return 2 * sizeof(float) * static_cast<std::size_t>(at(half)); }
  __device__ explicit RopeTurns(int half) : cosines(dynamic_shared<float>()), sines(cosines + at(half)) {}
};

/// `total` heads, `heads` to a position; the one after `period` positions is the first again. Half a head is whole
/// 16-byte vectors. Shared: RopeTurns.
template <typename T>
__global__ void __launch_bounds__(kRopeThreads)
    rope_kernel(const T* x, T* y, std::int64_t total, int head_dim, int heads, int period) {
  constexpr int W = kWidth<T>;
  const int half = head_dim / 2, vectors = half / W;  // of half a head
  const RopeTurns turns(half);
  for (std::int64_t p = blockIdx.x; p * heads < total; p += gridDim.x) {
    __syncthreads();  // whoever still uses the last position's angles
    const float position = static_cast<float>(p % period);
    for (int i = static_cast<int>(threadIdx.x); i < half; i += static_cast<int>(blockDim.x)) {
      const float share = 2.0f * static_cast<float>(i) / static_cast<float>(head_dim);
      const float angle = position * exp2f(-kRopeLog2Base * share);
      float s, c;
      sincosf(angle, &s, &c);
      turns.cosines[RopeTurns::at(i)] = c;
      turns.sines[RopeTurns::at(i)] = s;
    }
    __syncthreads();
    const std::int64_t left = total - p * heads, start = p * heads * (2 * vectors);
    const int pairs = static_cast<int>(left < heads ? left : heads) * vectors;
    STEPCAST_UNROLL_BY(2)
    for (int i = static_cast<int>(threadIdx.x); i < pairs; i += static_cast<int>(blockDim.x)) {
      const int head = i / vectors, v = i % vectors;
      const std::int64_t low = start + head * 2 * vectors + v;
      float a[W], b[W], first[W], second[W];
      unpack<T>(load_streaming(x, low), a);
      unpack<T>(load_streaming(x, low + vectors), b);
      STEPCAST_UNROLL
      for (int e = 0; e < W; ++e) {
        const int turn = RopeTurns::at(v * W + e);
        const float c = turns.cosines[turn], s = turns.sines[turn];
        first[e] = a[e] * c - b[e] * s;
        second[e] = b[e] * c + a[e] * s;
      }
      store(y, low, pack<T>(first));
      store(y, low + vectors, pack<T>(second));
    }
  }
}

}  // namespace stepcast::kernels::gpu
