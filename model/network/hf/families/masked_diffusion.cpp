// Llama's and Qwen's layers whose words see both sides: modeling_llada.py of GSAI-ML's files, modeling_dream.py of
// Dream-org's, modeling_sdar.py of JetLM's, src/transformers/models/eurobert of transformers.
#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

/// Words see both sides, and logits are made of all of them: masked diffusion over words (arXiv 2502.09992).
void sees_both_sides(HfReader& r) {
  r.spec.causal = false;
  r.note("a loss over words that are hidden; logits are made of all");
}

}  // namespace

void dream(HfReader& r) {
  qwen2(r);
  sees_both_sides(r);
}

/// Llama's layers under names of its own.
void llada(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("n_layers");
  n.hidden = r.size("d_model");
  n.heads = r.size("n_heads");
  n.kv_heads = r.size_or("n_kv_heads", n.heads);
  n.ffn_hidden = r.size("mlp_hidden_size");
  n.vocab = r.either("embedding_size", "vocab_size");
  n.tied_embeddings = r.flag_or("weight_tying", false);
  r.length("max_sequence_length");
  for (const auto& [key, only] :
      {std::pair{"block_type", "llama"}, {"activation_type", "silu"}, {"layer_norm_type", "rms"}})
    r.config.require(r.text_or(key, "") == only, key, "its class is not known otherwise", only);
  r.dropout({"attention_dropout", "residual_dropout", "embedding_dropout"}, 0);
  sees_both_sides(r);
}

/// Llama's layers; the matrix of the logits may have a bias, where MLPs have one.
void eurobert(HfReader& r) {
  llama_like(r, false);
  r.spec.head_bias = r.flag_or("mlp_bias", false);
  r.dropout({"attention_dropout", "hidden_dropout"}, 0);
  sees_both_sides(r);
}

/// OLMoE's kind of layers with normed heads (modeling_lladamoe.py of inclusionAI's files).
void llada_moe(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "silu", true);
  attention_biases(r, false);
  n.qk_norm = r.flag_or("qk_layernorm", false);
  Experts& e = n.experts;
  expert_sizes(r, "num_experts", "num_experts_per_tok", "expert_intermediate_size");
  if (r.config.has("shared_expert_intermediate_size"))
    e.shared_ffn_hidden = r.size_or("shared_expert_intermediate_size", 0);
  n.ffn_hidden = r.config.has("dense_intermediate_size") ? r.size("dense_intermediate_size") : e.ffn_hidden;
  std::vector<std::int64_t> routed;
  r.config.optional("moe_layer_freq", routed, IntegerRange{0, 1});
  for (const std::int64_t layer : routed)
    r.config.require(layer == 1, "moe_layer_freq", "layers without experts are none of its forms", "1 in all layers");
  sees_both_sides(r);
}

void sdar(HfReader& r) {
  qwen3(r);
  count_beside(
      r, 0, "a loss over blocks of hidden words beside the words themselves (block diffusion)", "attention, MLP");
}

void sdar_moe(HfReader& r) {
  qwen3_moe(r);
  count_beside(
      r, 0, "a loss over blocks of hidden words beside the words themselves (block diffusion)", "attention, experts");
}

}  // namespace stepcast::detail
