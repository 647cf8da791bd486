// Architectures with experts under names of their own: src/transformers/models/<family> of transformers.
#include <fmt/format.h>

#include "model/network/hf/families/families.h"

namespace stepcast::detail {

/// Grouped-query attention with normed heads and DeepSeek's experts, whose router is balanced by a bias.
void dots1(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  gated_mlp(r);
  attention_biases(r, false);
  r.spec.qk_norm = true;
  deepseek_experts(r);
  r.spec.experts.router_bias = true;
  window_behind(r);
}

void glm4_moe(HfReader& r) {
  shared_sizes(r, 8, 128, false);
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  n.qkv_bias = r.flag_or("attention_bias", false);
  n.qk_norm = r.flag_or("use_qk_norm", false);
  deepseek_experts(r);
  n.experts.router_bias = true;
  n.mtp_layers = r.config.has("num_nextn_predict_layers") ? r.size_or("num_nextn_predict_layers", 0) : 0;
}

/// Layers from a start to an end have experts; tied tables.
void ernie_moe(HfReader& r) {
  shared_sizes(r, 0, 0, true);
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  const bool biased = r.flag_or("use_bias", false);
  r.config.require(
      !biased, "use_bias", "biases on the projections of experts' networks are none of our forms", "false");
  Experts& e = n.experts;
  e.count = r.size_or("moe_num_experts", 64);
  e.top_k = r.size_or("moe_k", 6);
  e.ffn_hidden = r.size("moe_intermediate_size");
  e.shared_ffn_hidden = r.size_or("moe_num_shared_experts", 2) * e.ffn_hidden;
  e.router_bias = true;
  e.dense_layers = r.size_or("moe_layer_start_index", 1);
  if (r.config.has("num_nextn_predict_layers") && r.size_or("num_nextn_predict_layers", 0) > 0)
    r.note("its class has no prediction modules: they are left out");
  const std::int64_t last = r.config.has("moe_layer_end_index") ? r.signed_size("moe_layer_end_index") : -1;
  r.config.require(last == -1 || last == n.layers - 1, "moe_layer_end_index",
      fmt::format("layers without experts behind layer {}", last), fmt::format("{}, or -1", n.layers - 1));
  const std::int64_t interval = r.size_or("moe_layer_interval", 1);
  r.config.require(interval == 1, "moe_layer_interval", fmt::format("experts in every {}th layer", interval), "1");
}

/// One number for all layers, or a list with the same number for each.
std::int64_t same_in_all(HfReader& r, const char* key, std::int64_t absent) {
  if (r.config.type_of(key) != "list") return r.size_or(key, absent);
  std::vector<std::int64_t> each;
  r.config.read(key, each, IntegerRange{0, 1'000'000});
  for (const std::int64_t value : each)
    r.config.require(value == each.front(), key, "layers differ in it", "the same number for all layers");
  r.config.require(!each.empty(), key, "an empty list", "a number for each layer");
  return each.empty() ? absent : each.front();
}

void hunyuan_moe(HfReader& r) {
  shared_sizes(r, 0, 0, true);
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  attention_biases(r, false);
  n.qk_norm = r.flag_or("use_qk_norm", true);
  Experts& e = n.experts;
  e.count = same_in_all(r, "num_experts", 1);
  e.top_k = same_in_all(r, "moe_topk", 1);
  e.ffn_hidden = r.config.has("moe_intermediate_size") ? same_in_all(r, "moe_intermediate_size", 0) : n.ffn_hidden;
  e.shared_ffn_hidden = same_in_all(r, "num_shared_expert", 1) * e.ffn_hidden;
}

/// Hunyuan Large: a layer makes keys and values for itself and those behind it (cross-layer attention).
void hunyuan_large(HfReader& r) {
  hunyuan_moe(r);
  NetworkSpec& n = r.spec;
  bool shares = false;
  r.config.optional("use_cla", shares);
  if (!shares) return;
  const std::int64_t factor = std::max<std::int64_t>(1, r.size_or("cla_share_factor", 2));
  const std::int64_t without = n.layers - (n.layers + factor - 1) / factor,
                     keys = 2 * n.kv_heads * n.head_dim * (n.hidden + (n.qkv_bias ? 1 : 0));
  count_beside(r, -without * keys, "keys and values of earlier layers (use_cla)", "attention, experts");
}

/// Norms over all query heads and over all key heads; prediction modules like DeepSeek's.
void minimax_m2(HfReader& r) {
  shared_sizes(r, 8, 0, false);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "silu", true);
  Experts& e = n.experts;
  n.ffn_hidden = expert_sizes(r, "num_local_experts", "num_experts_per_tok", "intermediate_size");
  const std::int64_t shared = r.config.has("shared_intermediate_size") ? r.size_or("shared_intermediate_size", 0) : 0;
  e.shared_ffn_hidden = shared;
  e.router_bias = r.flag_or("use_routing_bias", true);
  n.qk_norm = r.flag_or("use_qk_norm", true);
  const std::string over = r.text_or("qk_norm_type", "per_layer");
  r.config.require(over == "per_layer" || over == "per_head", "qk_norm_type",
      fmt::format("'{:.40}' is none of its norms", over), "per_layer (over all heads), per_head");
  n.qk_norm_width = n.qk_norm && over == "per_layer";
  std::vector<std::int64_t> attends;  // 1: softmax attention
  r.config.optional("attn_type_list", attends, IntegerRange{0, 100});
  for (const std::int64_t kind : attends)
    r.config.require(
        kind == 1, "attn_type_list", fmt::format("attention of the kind {}", kind), "1, softmax, in all layers");
  bool predicts = false;
  r.config.optional("use_mtp", predicts);
  const std::int64_t modules = r.config.has("num_mtp_modules") ? r.size_or("num_mtp_modules", 0) : 0,
                     layers = r.config.has("mtp_transformer_layers") ? r.size_or("mtp_transformer_layers", 1) : 1;
  if (!predicts) return;
  n.mtp_layers = modules;
  n.mtp_pattern.assign(static_cast<std::size_t>(modules > 0 ? layers : 0), {Feed::experts, false, false, true});
}

/// Llama's attention beside experts, some of which all words go to (modeling_xverse.py of xverse's files).
void xverse_moe(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "silu", true);
  Experts& e = n.experts;
  n.ffn_hidden = expert_sizes(r, "num_experts", "moe_top_k", "intermediate_size");
  e.shared_ffn_hidden = r.size_or("num_shared_experts", 0) * e.ffn_hidden;
}

/// LayerNorm, biases on attention and on the logits.
void phi_moe(HfReader& r) {
  shared_sizes(r, 8, 0, false);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "silu", true);
  attention_biases(r, false);
  n.norm = Norm::layernorm;
  n.head_bias = r.flag_or("lm_head_bias", false);
  Experts& e = n.experts;
  e.count = r.size_or("num_local_experts", 16);
  e.top_k = r.size_or("num_experts_per_tok", 2);
  e.ffn_hidden = n.ffn_hidden = r.size("intermediate_size");
  window_everywhere(r);
  r.dropout({"hidden_dropout"}, 0);
}

}  // namespace stepcast::detail
