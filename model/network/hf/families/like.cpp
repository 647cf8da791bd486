// Architectures whose layers are those of another one but for a few: src/transformers/models/<family> of transformers.
#include "model/network/hf/families/families.h"

namespace stepcast::detail {

/// Llama with a plain MLP of squared ReLU.
void arcee(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  r.spec.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "relu2", false);
  attention_biases(r, false);
  bool mlp = false;
  r.config.optional("mlp_bias", mlp);
  r.config.require(!mlp, "mlp_bias", "biases on the MLP alone are none of our forms", "false");
}

/// Llama with biases that say where they are.
void seed_oss(HfReader& r) {
  shared_sizes(r, 0, 128, false);
  r.spec.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  r.spec.qkv_bias = r.flag_or("attention_bias", true);
  r.spec.out_bias = r.flag_or("attention_out_bias", false);
  bool mlp = false;
  r.config.optional("mlp_bias", mlp);
  r.config.require(!mlp, "mlp_bias", "biases on the MLP alone are none of our forms", "false");
  r.dropout({"residual_dropout"}, 0);
}

/// Llama with tied tables; some layers turn no positions, which has no weights.
void smollm3(HfReader& r) {
  llama_like(r, true);
  window_behind(r);
}

/// Llama with factors on what passes, which have no weights.
void granite(HfReader& r) { llama_family(r); }

}  // namespace stepcast::detail
