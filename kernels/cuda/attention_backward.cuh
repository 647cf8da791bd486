// Attention's backward pass (FlashAttention-2, arXiv 2307.08691, section 3.1.2): one block per keys of a head goes along the
// queries that see them, makes their scores again from the stored lse, and adds up the gradients of its keys and values in
// registers. Scores are made transposed, 16 keys of a warp by all queries of a step: then probabilities and score gradients
// stand in the registers of the next two products already, and only the gradients pass through shared memory, for the
// queries' gradient, to which all warps add. That one is added up over blocks in fp32 in global memory: five products in all.
// A kernel of its own for it would have no atomics, but make scores and their gradients twice, which is seven products.
#pragma once

#include "kernels/cuda/attention_gradients.cuh"
#include "kernels/cuda/attention_tile.cuh"

namespace stepcast::gpu {

struct AttentionBackwardArguments {
  const std::uint16_t *queries, *keys, *values, *result_gradient;
  const float2* statistics;      ///< attention_statistics_kernel's
  float* query_sums;             ///< fragments, per (batch, head, step of queries); zero before
  float *key_sums, *value_sums;  ///< fragments, per (batch, kv head, block of keys); zero before; only where group > 1
  std::uint16_t *key_gradient, *value_gradient;  ///< written here only where group is 1
  AttentionSizes sizes;
};

/// Scores and gradients of one step: this warp's 16 keys by the step's queries.
template <int tiles>
struct BackwardStep {
  float probabilities[1][tiles][4], gradients[1][tiles][4];
};

/// Scores become probabilities: exp(scale * score - lse). Queries beyond the last have an infinite lse.
template <typename Tile>
__device__ __forceinline__ void restore_probabilities(float (&scores)[1][Tile::tiles][4], const AttentionSizes& sizes,
                                                      SharedAddress statistics, int first_key, int first_query, bool masked) {
#pragma unroll
  for (int n = 0; n < Tile::tiles; ++n) {
    const float4 two = load_shared_4(statistics + static_cast<SharedAddress>(n * 64));  // {lse, delta} of two queries
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& score = scores[0][n][i];
      score = exp2_fast(fmaf(score, sizes.scale_log2, i % 2 == 0 ? -two.x : -two.z));
      const int key = first_key + i / 2 * 8, query = first_query + n * 8 + i % 2;
      if (masked && (key >= sizes.positions || (sizes.causal && key > query))) score = 0;
    }
  }
}

/// Products of values and result gradients become gradients of scores: p (v . do - delta).
template <typename Tile>
__device__ __forceinline__ void score_gradients(BackwardStep<Tile::tiles>& step, SharedAddress statistics) {
#pragma unroll
  for (int n = 0; n < Tile::tiles; ++n) {
    const float4 two = load_shared_4(statistics + static_cast<SharedAddress>(n * 64));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& gradient = step.gradients[0][n][i];
      gradient = step.probabilities[0][n][i] * (gradient - (i % 2 == 0 ? two.y : two.w));
    }
  }
}

