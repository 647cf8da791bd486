// Attention: what its weights are, and its FLOPs per token.
#include "model/network/attention_counts.h"

#include <algorithm>

#include "model/network/printed_flops.h"

namespace stepcast {
namespace detail {
namespace {

Count value_size(const NetworkSpec& n) {
  return n.latent.kv_rank > 0 ? n.latent.value_dim : n.value_dim > 0 ? n.value_dim : n.head_dim;
}

/// Of what attention gives.
Count gate_matrix(const NetworkSpec& n) {
  return n.attention_gate ? n.hidden * n.heads * (n.head_gate ? 1 : value_size(n)) : 0;
}

/// Multi-head latent attention, DeepSeek-V2 (arXiv 2405.04434) eq. 9-19: queries and key-values go through low ranks;
/// the rotary part of the keys is projected straight from the hidden state and shared by all heads.
Count latent_matrices(const NetworkSpec& n) {
  const LatentAttention& a = n.latent;
  const Count q = n.heads * (a.nope_dim + a.rope_dim);
  const Count queries = a.q_rank == 0 ? n.hidden * q : (n.hidden + q) * a.q_rank;
  const Count keys_values = n.hidden * (a.kv_rank + a.rope_dim) + a.kv_rank * n.heads * (a.nope_dim + a.value_dim);
  return queries + keys_values + n.heads * a.value_dim * n.hidden + gate_matrix(n);
}

/// Queries, keys and outputs (deepseek_v4/modeling_deepseek_v4.py); what compresses keys is the layer's.
Count compressed_matrices(const NetworkSpec& n) {
  const CompressedAttention& a = n.compressed;
  const Count width = n.heads * n.head_dim;
  return (n.hidden + width) * a.q_rank + n.hidden * n.head_dim + width * a.o_rank + a.o_groups * a.o_rank * n.hidden;
}

}  // namespace

Count attention_matrices(const NetworkSpec& n) {
  if (n.compressed.q_rank > 0) return compressed_matrices(n);
  if (n.latent.kv_rank > 0) return latent_matrices(n);
  const Count keys = n.borrowed_keys ? 0 : n.kv_heads * n.head_dim,
              values = n.key_is_value || n.borrowed_keys ? 0 : n.kv_heads * value_size(n);
  const Count q = n.heads * n.head_dim, queries = n.query_rank > 0 ? (n.hidden + q) * n.query_rank : n.hidden * q;
  return queries + n.hidden * (keys + values + n.heads * value_size(n)) + gate_matrix(n);
}

/// Biases of the projections, and the norms inside the attention.
Count attention_vectors(const NetworkSpec& n) {
  if (n.compressed.q_rank > 0) return norm_size(n, n.compressed.q_rank) + norm_size(n, n.head_dim) + n.heads;
  if (n.latent.kv_rank > 0) return norm_size(n, n.latent.q_rank) + norm_size(n, n.latent.kv_rank);
  Count vectors = n.query_rank > 0 ? norm_size(n, n.query_rank) : 0;
  if (n.linear_bias || n.qkv_bias)
    vectors +=
        (n.heads + (n.no_key_bias ? 0 : n.kv_heads)) * n.head_dim + (n.key_is_value ? 0 : n.kv_heads * value_size(n));
  if (n.linear_bias || n.out_bias) vectors += n.hidden;
  if (n.qk_norm) {
    const bool all = n.qk_norm_width || n.qk_norm_heads;
    const Count keys = n.borrowed_keys ? 0 : all ? n.kv_heads : 1, width = ((all ? n.heads : 1) + keys) * n.head_dim;
    vectors += n.qk_norm_rms || n.qk_norm_heads ? width : norm_size(n, width);
  }
  return vectors + (n.attention_sinks ? n.heads : 0);
}

CrossMatrices cross_matrices(const NetworkSpec& n) {
  const Count q = n.heads * n.head_dim, kv = n.kv_heads * n.head_dim;
  const NetworkSpec& encoder = n.encoders.front();
  return {2 * n.hidden * q, 2 * (encoder.projectors.empty() ? encoder.hidden : n.hidden) * kv};
}

namespace {

/// Positions that layers look at, and whether nothing goes back to them.
double seen_positions(const NetworkSpec& encoder) {
  return static_cast<double>(encoder.sequence * std::max<Count>(1, encoder.images));
}

bool is_frozen(const NetworkSpec& encoder) {
  return encoder.frozen && (encoder.projectors.empty() || encoder.frozen_projectors);
}

}  // namespace

/// The indexer's queries, keys and weights of its heads; a LayerNorm of its keys. Of plain attention queries and keys,
/// a norm of each.
Count index_matrices(const NetworkSpec& n) {
  const SparseAttention& s = n.sparse;
  if (s.pooled > 0) return 0;
  if (n.latent.kv_rank == 0) return n.hidden * (s.heads + 1) * s.head_dim;
  return n.latent.q_rank * s.heads * s.head_dim + n.hidden * (s.head_dim + s.heads);
}

bool picks(const NetworkSpec& n, const LayerKind& kind) { return n.sparse.top_k > 0 && kind.attention && !kind.picked; }

namespace {

Compressor compressor_of(const NetworkSpec& n, const LayerShape& shape) {
  const CompressedAttention& a = n.compressed;
  Compressor made;
  const auto add = [&](Count width) {
    const Count wide = shape.picks ? 2 * width : width;
    made.matrices += 2 * n.hidden * wide;
    made.vectors += shape.ratio * wide + norm_size(n, width);
  };
  if (shape.ratio == 0) return made;
  add(n.head_dim);
  if (!shape.picks) return made;
  add(a.index_dim);
  made.matrices += (a.q_rank * a.index_dim + n.hidden) * a.index_heads;
  return made;
}

}  // namespace

Compressor compressor_of(const NetworkSpec& n, const LayerKind& kind) {
  return kind.shape > 0 && kind.attention ? compressor_of(n, n.shapes[kind.shape - 1U]) : Compressor{};
}

namespace {

/// Per token and layer, of QK^T and PV at two FLOPs per multiply-add.
double core_flops(const NetworkSpec& n, double keys) {
  const Count query = n.latent.kv_rank > 0 ? n.latent.nope_dim + n.latent.rope_dim : n.head_dim;
  return 2 * keys * static_cast<double>(n.heads * (query + value_size(n)));
}

/// Over chosen keys every head reads the latent itself: scores over kv_rank + rope_dim, values of kv_rank (the up-
/// projections are absorbed, DeepSeek-V2 section 2.1.2). The indexer scores all keys by each of its heads and sums.
/// NVIDIA-NeMo/Megatron-Bridge 067f987 training/utils/flop_utils.py, "dsa".
double sparse_core_flops(const NetworkSpec& n, const LayerKind& kind, std::int64_t sequence, bool causal) {
  const std::int64_t reach = std::min(n.sparse.top_k, sequence);
  const double keys = causal ? mean_keys(Domain::chosen, reach, sequence) : static_cast<double>(reach);
  const double all = static_cast<double>(sequence) * (causal ? 0.5 : 1);
  if (n.sparse.pooled > 0) {
    // Scores of means, and of a fourth of them, go forward alone.
    constexpr double coarser = 1.25, passes = 3;
    return core_flops(n, keys) + 2 * all * coarser / static_cast<double>(n.sparse.pooled) *
                                     static_cast<double>(n.heads * n.head_dim) / passes;
  }
  if (n.latent.kv_rank == 0)
    return core_flops(n, keys) + 2 * all * static_cast<double>(n.sparse.heads * n.sparse.head_dim);
  const double core = 2 * keys * static_cast<double>(n.heads * (2 * n.latent.kv_rank + n.latent.rope_dim));
  return core + (kind.picked ? 0 : 2 * all * static_cast<double>(n.sparse.heads * (n.sparse.head_dim + 1)));
}

/// In full: the window and all compressed keys of the sequence, or as many as are picked.
double compressed_core_flops(const NetworkSpec& n, const LayerKind& kind, std::int64_t sequence, bool causal) {
  const CompressedAttention& a = n.compressed;
  const LayerShape shape = kind.shape > 0 ? n.shapes[kind.shape - 1U] : LayerShape{};
  const std::int64_t window = std::min(a.window, sequence), all = shape.ratio > 0 ? sequence / shape.ratio : 0,
                     reach = shape.picks ? std::min(a.top_k, all) : all;
  const double keys =
      causal ? mean_keys(Domain::window, window, sequence) + mean_compressed({shape.ratio, reach}, sequence)
             : static_cast<double>(window + reach);
  const double scored = shape.picks ? static_cast<double>(all) * (causal ? 0.5 : 1) : 0;
  return core_flops(n, keys) + 2 * scored * static_cast<double>(a.index_heads * a.index_dim);
}

double own_core_flops(const NetworkSpec& n, const LayerKind& kind, std::int64_t sequence, bool causal) {
  if (!kind.attention) return 0;
  if (n.compressed.q_rank > 0) return compressed_core_flops(n, kind, sequence, causal);
  causal = causal && n.causal;
  if (picks_keys(n, sequence)) return sparse_core_flops(n, kind, sequence, causal);
  if (!kind.windowed) return core_flops(n, static_cast<double>(sequence) * (causal ? 0.5 : 1));
  const std::int64_t reach = std::min(n.window.positions, sequence);
  if (!n.causal) return core_flops(n, mean_keys(n.window.chunks ? Domain::tile : Domain::band, reach, sequence));
  if (!causal) return core_flops(n, static_cast<double>(reach));
  return core_flops(n, mean_keys(n.window.chunks ? Domain::chunk : Domain::window, reach, sequence));
}

}  // namespace

/// With attention over the encoder: every query sees all of it, and its keys and values are made once for all.
double core_flops_of(const NetworkSpec& n, const LayerKind& kind, std::int64_t sequence, bool causal) {
  const double own = own_core_flops(n, kind, sequence, causal);
  if (!kind.crosses || sequence == 0) return own;
  const NetworkSpec& encoder = n.encoders.front();
  const double seen = seen_positions(encoder);
  // Of the three passes that are counted two where nothing goes back to the encoder, or its weights are not trained.
  const double passes = is_frozen(encoder) || n.frozen ? 2.0 / 3 : 1;
  return own + core_flops(n, seen) +
         2 * passes * static_cast<double>(cross_matrices(n).memory) * seen / static_cast<double>(sequence);
}

}  // namespace detail

double attention_flops(const NetworkSpec& network, const LayerKind& kind, std::int64_t sequence) {
  const NetworkSpec n = shaped(network, kind.shape);
  const std::int64_t matrices =
      detail::attention_matrices(n) + (detail::picks(n, kind) ? detail::index_matrices(n) : 0);
  return 2 * static_cast<double>(matrices) + detail::core_flops_of(n, kind, sequence, true);
}

}  // namespace stepcast
