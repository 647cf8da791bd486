// Decoders of words whose words see both sides: modeling_llada.py of GSAI-ML's files, modeling_dream.py of Dream-org's,
// modeling_sdar.py of JetLM's.
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
