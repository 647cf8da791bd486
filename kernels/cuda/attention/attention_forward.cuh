// Attention's forward pass: one block per 128 queries of a head goes along the keys 64 at a time and never writes a
// score (FlashAttention, arXiv 2205.14135, with the loop order of FlashAttention-2, arXiv 2307.08691, section 3.1).
// Each warp has 32 queries, so that what it reads of keys and values feeds two products. While scores are made, the
// values are on their way; while these are multiplied, the next keys.
#pragma once

#include "kernels/cuda/attention/attention_tile.cuh"

namespace stepcast::kernels::gpu {

struct AttentionForwardArguments {
  const std::uint16_t *queries, *keys, *values;
  std::uint16_t* result;
  float* lse;  ///< [batch, heads, positions], natural logarithms
  AttentionSizes sizes;
};

template <int head_dim> struct ForwardTile {
  static constexpr int queries = 128, keys = 64, threads = 128;
  static constexpr int queries_of_warp = 32;
  static constexpr SharedAddress keys_at = queries * head_dim * 2;
  static constexpr SharedAddress values_at = keys_at + keys * head_dim * 2;
  static constexpr int shared_bytes = static_cast<int>(values_at) + keys * head_dim * 2;
};

/// Largest score so far and sum of exponentials of a lane's rows: [tile of 16][row g or g+8]. Sums are of this lane's
/// columns alone until the end; largest scores are known to the four lanes of a row.
struct SoftmaxRows {
  float largest[2][2], sum[2][2];
};

__device__ __forceinline__ float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffU, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffU, x, 2));
}
__device__ __forceinline__ float row_sum(float x) {
  x += __shfl_xor_sync(0xffffffffU, x, 1);
  return x + __shfl_xor_sync(0xffffffffU, x, 2);
}

/// Scores of keys that the query does not see become -inf. Only warps that have such go through theirs.
template <typename Tile>
__device__ __forceinline__ void mask_scores(
    float (&scores)[2][Tile::keys / 8][4], const AttentionSizes& sizes, int keys_from, int queries_from) {
  const int thread = thread_anew(), lane = thread % 32, warp_from = queries_from + thread / 32 * Tile::queries_of_warp;
  const int last_key = keys_from + Tile::keys - 1;
  if (last_key < sizes.positions && (!sizes.causal || last_key <= warp_from)) return;
  const int first_query = warp_from + lane / 4, first_key = keys_from + lane % 4 * 2;
  STEPCAST_UNROLL
  for (int m = 0; m < 2; ++m) STEPCAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int query = first_query + m * 16 + half * 8;
    const int last = sizes.causal ? min(query, sizes.positions - 1) : sizes.positions - 1;
    STEPCAST_UNROLL
    for (int n = 0; n < Tile::keys / 8; ++n) STEPCAST_UNROLL
    for (int e = 0; e < 2; ++e)
      if (first_key + n * 8 + e > last) scores[m][n][half * 2 + e] = -INFINITY;
  }
}

/// Scores become exponentials of their distance to the largest so far; what was added up before is brought to the new
/// one. The first 64 keys hold one that every query sees, so that the largest is finite from then on.
template <int tiles_n, int tiles_d>
__device__ __forceinline__ void softmax_step(
    float (&scores)[2][tiles_n][4], float (&results)[2][tiles_d][4], SoftmaxRows& rows, float scale_log2) {
  STEPCAST_UNROLL
  for (int m = 0; m < 2; ++m) STEPCAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    float largest = rows.largest[m][half];
    STEPCAST_UNROLL
    for (int n = 0; n < tiles_n; ++n)
      largest = fmaxf(largest, fmaxf(scores[m][n][half * 2], scores[m][n][half * 2 + 1]));
    largest = row_max(largest);
    const float kept = exp2_fast((rows.largest[m][half] - largest) * scale_log2);
    const float shift = largest * scale_log2;
    rows.largest[m][half] = largest;
    float sum = rows.sum[m][half] * kept;
    STEPCAST_UNROLL
    for (int n = 0; n < tiles_n; ++n) STEPCAST_UNROLL
    for (int e = 0; e < 2; ++e) {
      float& score = scores[m][n][half * 2 + e];
      score = exp2_fast(fmaf(score, scale_log2, -shift));
      sum += score;
    }
    rows.sum[m][half] = sum;
    STEPCAST_UNROLL
    for (int n = 0; n < tiles_d; ++n) {
      results[m][n][half * 2] *= kept;
      results[m][n][half * 2 + 1] *= kept;
    }
  }
}

