// Attention's backward pass (FlashAttention-2, arXiv 2307.08691, section 3.1.2): one block per keys of a head goes
// along the queries that see them, makes their scores again from the stored lse, and adds up the gradients of its keys
// and values in registers. Scores are made transposed, 16 keys of a warp by all queries of a step: then probabilities
// and score gradients stand in the registers of the next two products already, and only the gradients pass through
// shared memory, for the queries' gradient, to which all warps add. That one is added up over blocks in fp32 in global
// memory: five products in all. A kernel of its own for it would have no atomics, but make scores and their gradients
// twice, which is seven products.
#pragma once

#include "kernels/cuda/attention/attention_gradients.cuh"
#include "kernels/cuda/attention/attention_tile.cuh"

namespace stepcast::kernels::gpu {

struct AttentionBackwardArguments {
  const std::uint16_t *queries, *keys, *values, *result_gradient;
  const float2* statistics;      ///< attention_statistics_kernel's
  float* query_sums;             ///< fragments, per (batch, head, step of queries); zero before
  float *key_sums, *value_sums;  ///< fragments, per (batch, kv head, block of keys); zero before; only where group > 1
  std::uint16_t *key_gradient, *value_gradient;  ///< written here only where group is 1
  AttentionSizes sizes;
};

/// Scores become probabilities: exp(scale * score - lse). Queries beyond the last have an infinite lse.
template <typename Tile>
__device__ __forceinline__ void restore_probabilities(float (&scores)[1][Tile::tiles][4], const AttentionSizes& sizes,
    SharedAddress statistics, int first_key, int first_query, bool masked) {
  STEPCAST_UNROLL
  for (int n = 0; n < Tile::tiles; ++n) {
    const float4 two = load_shared_4(statistics + static_cast<SharedAddress>(n * 64));  // {lse, delta} of two queries
    STEPCAST_UNROLL
    for (int i = 0; i < 4; ++i) {
      float& score = scores[0][n][i];
      score = exp2_fast(fmaf(score, sizes.scale_log2, i % 2 == 0 ? -two.x : -two.z));
      const int key = first_key + i / 2 * 8, query = first_query + n * 8 + i % 2;
      if (masked && (key >= sizes.positions || (sizes.causal && key > query))) score = 0;
    }
  }
}

/// Products of values and result gradients become gradients of scores, p (v . do - delta), packed as probabilities are.
template <HalfType type, typename Tile>
__device__ __forceinline__ void score_gradients(std::uint32_t (&gradients)[Tile::tiles / 2][1][4],
    const std::uint32_t (&probabilities)[Tile::tiles / 2][1][4], const float (&products)[1][Tile::tiles][4],
    SharedAddress statistics) {
  STEPCAST_UNROLL
  for (int n = 0; n < Tile::tiles; ++n) {
    const float4 two = load_shared_4(statistics + static_cast<SharedAddress>(n * 64));
    STEPCAST_UNROLL
    for (int half = 0; half < 2; ++half) {
      const float2 p = unpack_halves<type>(probabilities[n / 2][0][n % 2 * 2 + half]);
      gradients[n / 2][0][n % 2 * 2 + half] =
          pack_halves<type>(p.x * (products[0][n][half * 2] - two.y), p.y * (products[0][n][half * 2 + 1] - two.w));
    }
  }
}

/// Rows of 16 keys of a warp, a chunk for each tile of 8 queries.
template <typename Tile>
__device__ __forceinline__ void store_score_gradients(
    SharedAddress tile, const std::uint32_t (&packed)[Tile::tiles / 2][1][4]) {
  using Gradients = SwizzledTile<Tile::queries>;
  const int thread = thread_anew(), lane = thread % 32, first_row = thread / 32 * 16;
  STEPCAST_UNROLL
  for (int k = 0; k < Tile::tiles / 2; ++k) STEPCAST_UNROLL
  for (int i = 0; i < 4; ++i)
    store_shared(Gradients::chunk(tile, first_row + lane / 4 + i % 2 * 8, k * 2 + i / 2) +
                     static_cast<SharedAddress>(lane % 4 * 4),
        packed[k][0][i]);
}

/// One warp's gradients of keys or values, times a factor: straight to their tensor.
template <HalfType type, typename Tile>
__device__ __forceinline__ void store_key_rows(std::uint16_t* tensor, const float (&sums)[1][Tile::head_dim / 8][4],
    float factor, const AttentionSizes& sizes, int batch, int head, int first_key, int column) {
  STEPCAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int key = first_key + half * 8;
    if (key >= sizes.positions) continue;
    std::uint16_t* row =
        tensor + row_offset(sizes, sizes.heads / sizes.group, Tile::head_dim, batch, key, head) + column;
    STEPCAST_UNROLL
    for (int n = 0; n < Tile::head_dim / 8; ++n)
      *reinterpret_cast<std::uint32_t*>(row + n * 8) =
          pack_halves<type>(sums[0][n][half * 2] * factor, sums[0][n][half * 2 + 1] * factor);
  }
}

