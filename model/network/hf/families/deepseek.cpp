// DeepSeek's layers, and those of classes with the same keys: latent attention, experts, an indexer that picks keys.
// src/transformers/models/{deepseek_v2,deepseek_v3,deepseek_v32,glm4_moe_lite,glm_moe_dsa} of transformers.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

/// Leading layers with an MLP where the file does not tell them: of configuration_<family>.py. Other classes have none.
struct LeadingOfClass {
  const char *architecture, *model_type;
  std::int64_t layers;
};
constexpr LeadingOfClass leading_of_class[] = {
    {"AXK1ForCausalLM", "axk1", 1},
    {"AXK2ForCausalLM", "axk2", 1},
    {"DeepseekV3ForCausalLM", "deepseek_v3", 3},
    {"DeepseekV32ForCausalLM", "deepseek_v32", 3},
    {"Glm4MoeLiteForCausalLM", "glm4_moe_lite", 1},
    {"GlmMoeDsaForCausalLM", "glm_moe_dsa", 3},
};

std::int64_t untold_leading(HfReader& r) {
  std::string type;
  if (r.config.type_of("model_type") == "string") r.config.read("model_type", type);
  for (const LeadingOfClass& row : leading_of_class)
    if (r.architecture == row.architecture || type == row.model_type)
      return std::min(row.layers, std::max<std::int64_t>(r.spec.layers, 0));
  return 0;
}

}  // namespace

void expert_groups(HfReader& r) {
  Experts& e = r.spec.experts;
  if (!r.config.has("n_group") || !r.config.has("topk_group")) return;
  e.groups = r.size("n_group");
  e.top_groups = r.size("topk_group");
  r.config.require(e.groups >= 1 && e.count % e.groups == 0, "n_group",
      fmt::format("{} groups of {} experts", e.groups, e.count), "a number that divides the experts");
  if (e.top_groups == e.groups) e.groups = e.top_groups = 0;
}

void deepseek_counts(HfReader& r) {
  Experts& e = r.spec.experts;
  e.count = r.either("n_routed_experts", "num_experts");
  e.top_k = r.size("num_experts_per_tok");
  e.ffn_hidden = r.size("moe_intermediate_size");
  e.shared_ffn_hidden = r.config.has("n_shared_experts") ? r.size_or("n_shared_experts", 0) * e.ffn_hidden : 0;
}

std::int64_t leading_mlps(HfReader& r) {
  std::vector<std::string> kinds;
  r.config.optional("mlp_layer_types", kinds);
  if (kinds.empty()) return r.size_or("first_k_dense_replace", untold_leading(r));
  const auto behind = std::ranges::find_if(kinds, [](const std::string& kind) { return kind != "dense"; });
  const bool sparse = std::all_of(behind, kinds.end(), [](const std::string& kind) { return kind == "sparse"; });
  r.config.require(sparse && static_cast<std::int64_t>(kinds.size()) == r.spec.layers, "mlp_layer_types",
      "it names other layers than dense ones in front and sparse ones behind", "a kind for each layer, so ordered");
  const std::int64_t leading = behind - kinds.begin();
  std::int64_t again = leading;
  r.config.optional("first_k_dense_replace", again, IntegerRange{0, 1 << 20});
  r.config.require(again == leading, "first_k_dense_replace",
      fmt::format("{}, and mlp_layer_types names {} dense layers", again, leading), "one of the two keys");
  return leading;
}

void deepseek_experts(HfReader& r) {
  NetworkSpec& n = r.spec;
  if (!r.config.has("n_routed_experts")) return;
  deepseek_counts(r);
  n.experts.dense_layers =
      r.config.has("first_k_dense_replace") ? r.size_or("first_k_dense_replace", 0) : leading_mlps(r);
  // The correction that balances without an auxiliary loss: one number per expert. Files that transformers writes of
  // its own class of DeepSeek V3 do not tell it (src/transformers/models/deepseek_v3).
  const std::string method = r.text_or("topk_method", "");
  n.experts.router_bias = method == "noaux_tc" || (method.empty() && r.architecture == "DeepseekV3ForCausalLM");
  // "greedy" takes them out of all, whatever the numbers of groups say.
  if (r.text_or("topk_method", "") != "greedy") expert_groups(r);
  const std::int64_t frequency = r.config.has("moe_layer_freq") ? r.size("moe_layer_freq") : 1;
  r.config.require(frequency == 1, "moe_layer_freq", fmt::format("experts in every {}th layer", frequency), "1");
}

