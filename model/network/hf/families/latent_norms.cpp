// Latent attention between norms that DeepSeek's layers do not have: src/transformers/models/{axk1,axk2} of
// transformers, vllm/model_executor/models/openpangu.py of vLLM.
#include "model/network/hf/counting.h"
#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

/// The first of the names that the file has, for the error the first.
const char* named(HfReader& r, const char* own, const char* other) { return r.config.has(other) ? other : own; }

}  // namespace

/// A.X K1: DeepSeek V3 with a norm behind the experts of a layer.
void axk1(HfReader& r) {
  deepseek_family(r);
  NetworkSpec& n = r.spec;
  n.experts.router_bias = n.experts.norm_behind = true;
}

/// A.X K2: queries and gates are made of both the normed and the plain low rank, norms have gates of a rank of their
/// own, before attention in all layers and before experts.
void axk2(HfReader& r) {
  deepseek_sparse(r);
  NetworkSpec& n = r.spec;
  r.config.require(
      n.pattern.empty(), "indexer_types", "all layers of its class have an indexer of their own", "leave it out");
  n.experts.router_bias = true;
  const LatentAttention& l = n.latent;
  const Count heads = n.heads * (l.nope_dim + l.rope_dim), gates = n.heads * l.value_dim;
  const Count queries = 2 * l.q_rank * (heads + gates) - l.q_rank * heads;
  const Count norms = 2 * n.hidden * r.size_or("gated_norm_rank", 16);
  count_beside(r, n.layers * (queries + norms) + (n.layers - n.experts.dense_layers) * norms,
      "gates on norms and on attention that go through low ranks (A.X K2)", "attention over picked keys, experts");
}

/// openPangu Ultra: norms before and behind both sublayers, under names of its own.
void pangu_ultra(HfReader& r) {
  NetworkSpec& n = r.spec;
  stream_sizes(r);
  n.kv_heads = n.heads;
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(false);
  gated_mlp(r);
  r.length("max_position_embeddings");
  r.dropout({"attention_dropout"}, 0);
  n.latent.q_rank = r.size(named(r, "q_lora_rank", "attention_q_lora_dim"));
  n.latent.kv_rank = r.size(named(r, "kv_lora_rank", "attention_kv_lora_dim"));
  n.latent.nope_dim = r.size(named(r, "qk_nope_head_dim", "attention_qk_dim"));
  n.latent.rope_dim = r.size(named(r, "qk_rope_head_dim", "attention_qk_rope_dim"));
  n.latent.value_dim = r.size(named(r, "v_head_dim", "attention_v_dim"));
  Experts& e = n.experts;
  e.count = r.size(named(r, "n_routed_experts", "num_routed_experts"));
  e.top_k = r.size("num_experts_per_tok");
  e.ffn_hidden = r.size("moe_intermediate_size");
  e.shared_ffn_hidden = r.size_or(named(r, "n_shared_experts", "num_shared_experts"), 1) * e.ffn_hidden;
  e.dense_layers = r.size(named(r, "first_k_dense_replace", "num_dense_layers"));
  e.router_bias = r.config.has("router_enable_expert_bias") && r.flag_or("router_enable_expert_bias", false);
  if (r.flag_or("sandwich_norm", false)) n.norm_place = NormPlace::both;
  const char* modules = named(r, "num_nextn_predict_layers", "num_mtp_layers");
  n.mtp_layers = r.config.has(modules) ? r.size_or(modules, 0) : 0;
}

}  // namespace stepcast::detail