/// Blocks: x along the keys (causal: the first are seen by most queries), y heads, z batch.
template <HalfType type, typename Tile>
__global__ void __launch_bounds__(Tile::threads) attention_backward_kernel(AttentionBackwardArguments arguments) {
  constexpr int head_dim = Tile::head_dim, tiles = Tile::tiles;
  const AttentionSizes& sizes = arguments.sizes;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int head = static_cast<int>(blockIdx.y), batch = static_cast<int>(blockIdx.z), kv_head = head / sizes.group;
  const int kv_heads = sizes.heads / sizes.group;
  const int keys_from = static_cast<int>(blockIdx.x) * Tile::keys;
  const int steps = (sizes.positions + Tile::queries - 1) / Tile::queries;
  const int first_step = sizes.causal ? keys_from / Tile::queries : 0;
  const int first_of_head = (batch * sizes.heads + head) * steps;  // number of its first step among those of all heads
  const SharedAddress shared = shared_start();

  const auto load_step = [&](int step) {
    const SharedAddress stage = shared + Tile::stage_at(step % Tile::stages);
    const int from = step * Tile::queries, stride = sizes.heads * head_dim;
    const std::int64_t offset = row_offset(sizes, sizes.heads, head_dim, batch, from, head);
    load_tile<head_dim, Tile::queries, Tile::threads>(
        stage, arguments.queries + offset, stride, sizes.positions - from);
    load_tile<head_dim, Tile::queries, Tile::threads>(
        stage + Tile::gradient_at, arguments.result_gradient + offset, stride, sizes.positions - from);
    if (threadIdx.x < Tile::queries / 2)  // 16 bytes are two queries' statistics
      cp_async_16(stage + Tile::statistics_at + threadIdx.x * 16,
          arguments.statistics + static_cast<std::int64_t>(first_of_head + step) * Tile::queries + threadIdx.x * 2,
          true);
    cp_async_commit();
  };
  {
    const std::int64_t offset = row_offset(sizes, kv_heads, head_dim, batch, keys_from, kv_head);
    const int stride = kv_heads * head_dim, valid = sizes.positions - keys_from;
    load_tile<head_dim, Tile::keys, Tile::threads>(shared, arguments.keys + offset, stride, valid);
    load_tile<head_dim, Tile::keys, Tile::threads>(shared + Tile::values_at, arguments.values + offset, stride, valid);
    load_step(first_step);
  }

  const int warp_row = warp * 16, warp_queries = warp / 4 * 32, warp_chunk = warp % 4 * (head_dim / 32);
  auto keys_by_row = read_down_first<head_dim>(shared, warp_row, 0, lane);
  auto values_by_row = read_down_first<head_dim>(shared + Tile::values_at, warp_row, 0, lane);
  auto keys_by_column = read_down_first<head_dim>(shared, 0, warp_chunk, lane);
  auto gradients_by_column = read_right_first<Tile::queries>(shared + Tile::scores_at, 0, warp_queries / 8, lane);
  const int first_key = keys_from + warp_row + lane / 4;  // of this lane
  float key_sums[1][head_dim / 8][4] = {}, value_sums[1][head_dim / 8][4] = {};
  STEPCAST_UNROLL_BY(1)
  for (int step = first_step; step < steps; ++step) {
    compute_anew(keys_by_row.lane_row);
    compute_anew(values_by_row.lane_row);
    compute_anew(keys_by_column.lane_row);
    compute_anew(gradients_by_column.lane_row);
    if (Tile::stages == 1 && step > first_step) {
      __syncthreads();  // nobody reads the step before any more
      load_step(step);
    }
    cp_async_wait_all();
    __syncthreads();  // this step is there; the one before is done with, and so are its score gradients
    if (Tile::stages > 1 && step + 1 < steps) load_step(step + 1);
    const SharedAddress stage = shared + Tile::stage_at(step % Tile::stages);
    const SharedAddress statistics = stage + Tile::statistics_at + static_cast<SharedAddress>(lane % 4 * 16);
    const int queries_from = step * Tile::queries;
    std::uint32_t probabilities[tiles / 2][1][4], gradients[tiles / 2][1][4];
    {
      float scores[1][tiles][4] = {};
      multiply_rows<type, head_dim>(scores, keys_by_row, read_right_first<head_dim>(stage, 0, 0, lane));
      const bool masked =
          keys_from + Tile::keys > sizes.positions || (sizes.causal && keys_from + warp_row + 15 > queries_from);
      restore_probabilities<Tile>(scores, sizes, statistics, first_key, queries_from + lane % 4 * 2, masked);
      STEPCAST_UNROLL
      for (int k = 0; k < tiles / 2; ++k) pack_sums<type>(probabilities[k][0], scores[0][2 * k], scores[0][2 * k + 1]);
    }
    {
      float products[1][tiles][4] = {};
      multiply_rows<type, head_dim>(
          products, values_by_row, read_right_first<head_dim>(stage + Tile::gradient_at, 0, 0, lane));
      score_gradients<type, Tile>(gradients, probabilities, products, statistics);
    }
    store_score_gradients<Tile>(shared + Tile::scores_at, gradients);
    const auto result_gradients = read_down_first<head_dim>(stage + Tile::gradient_at, 0, 0, lane);
    const auto queries = read_down_first<head_dim>(stage, 0, 0, lane);
    STEPCAST_UNROLL
    for (int k = 0; k < tiles / 2; ++k) multiply_step<type>(value_sums, probabilities[k], result_gradients, k);
    STEPCAST_UNROLL
    for (int k = 0; k < tiles / 2; ++k) multiply_step<type>(key_sums, gradients[k], queries, k);

    __syncthreads();  // all score gradients of this step are there
    float query_sums[2][head_dim / 32][4] = {};
    // Not unrolled in full: loads that the compiler moves ahead would take more registers than there are.
    STEPCAST_UNROLL_BY(2)
    for (int k = 0; k < Tile::keys / 16; ++k) {
      std::uint32_t a[2][4];
      STEPCAST_UNROLL
      for (int m = 0; m < 2; ++m) ldmatrix_x4_trans(a[m], gradients_by_column.at(k * 16, m * 2));
      multiply_step<type>(query_sums, a, keys_by_column, k);
    }
    add_fragments<Tile::threads>(
        arguments.query_sums + static_cast<std::int64_t>(first_of_head + step) * (Tile::queries * head_dim),
        query_sums);
  }

  if (sizes.group == 1) {
    store_key_rows<type, Tile>(
        arguments.key_gradient, key_sums, sizes.scale, sizes, batch, head, first_key, lane % 4 * 2);
    store_key_rows<type, Tile>(arguments.value_gradient, value_sums, 1, sizes, batch, head, first_key, lane % 4 * 2);
  } else {
    const std::int64_t block = (static_cast<std::int64_t>(batch) * kv_heads + kv_head) * gridDim.x + blockIdx.x;
    add_fragments<Tile::threads>(arguments.key_sums + block * (Tile::keys * head_dim), key_sums);
    add_fragments<Tile::threads>(arguments.value_sums + block * (Tile::keys * head_dim), value_sums);
  }
}

}  // namespace stepcast::kernels::gpu