void latent_sizes(HfReader& r, const char* length, std::int64_t value_dim, bool tied) {
  NetworkSpec& n = r.spec;
  stream_sizes(r);
  n.kv_heads = n.heads;
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(tied);
  n.latent.q_rank = r.config.has("q_lora_rank") ? r.size("q_lora_rank") : 0;  // null: queries are projected directly
  n.latent.kv_rank = r.size("kv_lora_rank");
  n.latent.nope_dim = r.size("qk_nope_head_dim");
  n.latent.rope_dim = r.size("qk_rope_head_dim");
  n.latent.value_dim = value_dim > 0 && !r.config.has("v_head_dim") ? value_dim : r.size("v_head_dim");
  bool bias = false;
  r.config.optional("attention_bias", bias);
  r.config.require(!bias, "attention_bias", "latent attention with biases is none of our forms", "false");
  r.length(length);
  r.dropout({"attention_dropout"}, 0);
}

void deepseek_family(HfReader& r) {
  // without latent attention its class has Llama's (DeepSeek-VL2 tiny, DeepSeek-OCR)
  if (r.config.type_of("use_mla") == "boolean" && !r.flag_or("use_mla", true)) {
    shared_sizes(r, 0, 0, false);
    r.spec.ffn_hidden = r.size("intermediate_size");
    r.activation("hidden_act", "silu", true);
    return deepseek_experts(r);
  }
  latent_sizes(r, "max_position_embeddings");
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  n.mtp_layers = r.config.has("num_nextn_predict_layers") ? r.size_or("num_nextn_predict_layers", 0) : 0;
  deepseek_experts(r);
}

/// GLM-4.7-Flash: the router is balanced by a bias, whatever the file says of it (glm4_moe_lite).
void glm4_moe_lite(HfReader& r) {
  deepseek_family(r);
  r.spec.experts.router_bias = true;
}

/// An indexer picks the keys; layers may take over an earlier layer's choice (GLM-5.2).
void deepseek_sparse(HfReader& r) {
  deepseek_family(r);
  NetworkSpec& n = r.spec;
  n.sparse = {r.size("index_topk"), r.size("index_n_heads"), r.size("index_head_dim")};
  std::vector<std::string> indexers, feeds, kinds_named;
  r.config.optional("layer_types", kinds_named);
  for (const std::string& kind : kinds_named)
    r.config.require(kind == "deepseek_sparse_attention", "layer_types",
        fmt::format("layers of the kind '{:.40}' are none of our forms", kind), "deepseek_sparse_attention");
  r.config.optional("indexer_types", indexers);
  r.config.optional("mlp_layer_types", feeds);
  const auto layers = static_cast<std::size_t>(n.layers);
  r.config.require(feeds.empty() || feeds.size() == layers, "mlp_layer_types",
      fmt::format("{} kinds for {} layers", feeds.size(), layers), "one for each layer");
  for (std::size_t i = 0; i < feeds.size(); ++i)
    r.config.require(feeds[i] == (static_cast<std::int64_t>(i) < n.experts.dense_layers ? "dense" : "sparse"),
        "mlp_layer_types", "layers with experts lie otherwise than first_k_dense_replace says", "one of the two keys");
  if (std::ranges::find(indexers, "shared") == indexers.end()) return;
  r.config.require(indexers.size() == layers, "indexer_types",
      fmt::format("{} kinds for {} layers", indexers.size(), layers), "one for each layer");
  std::vector<LayerKind> kinds;
  for (std::size_t i = 0; i < indexers.size(); ++i) {
    r.config.require(indexers[i] == "shared" || indexers[i] == "full", "indexer_types",
        fmt::format("'{:.20}' is no indexer", indexers[i]), "full, shared");
    r.config.require(
        i > 0 || indexers[i] == "full", "indexer_types", "the first layer has nobody's choice to take over", "full");
    const bool dense = static_cast<std::int64_t>(i) < n.experts.dense_layers;
    kinds.push_back({dense ? Feed::mlp : Feed::experts, false, false, true, indexers[i] == "shared"});
  }
  n.experts.dense_layers = 0;
  n.pattern = shortest(std::move(kinds));
}

}  // namespace stepcast::detail
