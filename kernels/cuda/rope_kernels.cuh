// GPU side only. Rotary position embedding (Su et al., "RoFormer", arXiv 2104.09864) in the halves form that Llama's
// published code uses: elements i and i + d/2 of a head turn by the angle position * base^(-2i/d). Device memory bounds it:
// each element is read and written once; the angles of a position are computed, once for all heads of the row.
#pragma once

#include "kernels/cuda/lane.cuh"

namespace stepcast::gpu {

constexpr float kRopeLog2Base = 13.287712379549449f;  // log2(10000), RoFormer section 3.2.2
constexpr unsigned kRopeThreads = 128;

/// A row is one position: row r stands at r % period. `columns` is whole heads, a head's half whole 16-byte vectors.
/// Shared: d/2 pairs of floats.
template <typename T>
__global__ void __launch_bounds__(kRopeThreads)
    rope_kernel(const T* x, T* y, std::int64_t rows, int columns, int head_dim, int period) {
  constexpr int W = kWidth<T>;
  float2* turn = dynamic_shared<float2>();
  const int half = head_dim / 2, vectors = half / W;  // of half a head
  const int pairs = columns / head_dim * vectors;
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    __syncthreads();  // whoever still uses the last row's angles
    const float position = static_cast<float>(r % period);
    for (int i = static_cast<int>(threadIdx.x); i < half; i += static_cast<int>(blockDim.x)) {
      const float angle = position * exp2f(-kRopeLog2Base * 2.0f * static_cast<float>(i) / static_cast<float>(head_dim));
      float s, c;
      sincosf(angle, &s, &c);
      turn[i] = make_float2(c, s);
    }
    __syncthreads();
    const std::int64_t start = r * columns / W;
    STEPCAST_UNROLL_BY(2)
    for (int p = static_cast<int>(threadIdx.x); p < pairs; p += static_cast<int>(blockDim.x)) {
      const int head = p / vectors, v = p % vectors;
      const std::int64_t low = start + head * 2 * vectors + v;
      float a[W], b[W], first[W], second[W];
      unpack<T>(load_streaming(x, low), a);
      unpack<T>(load_streaming(x, low + vectors), b);
      STEPCAST_UNROLL
      for (int e = 0; e < W; ++e) {
        const float2 t = turn[v * W + e];
        first[e] = a[e] * t.x - b[e] * t.y;
        second[e] = b[e] * t.x + a[e] * t.y;
      }
      store(y, low, pack<T>(first));
      store(y, low + vectors, pack<T>(second));
    }
  }
}

}  // namespace stepcast::gpu
