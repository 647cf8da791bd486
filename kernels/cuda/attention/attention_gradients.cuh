// What stands around the kernel of attention's backward pass: its tiles, the pass before it (what each query needs to
// know of its row) and the one after it (sums in fp32, in the order in which threads hold them, into tensors of 2-byte
// elements).
#pragma once

#include "kernels/cuda/attention/attention_tile.cuh"

namespace stepcast::kernels::gpu {

/// 16 keys for each warp; each step brings `queries` queries. The queries' gradient is cut into 32 rows by a quarter of
/// head_dim for each warp.
template <int head_dim_, int warps_, int queries_, int stages_> struct BackwardTile {
  static constexpr int head_dim = head_dim_, warps = warps_, queries = queries_, stages = stages_;
  static constexpr int keys = warps * 16, threads = warps * 32, tiles = queries / 8;
  static_assert(warps == queries / 32 * 4);
  static constexpr SharedAddress values_at = keys * head_dim * 2;
  static constexpr SharedAddress scores_at = values_at * 2;
  static constexpr SharedAddress stages_at = scores_at + keys * queries * 2;
  // Within a stage: queries, gradients of their results, statistics.
  static constexpr SharedAddress gradient_at = queries * head_dim * 2;
  static constexpr SharedAddress statistics_at = gradient_at * 2;
  static constexpr SharedAddress stage_bytes = statistics_at + queries * 8;
  static constexpr int shared_bytes = static_cast<int>(stages_at + stages * stage_bytes);
  static_assert(stage_bytes % 256 == 0 && stages_at % 256 == 0);
  static __device__ __forceinline__ SharedAddress stage_at(int stage) {
    return stages_at + static_cast<SharedAddress>(stage) * stage_bytes;
  }
};

/// Adds a warp's fragments into global memory, in the order of threads.
template <int threads, int tiles_m, int tiles_n>
__device__ __forceinline__ void add_fragments(float* into, const float (&sums)[tiles_m][tiles_n][4]) {
  STEPCAST_UNROLL
  for (int m = 0; m < tiles_m; ++m) STEPCAST_UNROLL
  for (int n = 0; n < tiles_n; ++n) add_fragment(into, m * tiles_n + n, threads, sums[m][n]);
}

struct AttentionStatisticsArguments {
  const std::uint16_t *result, *result_gradient;
  const float* lse;
  float2* statistics;  ///< [batch, heads, padded]: {lse to the base 2, result . result_gradient}; infinity, 0 beyond
                       ///< positions
  int padded;          ///< positions rounded up to a step of queries
  AttentionSizes sizes;
};

constexpr int kStatisticsThreads = 256;

/// head_dim / 8 threads for each query. Blocks: x along the padded positions, y heads, z batch.
template <HalfType type, int head_dim>
__global__ void __launch_bounds__(kStatisticsThreads)
    attention_statistics_kernel(AttentionStatisticsArguments arguments) {
  constexpr int lanes = head_dim / 8;
  const AttentionSizes& sizes = arguments.sizes;
  const int query = static_cast<int>(blockIdx.x) * (kStatisticsThreads / lanes) + static_cast<int>(threadIdx.x) / lanes;
  const int head = static_cast<int>(blockIdx.y), batch = static_cast<int>(blockIdx.z);
  const bool there = query < sizes.positions;
  float delta = 0;
  if (there) {
    const std::int64_t offset = row_offset(sizes, sizes.heads, head_dim, batch, query, head) + threadIdx.x % lanes * 8;
    const uint4 result = *reinterpret_cast<const uint4*>(arguments.result + offset);
    const uint4 gradient = *reinterpret_cast<const uint4*>(arguments.result_gradient + offset);
    const std::uint32_t results[] = {result.x, result.y, result.z, result.w};
    const std::uint32_t gradients[] = {gradient.x, gradient.y, gradient.z, gradient.w};
    STEPCAST_UNROLL
    for (int i = 0; i < 4; ++i) {
      const float2 o = unpack_halves<type>(results[i]), g = unpack_halves<type>(gradients[i]);
      delta += o.x * g.x + o.y * g.y;
    }
  }
  STEPCAST_UNROLL
  for (int across = lanes / 2; across > 0; across /= 2) delta += __shfl_xor_sync(0xffffffffU, delta, across);
  if (threadIdx.x % lanes != 0 || query >= arguments.padded) return;
  const std::int64_t head_number = static_cast<std::int64_t>(batch) * sizes.heads + head;
  constexpr float log2_e = 1.4426950408889634F;
  const float lse = there ? arguments.lse[head_number * sizes.positions + query] * log2_e : INFINITY;
  arguments.statistics[head_number * arguments.padded + query] = make_float2(lse, delta);
}

struct AttentionConvertArguments {
  const float* sums;
  std::uint16_t* gradient;  ///< [batch, positions, heads, head_dim]
  int heads;
  float factor;
  AttentionSizes sizes;
};

/// Each warp holds tiles_m * 16 rows by head_dim / column_warps columns. Blocks: x along the positions, as many threads
/// and rows as the block that added up; y heads, z batch.
template <HalfType type, int head_dim, int threads, int tiles_m, int column_warps>
__global__ void __launch_bounds__(threads) attention_convert_kernel(AttentionConvertArguments arguments) {
  constexpr int columns = head_dim / column_warps, rows = threads / 32 / column_warps * tiles_m * 16;
  const AttentionSizes& sizes = arguments.sizes;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int head = static_cast<int>(blockIdx.y), batch = static_cast<int>(blockIdx.z);
  const int first = static_cast<int>(blockIdx.x) * rows + warp / column_warps * tiles_m * 16 + lane / 4;
  const int column = warp % column_warps * columns + lane % 4 * 2;
  const std::int64_t block = (static_cast<std::int64_t>(batch) * arguments.heads + head) * gridDim.x + blockIdx.x;
  const float* sums = arguments.sums + block * (rows * head_dim);
  STEPCAST_UNROLL
  for (int m = 0; m < tiles_m; ++m) {
    std::uint16_t* row =
        arguments.gradient + row_offset(sizes, arguments.heads, head_dim, batch, first + m * 16, head) + column;
    STEPCAST_UNROLL
    for (int n = 0; n < columns / 8; ++n) {
      const float4 sum = read_fragment(sums, m * (columns / 8) + n, threads);
      if (first + m * 16 < sizes.positions)
        *reinterpret_cast<std::uint32_t*>(row + n * 8) =
            pack_halves<type>(sum.x * arguments.factor, sum.y * arguments.factor);
      if (first + m * 16 + 8 < sizes.positions)
        *reinterpret_cast<std::uint32_t*>(row + n * 8 + 8 * arguments.heads * head_dim) =
            pack_halves<type>(sum.z * arguments.factor, sum.w * arguments.factor);
    }
  }
}

}  // namespace stepcast::kernels::gpu
