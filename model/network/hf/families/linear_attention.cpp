// Architectures whose layers have linear attention or short convolutions in place of attention:
// src/transformers/models/ <family> of transformers.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "model/network/hf/families/families.h"
#include "model/network/hf/families/layer_names.h"

namespace stepcast::detail {

/// Gated DeltaNet in three of four layers, gated attention with normed heads in the fourth.
void qwen3_next(HfReader& r) {
  static constexpr LayerName names[] = {
      {"linear_attention", {Feed::mlp, false, true, false}}, {"full_attention", {Feed::mlp, false, false, true}}};
  shared_sizes(r, 2, 256, false);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "silu", true);
  attention_biases(r, false);
  n.qk_norm = true;
  n.attention_gate = r.flag_or("attn_output_gate", true);
  n.mixer = make_mixer("gated-delta",
      {{"key_heads", r.size_or("linear_num_key_heads", 16)}, {"value_heads", r.size_or("linear_num_value_heads", 32)},
          {"key_dim", r.size_or("linear_key_head_dim", 128)}, {"value_dim", r.size_or("linear_value_head_dim", 128)},
          {"taps", r.size_or("linear_conv_kernel_dim", 4)}, {"chunk", 64}});
  r.config.require(n.mixer.extent("m") > 0, "linear_num_value_heads", "they do not share out over the key heads",
      "a multiple of linear_num_key_heads");
  std::vector<LayerKind> kinds = listed(r, "layer_types", names);
  const std::int64_t every = r.config.has("full_attention_interval") ? r.size("full_attention_interval") : 4;
  if (kinds.empty())
    for (std::int64_t layer = 1; layer <= n.layers; ++layer)
      kinds.push_back(names[layer % std::max<std::int64_t>(1, every) == 0 ? 1 : 0].kind);
  const bool routed = r.config.has("num_experts") && r.size("num_experts") > 0;
  if (routed) {
    n.experts.count = r.size("num_experts");
    n.experts.top_k = r.size("num_experts_per_tok");
    n.experts.ffn_hidden = r.size("moe_intermediate_size");
    n.experts.shared_ffn_hidden = r.size_or("shared_expert_intermediate_size", 512);
    n.experts.shared_gate = n.experts.shared_ffn_hidden > 0;
    n.ffn_hidden = r.config.has("intermediate_size") ? r.size("intermediate_size") : n.experts.ffn_hidden;
    std::vector<std::int64_t> plain;
    r.config.optional("mlp_only_layers", plain, IntegerRange{0, 1 << 20});
    const std::int64_t step = r.config.has("decoder_sparse_step") ? r.size("decoder_sparse_step") : 1;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const auto layer = static_cast<std::int64_t>(i);
      const bool dense =
          std::ranges::find(plain, layer) != plain.end() || (layer + 1) % std::max<std::int64_t>(1, step) != 0;
      kinds[i].feed = dense ? Feed::mlp : Feed::experts;
    }
  } else {
    n.ffn_hidden = r.size("intermediate_size");
  }
  take_pattern(r, "layer_types", std::move(kinds));
  n.mtp_layers = r.config.has("mtp_num_hidden_layers") ? r.size_or("mtp_num_hidden_layers", 0) : 0;
  if (n.mtp_layers > 0) n.mtp_pattern = {{routed ? Feed::experts : Feed::mlp, false, false, true}};
  require_flag(
      r, "mtp_use_dedicated_embeddings", false, "prediction modules with tables of their own are none of our forms");
}

/// Gated DeltaNet with norms before it, and attention with norms behind it, of all heads together (olmo_hybrid).
void olmo_hybrid(HfReader& r) {
  static constexpr LayerName names[] = {
      {"linear_attention", {Feed::mlp, false, true, false}}, {"full_attention", {Feed::mlp, false, false, true}}};
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  attention_biases(r, false);
  n.qk_norm = n.qk_norm_width = true;
  const std::int64_t keys = r.size_or("linear_num_key_heads", n.heads);
  const std::int64_t key_dim = r.size_or("linear_key_head_dim", keys > 0 ? n.hidden * 3 / (4 * keys) : 0);
  n.mixer = make_mixer(
      "gated-delta", {{"key_heads", keys}, {"value_heads", r.size_or("linear_num_value_heads", n.heads)},
                         {"key_dim", key_dim}, {"value_dim", r.size_or("linear_value_head_dim", 2 * key_dim)},
                         {"taps", r.size_or("linear_conv_kernel_dim", 4)}, {"chunk", 64}});
  std::vector<LayerKind> kinds = listed(r, "layer_types", names);
  if (kinds.empty())
    for (std::int64_t layer = 0; layer < n.layers; ++layer) kinds.push_back(names[layer % 4 == 3 ? 1 : 0].kind);
  take_pattern(r, "layer_types", std::move(kinds));
  count_beside(r, 0, "norms before some layers and behind others (OLMo Hybrid)", "Gated DeltaNet or attention, MLP");
}