template <HalfType type, int head_dim>
__device__ __forceinline__ void store_results(const AttentionForwardArguments& arguments,
    const float (&results)[2][head_dim / 8][4], const SoftmaxRows& rows, int batch, int head, int queries_from) {
  const AttentionSizes& sizes = arguments.sizes;
  const int thread = thread_anew(), lane = thread % 32, column = lane % 4 * 2;
  const int first_query = queries_from + thread / 32 * ForwardTile<head_dim>::queries_of_warp + lane / 4;
  STEPCAST_UNROLL
  for (int m = 0; m < 2; ++m) STEPCAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    const float sum = row_sum(rows.sum[m][half]);
    const int query = first_query + m * 16 + half * 8;
    if (query >= sizes.positions) continue;
    std::uint16_t* row = arguments.result + row_offset(sizes, sizes.heads, head_dim, batch, query, head) + column;
    const float share = __fdividef(1.0F, sum);
    STEPCAST_UNROLL
    for (int n = 0; n < head_dim / 8; ++n)
      *reinterpret_cast<std::uint32_t*>(row + n * 8) =
          pack_halves<type>(results[m][n][half * 2] * share, results[m][n][half * 2 + 1] * share);
    if (column == 0)
      arguments.lse[(static_cast<std::int64_t>(batch) * sizes.heads + head) * sizes.positions + query] =
          rows.largest[m][half] * sizes.scale + __logf(sum);
  }
}

/// Blocks: x along the queries (causal: the ones that see most keys first), y heads, z batch.
template <HalfType type, int head_dim>
__global__ void __launch_bounds__(ForwardTile<head_dim>::threads, 2)
    attention_forward_kernel(AttentionForwardArguments arguments) {
  using Tile = ForwardTile<head_dim>;
  const AttentionSizes& sizes = arguments.sizes;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int head = static_cast<int>(blockIdx.y), batch = static_cast<int>(blockIdx.z);
  const int queries_from = static_cast<int>(gridDim.x - 1 - blockIdx.x) * Tile::queries;
  const int kv_heads = sizes.heads / sizes.group, kv_head = head / sizes.group;
  const SharedAddress shared = shared_start();

  const auto load_keys = [&](const std::uint16_t* of, SharedAddress at, int block) {
    load_tile<head_dim, Tile::keys, Tile::threads>(shared + at,
        of + row_offset(sizes, kv_heads, head_dim, batch, block * Tile::keys, kv_head), kv_heads * head_dim,
        sizes.positions - block * Tile::keys);
    cp_async_commit();
  };
  load_tile<head_dim, Tile::queries, Tile::threads>(shared,
      arguments.queries + row_offset(sizes, sizes.heads, head_dim, batch, queries_from, head), sizes.heads * head_dim,
      sizes.positions - queries_from);
  load_keys(arguments.keys, Tile::keys_at, 0);

  auto query_rows = read_down_first<head_dim>(shared, warp * Tile::queries_of_warp, 0, lane);
  auto key_rows = read_right_first<head_dim>(shared + Tile::keys_at, 0, 0, lane);
  auto value_rows = read_down_first<head_dim>(shared + Tile::values_at, 0, 0, lane);
  float results[2][head_dim / 8][4] = {};
  SoftmaxRows rows{{{-INFINITY, -INFINITY}, {-INFINITY, -INFINITY}}, {}};

  const int seen = sizes.causal ? min(queries_from + Tile::queries, sizes.positions) : sizes.positions;
  const int blocks = (seen + Tile::keys - 1) / Tile::keys;
  STEPCAST_UNROLL_BY(1)
  for (int block = 0; block < blocks; ++block) {
    compute_anew(query_rows.lane_row);
    compute_anew(key_rows.lane_row);
    compute_anew(value_rows.lane_row);
    cp_async_wait_all();
    __syncthreads();  // the keys are there, and nobody reads the values before these any more
    load_keys(arguments.values, Tile::values_at, block);
    float scores[2][Tile::keys / 8][4] = {};
    multiply_rows<type, head_dim>(scores, query_rows, key_rows);
    mask_scores<Tile>(scores, sizes, block * Tile::keys, queries_from);

    cp_async_wait_all();
    __syncthreads();  // the values are there, and nobody reads these keys any more
    if (block + 1 < blocks) load_keys(arguments.keys, Tile::keys_at, block + 1);
    softmax_step(scores, results, rows, sizes.scale_log2);
    STEPCAST_UNROLL
    for (int k = 0; k < Tile::keys / 16; ++k) {
      std::uint32_t shares[2][4];
      STEPCAST_UNROLL
      for (int m = 0; m < 2; ++m) pack_sums<type>(shares[m], scores[m][2 * k], scores[m][2 * k + 1]);
      multiply_step<type>(results, shares, value_rows, k);
    }
  }
  store_results<type, head_dim>(arguments, results, rows, batch, head, queries_from);
}

}  // namespace stepcast::kernels::gpu
