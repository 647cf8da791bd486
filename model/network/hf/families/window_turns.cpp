// Architectures of 2025 and 2026 whose layers take turns between a window and all positions:
// src/transformers/models/{cohere2_moe,granite_swa,granitemoe_swa,modernbert_decoder} of transformers.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

constexpr std::int64_t most_layers = 10'000;  // more are refused by the rules of all networks

std::int64_t layers_of(const HfReader& r) { return std::clamp<std::int64_t>(r.spec.layers, 0, most_layers); }

/// A letter for each layer: all positions in the first of every so many, or in the last.
std::string turns(std::int64_t layers, std::int64_t every, bool first) {
  std::string pattern;
  every = std::max<std::int64_t>(1, every);
  for (std::int64_t layer = 0; layer < layers; ++layer) pattern += (layer + (first ? 0 : 1)) % every == 0 ? 'f' : 'w';
  return pattern;
}

/// Windows in three of four layers, and a number of each head in the softmax.
void windows_and_sinks(HfReader& r) {
  constexpr std::int64_t every = 4;
  r.spec.attention_sinks = true;
  r.window(r.config.names("sliding_window") ? r.length_or_none("sliding_window") : r.size_or("sliding_window", 128),
      turns(layers_of(r), every, true));
}

/// A causal window has half of local_attention, the query's own position among them; layer_types may name its layers.
void half_windows(HfReader& r) {
  NetworkSpec& n = r.spec;
  std::int64_t band = 128, every = 3;
  r.config.optional("local_attention", band, IntegerRange{2, 1 << 30});
  r.config.optional("global_attn_every_n_layers", every, IntegerRange{0, 1 << 30});
  std::int64_t written = band / 2;
  r.config.optional("sliding_window", written, IntegerRange{-1, 1 << 30});
  r.config.require(written == band / 2, "sliding_window", fmt::format("{}, and local_attention says {}", written, band),
      "half of local_attention");
  n.window = {};
  r.window(band / 2, turns(layers_of(r), every, true));
  const std::string pattern = n.window.positions > 0 ? n.window.pattern : "f";
  for (std::size_t layer = 0; layer < n.pattern.size(); ++layer)
    n.pattern[layer].windowed = pattern[layer % pattern.size()] == 'w';
  n.window.pattern = AttentionWindow{}.pattern;
}

}  // namespace

/// Command A+: attention and experts side by side under one norm; a wide MLP in place of experts in the first layers.
void cohere2_moe(HfReader& r) {
  cohere(r);
  NetworkSpec& n = r.spec;
  n.head_dim = r.size_or("head_dim", 128);
  n.norm = r.config.has("rms_norm_eps") ? Norm::rmsnorm : Norm::layernorm_scale;
  Experts& e = n.experts;
  e.count = r.size_or("num_experts", 8);
  e.top_k = r.size_or("num_experts_per_tok", 2);
  e.ffn_hidden = n.ffn_hidden;
  e.shared_ffn_hidden = r.size_or("num_shared_experts", 0) * e.ffn_hidden;
  e.dense_layers = leading_mlps(r);
  if (e.dense_layers > 0) n.ffn_hidden = r.size_or("prefix_dense_intermediate_size", e.ffn_hidden, 1);
  const std::int64_t dense = std::clamp<std::int64_t>(e.dense_layers, 0, layers_of(r));
  const std::int64_t before = r.config.has("prefix_dense_sliding_window_pattern")
                                  ? r.size("prefix_dense_sliding_window_pattern")
                                  : 1,
                     every = r.config.has("sliding_window_pattern") ? r.size("sliding_window_pattern") : 4;
  r.window(r.config.names("sliding_window") ? r.length_or_none("sliding_window") : r.size_or("sliding_window", 4096),
      turns(dense, before, false) + turns(layers_of(r) - dense, every, false));
}

/// Granite with windows and sinks.
void granite_swa(HfReader& r) {
  llama_like(r, true);
  windows_and_sinks(r);
}

void granite_moe_swa(HfReader& r) {
  granite_moe_shared(r);
  windows_and_sinks(r);
}

/// ModernBERT's layers under a causal mask. Its matrix and norm before the logits are none of a decoder's forms.
void modernbert_decoder(HfReader& r) {
  modernbert(r);
  half_windows(r);
  NetworkSpec& n = r.spec;
  n.causal = true;
  n.masked_loss = false;
  count_beside(
      r, n.hidden * n.hidden + n.hidden, "a matrix and a norm before the logits of a decoder", "attention, MLP");
}

}  // namespace stepcast::detail