/// Kimi delta attention, latent attention without positions in the layers that the file lists (from 1 on). Kimi K3 has
/// gates on both, experts on a narrow projection, and residuals over blocks of layers: a vector and a norm before each
/// sublayer and one behind all.
void kimi_linear(HfReader& r) {
  NetworkSpec& n = r.spec;
  latent_sizes(r, r.config.has("model_max_length") ? "model_max_length" : "max_position_embeddings");
  gated_mlp(r);
  n.positions = r.flag_or("mla_use_nope", true) ? Positions::none : Positions::rope;
  Experts& e = n.experts;
  e.count = r.size("num_experts");
  e.top_k = r.either("num_experts_per_token", "num_experts_per_tok");
  e.ffn_hidden = r.size("moe_intermediate_size");
  e.shared_ffn_hidden = r.size_or("num_shared_experts", 0) * e.ffn_hidden;
  e.router_bias = true;
  e.latent = r.config.has("routed_expert_hidden_size") ? r.size("routed_expert_hidden_size") : 0;
  if (e.latent > 0) e.latent_norm = r.flag_or("latent_moe_use_norm", false);
  n.attention_gate = r.config.has("mla_use_output_gate") && r.flag_or("mla_use_output_gate", false);
  const std::int64_t dense = r.size_or("first_k_dense_replace", 0);
  const std::int64_t every = r.config.has("moe_layer_freq") ? r.size("moe_layer_freq") : 1;
  r.config.require(every == 1, "moe_layer_freq", fmt::format("experts in every {}th layer", every), "1");
  JsonObject linear = r.config.object("linear_attn_config");
  linear.allow_unknown_keys();
  constexpr IntegerRange size{1, 1'000'000};
  std::int64_t heads = 0, head_dim = 0, taps = 4;
  std::vector<std::int64_t> mixers, attention;
  linear.read("num_heads", heads, size);
  linear.read("head_dim", head_dim, size);
  linear.optional("short_conv_kernel_size", taps, size);
  linear.read("kda_layers", mixers, size);
  linear.read("full_attn_layers", attention, size);
  bool full_rank = false;
  linear.optional("use_full_rank_gate", full_rank);
  if (r.config.failed()) return;
  n.mixer = make_mixer(
      full_rank ? "kda-full-gate" : "kda", {{"heads", heads}, {"head_dim", head_dim}, {"taps", taps}, {"chunk", 64}});
  std::vector<LayerKind> kinds(static_cast<std::size_t>(n.layers), {Feed::mlp, false, false, false});
  const auto mark = [&](const std::vector<std::int64_t>& layers, bool mixer) {
    for (const std::int64_t layer : layers) {
      const bool here = layer <= n.layers && kinds[static_cast<std::size_t>(layer - 1)].sublayers() == 1;
      linear.require(here, mixer ? "kda_layers" : "full_attn_layers",
          fmt::format("layer {} of {} has a kind already, or is none", layer, n.layers), "each layer once, from 1 on");
      if (!here) continue;
      kinds[static_cast<std::size_t>(layer - 1)].mixer = mixer;
      kinds[static_cast<std::size_t>(layer - 1)].attention = !mixer;
    }
  };
  mark(mixers, true);
  mark(attention, false);
  linear.require(mixers.size() + attention.size() == kinds.size(), "kda_layers",
      fmt::format("{} layers have a kind, of {}", mixers.size() + attention.size(), n.layers), "each layer once");
  feed_all(kinds, dense, true);
  take_pattern(r, "linear_attn_config", std::move(kinds));
  if (r.config.has("attn_res_block_size") && r.size("attn_res_block_size") > 0)
    count_beside(r, (4 * n.layers + 2) * n.hidden, "residuals over blocks of layers (attn_res_block_size)",
        "Kimi delta or latent attention, MLP or experts");
}

namespace {

constexpr LayerName lfm2_names[] = {
    {"conv", {Feed::mlp, false, true, false}}, {"full_attention", {Feed::mlp, false, false, true}}};

/// Gated short convolutions, attention with normed heads between them.
void lfm2_layers(HfReader& r, bool tied) {
  shared_sizes(r, 8, 0, tied);
  NetworkSpec& n = r.spec;
  if (r.config.has("tie_embedding")) n.tied_embeddings = r.flag_or("tie_embedding", tied);
  n.activation = Activation::swiglu;
  n.qk_norm = true;
  require_flag(r, "conv_bias", false, "biases on a mixer's projections are none of our forms");
  n.mixer = make_mixer("short-conv", {{"channels", n.hidden}, {"taps", r.size_or("conv_L_cache", 3)}});
}

}  // namespace

void lfm2_moe(HfReader& r) {
  lfm2_layers(r, true);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  Experts& e = n.experts;
  expert_sizes(r, "num_experts", "num_experts_per_tok", "moe_intermediate_size");
  e.router_bias = r.flag_or("use_expert_bias", true);
  std::vector<LayerKind> kinds = listed(r, "layer_types", lfm2_names);
  feed_all(kinds, r.size_or("num_dense_layers", 2), true);
  take_pattern(r, "layer_types", std::move(kinds));
}

/// An MLP of two thirds of the stated width, rounded up to a multiple, unless the file says not to.
void lfm2(HfReader& r) {
  lfm2_layers(r, true);
  NetworkSpec& n = r.spec;
  std::int64_t width = r.either("block_ff_dim", "intermediate_size");
  if (r.flag_or("block_auto_adjust_ff_dim", true)) {
    const std::int64_t multiple = std::max<std::int64_t>(1, r.size_or("block_multiple_of", 256));
    const double factor = r.number_or("block_ffn_dim_multiplier", 1);
    width = static_cast<std::int64_t>(factor * static_cast<double>(2 * width / 3));
    width = (width + multiple - 1) / multiple * multiple;
  }
  n.ffn_hidden = width;
  std::vector<LayerKind> kinds = listed(r, "layer_types", lfm2_names);
  if (kinds.empty()) {
    std::vector<std::int64_t> full;
    r.config.optional("full_attn_idxs", full, IntegerRange{0, 1 << 20});
    for (std::int64_t layer = 0; layer < n.layers; ++layer)
      kinds.push_back(lfm2_names[std::ranges::find(full, layer) != full.end() ? 1 : 0].kind);
  }
  take_pattern(r, "layer_types", std::move(kinds));
}

}  // namespace stepcast::detail
