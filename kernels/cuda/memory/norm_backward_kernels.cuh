// GPU side only. The gradient of RMSNorm: with s = 1 / sqrt(mean(x^2) + epsilon) and g = dy weight,
//   dx = s g - x s^3 mean(g x),   dweight = sum over rows of dy x s.
// Device memory bounds it: x and dy are read and dx written once. Blocks go over many rows each; every block adds up
// its own part of dweight, in registers, and writes it once: blocks x columns x 4 bytes, which weight_gradient_kernel
// reads again, mostly from the level-2 cache. Rows that registers hold make up to 32 or 64 KiB of sums on each
// multiprocessor: with 132 of those 4 or 9 MB written and read, beside 400 MB of 16384 rows of 4096 in bf16.
#pragma once

#include "kernels/cuda/memory/norm_kernels.cuh"

namespace stepcast::kernels::gpu {

/// Sums of one block for the columns of a row that each thread holds.
template <typename T, int Vectors> struct HeldSums {
  float sum[Vectors][kWidth<T>] = {};
  __device__ void write(float* partial, int vectors) {
    STEPCAST_UNROLL
    for (int k = 0; k < Vectors; ++k) {
      const int v = static_cast<int>(threadIdx.x + k * blockDim.x);
      if (v >= vectors) continue;
      STEPCAST_UNROLL
      for (int e = 0; e < kWidth<T>; e += 4)
        *reinterpret_cast<float4*>(partial + v * kWidth<T> + e) =
            make_float4(sum[k][e], sum[k][e + 1], sum[k][e + 2], sum[k][e + 3]);
    }
  }
};

/// What both passes over a row need.
struct NormGradient {
  float scale, back;  ///< s, and s^3 mean(g x)
};

__device__ inline NormGradient norm_gradient(float squares, float dot, int columns) {
  const float n = static_cast<float>(columns);
  const float scale = rsqrtf(over_block<Sum>(squares, scratch()) / n + kNormEpsilon);
  return {scale, scale * scale * scale * (over_block<Sum>(dot, scratch()) / n)};
}

/// Zeros for weight_gradient_kernel, which comes after this one, to add to.
__device__ inline void clear(float* dweight, int columns) {
  const int step = static_cast<int>(gridDim.x * blockDim.x);
  for (int c = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); c < columns; c += step) dweight[c] = 0;
}

/// `partial`: blocks x columns. For rows of up to Vectors vectors per thread.
template <typename T, int Vectors>
__global__ void __launch_bounds__(512) norm_backward_kernel(
    const T* x, const T* dy, const T* weight, T* dx, float* partial, float* dweight, std::int64_t rows, int columns) {
  constexpr int W = kWidth<T>;
  clear(dweight, columns);
  HeldSums<T, Vectors> sums;
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const RowPlace<T> place(r, columns);
    HeldRow<T, Vectors> row(nullptr, 0), gradient(nullptr, 0);
    row.load(x, place, 0);
    gradient.load(dy, place, 0);
    float squares = 0, dot = 0;
    for_both(row, gradient, place, [&](int v, float(&a)[W], float(&d)[W]) {
      float w[W];
      unpack<T>(load_cached(weight, v), w);
      STEPCAST_UNROLL
      for (int e = 0; e < W; ++e) {
        squares = fmaf(a[e], a[e], squares);
        dot = fmaf(a[e], d[e] * w[e], dot);
      }
    });
    const NormGradient all = norm_gradient(squares, dot, columns);
    STEPCAST_UNROLL
    for (int k = 0; k < Vectors; ++k) {
      const int v = static_cast<int>(threadIdx.x + k * blockDim.x);
      if (v >= place.vectors) continue;
      float a[W], d[W], w[W], out[W];
      row.get(place, k, v, a);
      gradient.get(place, k, v, d);
      unpack<T>(load_cached(weight, v), w);
      STEPCAST_UNROLL
      for (int e = 0; e < W; ++e) {
        out[e] = all.scale * d[e] * w[e] - all.back * a[e];
        sums.sum[k][e] = fmaf(d[e] * a[e], all.scale, sums.sum[k][e]);
      }
      place.put(dx, v, out);
    }
  }
  sums.write(partial + static_cast<std::int64_t>(blockIdx.x) * columns, columns / W);
}

