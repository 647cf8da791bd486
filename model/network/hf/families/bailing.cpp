// Ling and Ring of inclusionAI, and others whose experts stand behind the first layers under names of their own:
// modeling_bailing_moe*.py of their files (vllm/model_executor/models/bailing_moe.py and bailing_moe_linear.py of
// vLLM), src/transformers/models/{afmoe,exaone_moe,granitemoe,granitemoeshared,flex_olmo} of transformers.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

void none_with_biases(HfReader& r, const char* key) {
  bool biased = false;
  r.config.optional(key, biased);
  r.config.require(!biased, key, "biases on the projections of experts are none of our forms", "false");
}

std::int64_t or_zero(HfReader& r, const char* key) { return r.config.has(key) ? r.size_or(key, 0) : 0; }

/// Experts under Bailing's names.
void bailing_experts(HfReader& r) {
  NetworkSpec& n = r.spec;
  Experts& e = n.experts;
  gated_mlp(r);
  expert_sizes(r, "num_experts", "num_experts_per_tok", "moe_intermediate_size");
  const std::int64_t shared = or_zero(r, "moe_shared_expert_intermediate_size");
  e.shared_ffn_hidden = or_zero(r, "num_shared_experts") * (shared > 0 ? shared : e.ffn_hidden);
  e.dense_layers = or_zero(r, "first_k_dense_replace");
  bool balanced = false;
  r.config.optional("moe_router_enable_expert_bias", balanced);
  e.router_bias = balanced;
  expert_groups(r);
  n.mtp_layers = or_zero(r, "num_nextn_predict_layers");
  none_with_biases(r, "use_bias");
  r.dropout({"embedding_dropout", "output_dropout"}, 0);
}

/// Ling 1.5 and 2.0: Llama's attention, in 2.0 with normed heads.
void bailing_attention(HfReader& r, bool normed) {
  shared_sizes(r, 0, 0, false);
  r.spec.qkv_bias = r.flag_or("use_qkv_bias", false);
  r.spec.qk_norm = normed;
}

/// The last layer of each group attends, the others have the mixer.
void grouped_layers(HfReader& r) {
  NetworkSpec& n = r.spec;
  const std::int64_t group = std::max<std::int64_t>(1, r.size("layer_group_size")), dense = n.experts.dense_layers;
  constexpr std::int64_t most_layers = 10'000;
  if (n.layers > most_layers) return;  // refused by the rules of all networks
  for (std::int64_t layer = 0; layer < n.layers; ++layer) {
    // behind the last whole group all layers attend (modeling_bailing_moe_linear_v2.py)
    const bool attends = (layer + 1) % group == 0 || layer >= n.layers / group * group;
    n.pattern.push_back({layer < dense ? Feed::mlp : Feed::experts, false, !attends, attends});
  }
  n.experts.dense_layers = 0;
  n.pattern = shortest(std::move(n.pattern));
  if (n.mtp_layers > 0) n.mtp_pattern = {{Feed::experts, false, false, true}};
}

void lightning(HfReader& r, std::int64_t head_dim) {
  const bool normed = r.flag_or("use_qk_norm", true);
  if (r.config.has("group_norm_size")) r.size("group_norm_size");  // heads are normed by so many groups
  r.spec.mixer = make_mixer(
      normed ? "lightning-normed" : "lightning", {{"heads", r.spec.heads}, {"head_dim", head_dim}, {"chunk", 64}});
}

/// Each layer has an MLP or experts: a list of names under the key, or the first `dense` ones an MLP.
void listed_feeds(HfReader& r, const char* key) {
  NetworkSpec& n = r.spec;
  std::vector<std::string> feeds;
  r.config.optional(key, feeds);
  if (feeds.empty()) return;
  r.config.require(static_cast<std::int64_t>(feeds.size()) == n.layers, key,
      fmt::format("{} kinds for {} layers", feeds.size(), n.layers), "one for each layer");
  const auto dense = std::ranges::find(feeds, "sparse") - feeds.begin();
  for (std::size_t i = 0; i < feeds.size(); ++i)
    r.config.require(feeds[i] == (static_cast<std::int64_t>(i) < dense ? "dense" : "sparse"), key,
        "layers without experts stand behind layers with them", "leading dense layers, then sparse");
  n.experts.dense_layers = dense;
}

void granite_experts(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "silu", true);
  attention_biases(r, false);
  n.ffn_hidden = expert_sizes(r, "num_local_experts", "num_experts_per_tok", "intermediate_size");
}

}  // namespace

void bailing_moe(HfReader& r) {
  bailing_attention(r, false);
  bailing_experts(r);
}

