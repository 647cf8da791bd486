// Parameters and model FLOPs of a network by closed formulas over its spec. The operators that build_network makes say
// the same things one by one; tests hold the two against each other.
#include <algorithm>
#include <cassert>

#include "model/network/network.h"

namespace stepcast {
namespace {

using Count = std::int64_t;

bool is_gated(const NetworkSpec& n) { return n.activation == Activation::swiglu || n.activation == Activation::geglu; }

/// All norms of a network are of one kind; LayerNorm adds an offset to the scale.
Count norm_size(const NetworkSpec& n, Count width) { return n.norm == Norm::layernorm ? 2 * width : width; }

/// Weight matrices of an MLP: up, down, and the gate where there is one.
Count mlp_matrices(const NetworkSpec& n, Count width) { return (is_gated(n) ? 3 : 2) * n.hidden * width; }
Count mlp_biases(const NetworkSpec& n, Count width) { return (is_gated(n) ? 2 : 1) * width + n.hidden; }

/// Layers whose MLP is routed: of those behind the leading dense ones, the last of every `every`.
Count routed_layers(const NetworkSpec& n) {
  return n.experts.count == 0 ? 0 : (n.layers - n.experts.dense_layers) / n.experts.every;
}

/// Multi-head latent attention, DeepSeek-V2 (arXiv 2405.04434) eq. 9-19: queries and key-values go through low ranks;
/// the rotary part of the keys is projected straight from the hidden state and shared by all heads.
Count latent_matrices(const NetworkSpec& n) {
  const LatentAttention& a = n.latent;
  const Count q = n.heads * (a.nope_dim + a.rope_dim);
  const Count queries = a.q_rank == 0 ? n.hidden * q : (n.hidden + q) * a.q_rank;
  const Count keys_values = n.hidden * (a.kv_rank + a.rope_dim) + a.kv_rank * n.heads * (a.nope_dim + a.value_dim);
  return queries + keys_values + n.heads * a.value_dim * n.hidden;
}

Count attention_matrices(const NetworkSpec& n) {
  if (n.latent.kv_rank > 0) return latent_matrices(n);
  const Count q = n.heads * n.head_dim, kv = n.kv_heads * n.head_dim;
  return n.hidden * (q + 2 * kv) + q * n.hidden;
}

/// Biases of the projections, and the norms inside the attention.
Count attention_vectors(const NetworkSpec& n) {
  if (n.latent.kv_rank > 0) return norm_size(n, n.latent.q_rank) + norm_size(n, n.latent.kv_rank);
  Count vectors = 0;
  if (n.linear_bias || n.qkv_bias) vectors += (n.heads + 2 * n.kv_heads) * n.head_dim;
  if (n.linear_bias || n.out_bias) vectors += n.hidden;
  if (n.qk_norm) vectors += 2 * norm_size(n, n.head_dim);
  return vectors;
}

/// Matrices that one token meets in a routed layer's MLP (`experts` = top_k), or all of them (`experts` = count).
Count routed_matrices(const NetworkSpec& n, Count experts) {
  const Count router = n.hidden * n.experts.count, gate = n.experts.shared_gate ? n.hidden : 0;
  return experts * mlp_matrices(n, n.experts.ffn_hidden) + mlp_matrices(n, n.experts.shared_ffn_hidden) + router + gate;
}

Count routed_vectors(const NetworkSpec& n) {
  return (n.experts.router_bias ? n.experts.count : 0) +
         (n.experts.expert_bias ? n.experts.count * mlp_biases(n, n.experts.ffn_hidden) : 0);
}

Count layer_parameters(const NetworkSpec& n, bool routed) {
  const Count mlp = routed ? routed_matrices(n, n.experts.count) + routed_vectors(n)
                           : mlp_matrices(n, n.ffn_hidden) + (n.linear_bias ? mlp_biases(n, n.ffn_hidden) : 0);
  return attention_matrices(n) + attention_vectors(n) + mlp + n.norms_per_layer * norm_size(n, n.hidden);
}

/// A multi-token prediction module of DeepSeek-V3 (arXiv 2412.19437) eq. 21-23: the norms of its two inputs, their
/// joint projection, one layer like the last, a final norm. Embedding and head are those of the model.
Count prediction_module_parameters(const NetworkSpec& n) {
  return 3 * norm_size(n, n.hidden) + 2 * n.hidden * n.hidden + layer_parameters(n, n.experts.count > 0);
}

/// Elements of the matrices that one token meets in a layer. A prediction module adds its joint projection and its own
/// pass through the head.
double layer_matrices(const NetworkSpec& n, bool routed) {
  const Count mlp = routed ? routed_matrices(n, n.experts.top_k) : mlp_matrices(n, n.ffn_hidden);
  return static_cast<double>(attention_matrices(n) + mlp);
}

/// Per token and layer, of QK^T and PV at two FLOPs per multiply-add.
double core_flops(const NetworkSpec& n, double keys) {
  const bool latent = n.latent.kv_rank > 0;
  const Count query = latent ? n.latent.nope_dim + n.latent.rope_dim : n.head_dim;
  const Count value = latent ? n.latent.value_dim : n.head_dim;
  return 2 * keys * static_cast<double>(n.heads * (query + value));
}

/// The same, summed over the layers and the prediction modules, whose layer has no window.
double all_core_flops(const NetworkSpec& n, std::int64_t sequence, bool causal) {
  const double full = static_cast<double>(sequence) * (causal ? 0.5 : 1);
  const std::int64_t reach = std::min(n.window.positions, sequence);
  const double near = !causal ? static_cast<double>(reach)
                              : mean_keys(n.window.chunks ? Domain::chunk : Domain::window, reach, sequence);
  double windowed = 0;
  if (n.window.positions > 0 && n.window.positions < sequence)
    for (Count layer = 0; layer < n.layers; ++layer) windowed += is_windowed_layer(n, layer) ? 1 : 0;
  const auto layers = static_cast<double>(n.layers + n.mtp_layers);
  return (layers - windowed) * core_flops(n, full) + (windowed > 0 ? windowed * core_flops(n, near) : 0);
}

}  // namespace

std::int64_t parameter_count(const NetworkSpec& n) {
  assert(n.experts.every > 0);
  const Count routed = routed_layers(n);
  Count total = (n.layers - routed) * layer_parameters(n, false) + routed * layer_parameters(n, true);
  total += n.mtp_layers * prediction_module_parameters(n);
  total += (n.tied_embeddings ? 1 : 2) * n.vocab * n.hidden + norm_size(n, n.hidden);
  // The position table has its own number of rows, whatever the training sequence.
  if (n.positions == Positions::learned) total += n.max_positions * n.hidden;
  if (n.embedding_norm) total += norm_size(n, n.hidden);
  return total;
}

double model_flops(const NetworkSpec& n, double tokens, std::int64_t sequence, bool causal) {
  assert(n.experts.every > 0);
  const auto layers = static_cast<double>(n.layers), routed = static_cast<double>(routed_layers(n));
  const auto modules = static_cast<double>(n.mtp_layers), hidden = static_cast<double>(n.hidden);
  const double head = hidden * static_cast<double>(n.vocab);
  const double module = layer_matrices(n, n.experts.count > 0) + 2 * hidden * hidden + head;
  const double matrices =
      (layers - routed) * layer_matrices(n, false) + routed * layer_matrices(n, true) + head + modules * module;
  return 3 * tokens * (2 * matrices + all_core_flops(n, sequence, causal));
}

}  // namespace stepcast