/// Longer rows: twice over each, the second time mostly from the level-2 cache; the block's sums stay where they are
/// written in the end, also mostly in that cache.
template <typename T>
__global__ void __launch_bounds__(512) norm_backward_long_kernel(
    const T* x, const T* dy, const T* weight, T* dx, float* partial, float* dweight, std::int64_t rows, int columns) {
  constexpr int W = kWidth<T>;
  clear(dweight, columns);
  float* sums = partial + static_cast<std::int64_t>(blockIdx.x) * columns;
  for (int c = static_cast<int>(threadIdx.x) * W; c < columns; c += static_cast<int>(blockDim.x) * W)
    for (int e = 0; e < W; ++e) sums[c + e] = 0;
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const RowPlace<T> place(r, columns);
    LongRow<T> row(nullptr, 0), gradient(nullptr, 0);
    row.load(x, place, 0);
    gradient.load(dy, place, 0);
    float squares = 0, dot = 0;
    for_both(row, gradient, place, [&](int v, float(&a)[W], float(&d)[W]) {
      float w[W];
      unpack<T>(load_cached(weight, v), w);
      for (int e = 0; e < W; ++e) {
        squares = fmaf(a[e], a[e], squares);
        dot = fmaf(a[e], d[e] * w[e], dot);
      }
    });
    const NormGradient all = norm_gradient(squares, dot, columns);
    for_both(row, gradient, place, [&](int v, float(&a)[W], float(&d)[W]) {
      float w[W], out[W];
      unpack<T>(load_cached(weight, v), w);
      for (int e = 0; e < W; ++e) {
        out[e] = all.scale * d[e] * w[e] - all.back * a[e];
        sums[v * W + e] += d[e] * a[e] * all.scale;
      }
      place.put(dx, v, out);
    });
  }
}

/// Adds up `partials` rows of `columns`: 32 columns to a block, a warp to every 32nd row (or each of fewer), and
/// several blocks to the same columns where the columns alone would leave multiprocessors idle; each adds its part to
/// dweight.
constexpr unsigned kSumLanes = 32;
__global__ void __launch_bounds__(kWarp* kSumLanes)
    weight_gradient_kernel(const float* partial, float* dweight, int partials, int columns) {
  float* sums = dynamic_shared<float>();
  const unsigned groups = (static_cast<unsigned>(columns) + kWarp - 1) / kWarp;
  const unsigned group = blockIdx.x % groups, part = blockIdx.x / groups, parts = gridDim.x / groups;
  const int c = static_cast<int>(group * kWarp + threadIdx.x);
  float sum = 0;
  if (c < columns) {
    STEPCAST_UNROLL_BY(4)
    for (unsigned p = part * blockDim.y + threadIdx.y; p < static_cast<unsigned>(partials); p += parts * blockDim.y)
      sum += partial[static_cast<std::int64_t>(p) * columns + c];
  }
  sums[threadIdx.y * kWarp + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || c >= columns) return;
  STEPCAST_UNROLL_BY(8)
  for (unsigned y = 1; y < blockDim.y; ++y) sum += sums[y * kWarp + threadIdx.x];
  atomicAdd(dweight + c, sum);
}

inline LaunchShape weight_gradient_shape(unsigned partials, int columns, int sm_count) {
  const unsigned groups = (static_cast<unsigned>(columns) + kWarp - 1) / kWarp;
  const unsigned lanes = partials < kSumLanes ? partials : kSumLanes;
  const unsigned useful = (partials + kSumLanes - 1) / kSumLanes;
  const unsigned filling = static_cast<unsigned>(sm_count) / groups;
  const unsigned parts = filling > useful ? useful : filling > 1 ? filling : 1;
  return {
      .blocks = groups * parts, .threads = kWarp, .rows_at_once = lanes, .shared_bytes = sizeof(float) * kWarp * lanes};
}

struct NormBackwardPlan {
  LaunchShape rows, sums;
  int held = 0;  ///< vectors per thread; 0: the kernel for long rows
};

template <typename T> NormBackwardPlan norm_backward_plan(std::int64_t rows, int columns, int sm_count) {
  constexpr unsigned kMostThreads = 512;
  const unsigned vectors = static_cast<unsigned>(columns / kWidth<T>);
  NormBackwardPlan plan;
  plan.held = vectors <= 2 * kMostThreads ? 2 : vectors <= 4 * kMostThreads ? 4 : 0;
  const unsigned each = plan.held == 0 ? vectors : static_cast<unsigned>(plan.held) * kWarp;
  plan.rows.threads = plan.held == 0 ? kMostThreads : (vectors + each - 1) / each * kWarp;
  // 512 threads with two rows of 32 bytes on the way each are 32 KiB per multiprocessor.
  const std::int64_t full = static_cast<std::int64_t>(sm_count) * (kMostThreads / plan.rows.threads);
  // A block that had one row only would write 4 bytes of sums for each 6 of the row; but no multiprocessor idles.
  const std::int64_t worth = rows / 2 > sm_count ? rows / 2 : sm_count;
  const std::int64_t blocks = worth < full ? worth : full;
  plan.rows.blocks = static_cast<unsigned>(rows < blocks ? rows : blocks);
  plan.rows.shared_bytes = kScratchBytes;
  plan.sums = weight_gradient_shape(plan.rows.blocks, columns, sm_count);
  return plan;
}

}  // namespace stepcast::kernels::gpu
