// Architectures whose layers are those of another one but for a few: src/transformers/models/<family> of transformers.
#include "model/network/hf/families.h"

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

/// Grouped-query attention with normed heads and DeepSeek's experts, whose router is balanced by a bias.
void dots1(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  r.spec.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  attention_biases(r, false);
  r.spec.qk_norm = true;
  deepseek_experts(r);
  r.spec.experts.router_bias = true;
  window_behind(r);
}

void glm4_moe(HfReader& r) {
  shared_sizes(r, 8, 128, false);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  n.qkv_bias = r.flag_or("attention_bias", false);
  n.qk_norm = r.flag_or("use_qk_norm", false);
  deepseek_experts(r);
  n.experts.router_bias = true;
  n.mtp_layers = r.config.has("num_nextn_predict_layers") ? r.size_or("num_nextn_predict_layers", 0) : 0;
}

}  // namespace stepcast::detail