void bailing_moe_v2(HfReader& r) {
  bailing_attention(r, r.flag_or("use_qk_norm", true));
  bailing_experts(r);
}

/// Sarvam 30B and 105B: Ling 2.0's layers, plain or with latent attention, a correction of every router (NVIDIA-NeMo/
/// Megatron-Bridge 067f987 src/megatron/bridge/models/sarvam).
void sarvam_moe(HfReader& r) {
  bailing_moe_v2(r);
  r.spec.experts.router_bias = true;
}

void sarvam_latent(HfReader& r) {
  latent_sizes(r, "max_position_embeddings");
  bailing_experts(r);
  r.spec.experts.router_bias = true;
}

/// Ring-linear 2.0: lightning attention, and attention in the last layer of each group.
void bailing_linear(HfReader& r) {
  bailing_moe_v2(r);
  lightning(r, r.spec.head_dim);
  grouped_layers(r);
}

/// Ling and Ring 2.5: the same with latent attention.
void bailing_latent(HfReader& r) {
  latent_sizes(r, "max_position_embeddings");
  bailing_experts(r);
  lightning(r, r.config.has("head_dim") ? r.size("head_dim") : r.spec.hidden / std::max<std::int64_t>(1, r.spec.heads));
  grouped_layers(r);
}

/// Ling 3.0: Kimi delta attention whose gates and decays have full rank, and gated latent attention in the last layer
/// of each group (sgl-project/sglang pull request 33561).
void bailing_v3(HfReader& r) {
  latent_sizes(r, "max_position_embeddings");
  bailing_experts(r);
  NetworkSpec& n = r.spec;
  const std::string gates = r.text_or("gated_attention_proj_granularity_type", "");
  r.config.require(gates.empty() || gates == "head_wise" || gates == "element_wise",
      "gated_attention_proj_granularity_type", fmt::format("gates '{:.40}' are none of its own", gates),
      "head_wise, element_wise");
  n.attention_gate = !gates.empty();
  n.head_gate = gates == "head_wise";
  n.mixer = make_mixer(r.flag_or("no_kda_lora", false) ? "kda-full" : "kda",
      {{"heads", n.heads}, {"head_dim", r.size("head_dim")}, {"taps", r.size_or("short_conv_kernel_size", 4)},
          {"chunk", 64}});
  grouped_layers(r);
}

/// Arcee Trinity: norms before and behind, normed heads, gated outputs; a window in three of four layers.
void afmoe(HfReader& r) {
  shared_sizes(r, 0, 128, false);
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  attention_biases(r, false);
  n.qk_norm = n.attention_gate = true;
  n.norm_place = NormPlace::both;
  Experts& e = n.experts;
  expert_sizes(r, "num_experts", "num_experts_per_tok", "moe_intermediate_size");
  e.shared_ffn_hidden = r.size_or("num_shared_experts", 0) * e.ffn_hidden;
  e.dense_layers = r.size_or("num_dense_layers", 1);
  e.router_bias = true;
  expert_groups(r);
  const std::int64_t every = std::max<std::int64_t>(1, r.size_or("global_attn_every_n_layers", 4));
  const std::string pattern = every > n.layers ? "w" : std::string(static_cast<std::size_t>(every) - 1, 'w') + 'f';
  r.window(r.size_or("sliding_window", 1024), pattern);
}

/// K-EXAONE: normed heads, a window in three of four layers, norms before the sublayers.
void exaone_moe(HfReader& r) {
  shared_sizes(r, 0, 128, false);
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  n.qk_norm = true;
  Experts& e = n.experts;
  expert_sizes(r, "num_experts", "num_experts_per_tok", "moe_intermediate_size");
  e.shared_ffn_hidden = r.size_or("num_shared_experts", 1) * e.ffn_hidden;
  e.dense_layers = r.config.has("first_k_dense_replace") || !r.config.has("mlp_layer_types")
                       ? r.size_or("first_k_dense_replace", 1)
                       : 0;
  e.router_bias = true;
  listed_feeds(r, "mlp_layer_types");
  expert_groups(r);
  if (or_zero(r, "num_nextn_predict_layers") > 0) r.note("its class has no prediction modules: they are left out");
  r.window(r.length_or_none("sliding_window"), "wwwf");
}

void granite_moe(HfReader& r) { granite_experts(r); }

void granite_moe_shared(HfReader& r) {
  granite_experts(r);
  r.spec.experts.shared_ffn_hidden = or_zero(r, "shared_intermediate_size");
}

/// OLMo 2's layers with experts.
void flex_olmo(HfReader& r) {
  olmoe(r);
  r.spec.norm_place = NormPlace::behind;
}

}  // namespace stepcast::detail