/// Rows of 16 keys of a warp, a chunk for each tile of 8 queries.
template <typename Tile>
__device__ __forceinline__ void store_score_gradients(SharedAddress tile, const std::uint32_t (&packed)[Tile::tiles / 2][1][4],
                                                      int first_row, int lane) {
  using Gradients = SwizzledTile<Tile::queries>;
#pragma unroll
  for (int k = 0; k < Tile::tiles / 2; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      store_shared(Gradients::chunk(tile, first_row + lane / 4 + i % 2 * 8, k * 2 + i / 2) +
                       static_cast<SharedAddress>(lane % 4 * 4),
                   packed[k][0][i]);
}

/// One warp's gradients of keys or values, times a factor: straight to their tensor.
template <HalfType type, typename Tile>
__device__ __forceinline__ void store_key_rows(std::uint16_t* tensor, const float (&sums)[1][Tile::head_dim / 8][4], float factor,
                                               const AttentionSizes& sizes, int batch, int head, int first_key, int column) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int key = first_key + half * 8;
    if (key >= sizes.positions) continue;
    std::uint16_t* row = tensor + row_offset(sizes, sizes.heads / sizes.group, Tile::head_dim, batch, key, head) + column;
#pragma unroll
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
  const std::int64_t head_number = static_cast<std::int64_t>(batch) * sizes.heads + head;
  const SharedAddress shared = dynamic_shared();

  const auto load_step = [&](int step) {
    const SharedAddress stage = shared + Tile::stage_at(step % Tile::stages);
    const int from = step * Tile::queries, stride = sizes.heads * head_dim;
    const std::int64_t offset = row_offset(sizes, sizes.heads, head_dim, batch, from, head);
    load_tile<head_dim, Tile::queries, Tile::threads>(stage, arguments.queries + offset, stride, sizes.positions - from);
    load_tile<head_dim, Tile::queries, Tile::threads>(stage + Tile::gradient_at, arguments.result_gradient + offset, stride,
                                                      sizes.positions - from);
    if (threadIdx.x < Tile::queries / 2)  // 16 bytes are two queries' statistics
      cp_async_16(stage + Tile::statistics_at + threadIdx.x * 16,
                  arguments.statistics + (head_number * steps * Tile::queries + from) + threadIdx.x * 2, true);
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

#pragma unroll 1
  for (int step = first_step; step < steps; ++step) {
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
      BackwardStep<tiles> made = {};
      multiply_rows<type, head_dim>(made.probabilities, keys_by_row, read_right_first<head_dim>(stage, 0, 0, lane));
      const bool masked = keys_from + Tile::keys > sizes.positions || (sizes.causal && keys_from + warp_row + 15 > queries_from);
      restore_probabilities<Tile>(made.probabilities, sizes, statistics, first_key, queries_from + lane % 4 * 2, masked);
      multiply_rows<type, head_dim>(made.gradients, values_by_row,
                                    read_right_first<head_dim>(stage + Tile::gradient_at, 0, 0, lane));
      score_gradients<Tile>(made, statistics);
#pragma unroll
      for (int k = 0; k < tiles / 2; ++k) {
        pack_sums<type>(probabilities[k][0], made.probabilities[0][2 * k], made.probabilities[0][2 * k + 1]);
        pack_sums<type>(gradients[k][0], made.gradients[0][2 * k], made.gradients[0][2 * k + 1]);
      }
    }
    store_score_gradients<Tile>(shared + Tile::scores_at, gradients, warp_row, lane);
    const auto result_gradients = read_down_first<head_dim>(stage + Tile::gradient_at, 0, 0, lane);
    const auto queries = read_down_first<head_dim>(stage, 0, 0, lane);
#pragma unroll
    for (int k = 0; k < tiles / 2; ++k) multiply_step<type>(value_sums, probabilities[k], result_gradients, k);
#pragma unroll
    for (int k = 0; k < tiles / 2; ++k) multiply_step<type>(key_sums, gradients[k], queries, k);

    __syncthreads();  // all score gradients of this step are there
    float query_sums[2][head_dim / 32][4] = {};
#pragma unroll
    for (int k = 0; k < Tile::keys / 16; ++k) {
      std::uint32_t a[2][4];
#pragma unroll
      for (int m = 0; m < 2; ++m) ldmatrix_x4_trans(a[m], gradients_by_column.at(k * 16, m * 2));
      multiply_step<type>(query_sums, a, keys_by_column, k);
    }
    add_fragments<Tile::threads>(
        arguments.query_sums + (head_number * steps + step) * (Tile::queries * head_dim), query_sums);
  }

  if (sizes.group == 1) {
    store_key_rows<type, Tile>(arguments.key_gradient, key_sums, sizes.scale, sizes, batch, head, first_key, lane % 4 * 2);
    store_key_rows<type, Tile>(arguments.value_gradient, value_sums, 1, sizes, batch, head, first_key, lane % 4 * 2);
  } else {
    const std::int64_t block = (static_cast<std::int64_t>(batch) * kv_heads + kv_head) * gridDim.x + blockIdx.x;
    add_fragments<Tile::threads>(arguments.key_sums + block * (Tile::keys * head_dim), key_sums);
    add_fragments<Tile::threads>(arguments.value_sums + block * (Tile::keys * head_dim), value_sums);
  }
}

}  // namespace stepcast::gpu
