// Architectures whose layers are those of another one but for a few: src/transformers/models/<family> of transformers.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/hf/families/families.h"

namespace stepcast::detail {

/// Llama with a plain MLP of squared ReLU.
void arcee(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  r.spec.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "relu2", false);
  const bool attention = r.flag_or("attention_bias", false);
  dense_biases(r, attention, r.flag_or("mlp_bias", false));
}

/// Llama with biases that say where they are.
void seed_oss(HfReader& r) {
  shared_sizes(r, 0, 128, false);
  gated_mlp(r);
  r.spec.qkv_bias = r.flag_or("attention_bias", true);
  r.spec.out_bias = r.flag_or("attention_out_bias", false);
  r.config.optional("mlp_bias", r.spec.mlp_bias);
  r.dropout({"residual_dropout"}, 0);
}

/// Llama with tied tables; some layers turn no positions, which has no weights.
void smollm3(HfReader& r) {
  llama_like(r, true);
  window_behind(r);
}

/// Llama with factors on what passes, which have no weights.
void granite(HfReader& r) { llama_family(r); }

/// Llama with LayerNorm.
void orion(HfReader& r) {
  llama_like(r, false);
  r.spec.norm = Norm::layernorm;
}

/// Llama with biases on attention (InternLM 1).
void internlm(HfReader& r) {
  llama_like(r, false);
  r.spec.qkv_bias = r.spec.out_bias = r.flag_or("bias", true);
}

/// Llama whose layers have windows where a list says so (Code World Model).
void cwm(HfReader& r) {
  llama_like(r, false);
  r.window(r.length_or_none("sliding_window"), "f");
}

/// Qwen 1: the stated width is that of gate and up together.
void qwen1(HfReader& r) {
  NetworkSpec& n = r.spec;
  stream_sizes(r);
  n.kv_heads = n.heads;
  n.head_dim = r.size("kv_channels");
  n.vocab = r.size("vocab_size");
  n.ffn_hidden = r.size("intermediate_size") / 2;
  n.qkv_bias = true;
  n.out_bias = !r.flag_or("no_bias", true);
  r.config.require(!n.out_bias, "no_bias", "biases on the MLP, too, are none of our forms", "true");
  n.tied_embeddings = r.tied_or(false);
  r.length(r.config.has("seq_length") ? "seq_length" : "max_position_embeddings");
  r.dropout({"attn_dropout_prob", "emb_dropout_prob"}, 0);
}

/// DeepSeek's latent attention with an MLP in all layers.
void youtu(HfReader& r) {
  deepseek_family(r);
  r.spec.tied_embeddings = r.tied_or(true);
}

/// Attention beside an MLP under one norm; so many query heads share a head of keys.
void plamo(HfReader& r) {
  NetworkSpec& n = r.spec;
  stream_sizes(r);
  const std::int64_t shared = std::max<std::int64_t>(1, r.size_or("n_shared_head", 8));
  n.kv_heads = (n.heads + shared - 1) / shared;
  n.ffn_hidden = r.size("intermediate_size");
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(false);
  n.parallel_block = true;
  n.norms_per_layer = 1;
  r.length("max_position_embeddings");
}

/// Qwen 3 MoE's layers, with windows where a list says so.
void mellum(HfReader& r) {
  shared_sizes(r, 0, 128, false);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "silu", true);
  n.qk_norm = true;
  expert_sizes(r, "num_experts", "num_experts_per_tok", "moe_intermediate_size");
  n.ffn_hidden = r.size("intermediate_size");
  r.window(r.length_or_none("sliding_window"), "f");
}

/// Norms before and behind, experts of GELU, in Grok 2 beside an MLP (sglang srt/models/grok.py).
void grok(HfReader& r) {
  const bool tied = !r.config.has("residual_moe");
  shared_sizes(r, 0, 128, tied);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "gelu", true);
  n.norm_place = NormPlace::both;
  n.ffn_hidden = r.size("intermediate_size");
  Experts& e = n.experts;
  e.count = r.either("num_local_experts", "num_experts");
  e.top_k = r.size("num_experts_per_tok");
  e.ffn_hidden = r.config.has("moe_intermediate_size") ? r.size("moe_intermediate_size") : n.ffn_hidden;
  e.shared_ffn_hidden = !tied && r.flag_or("residual_moe", false) ? n.ffn_hidden : 0;
  n.logit_softcap = r.cap("final_logit_softcapping", false);
}

/// Attention over as many keys as before; norms of its own between attention, MLP and experts (modeling_arctic.py).
void arctic(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "silu", true);
  n.ffn_hidden = expert_sizes(r, "num_local_experts", "num_experts_per_tok", "intermediate_size");
  const std::int64_t every = r.size_or("moe_layer_frequency", 1);
  r.config.require(every == 1, "moe_layer_frequency", fmt::format("experts in every {}th layer", every), "1");
  bool beside = true;
  r.config.optional("parallel_attn_mlp_res", beside);
  r.config.require(beside, "parallel_attn_mlp_res", "its layers are not known without it", "true");
  count_beside(r, n.layers * (3 * n.hidden + 1) * n.hidden, "experts beside attention and an MLP (Arctic)",
      "attention and MLP beside experts");
}

/// Llama with norms inside both sublayers (BitNet b1.58, arXiv 2504.12285).
void bitnet(HfReader& r) {
  shared_sizes(r, 0, 0, true);
  r.spec.ffn_hidden = r.size("intermediate_size");
  r.text_or("hidden_act", "relu2");
  attention_biases(r, false);
  count_beside(r, r.spec.layers * (r.spec.hidden + r.spec.ffn_hidden), "norms inside the sublayers (BitNet)",
      "attention and MLP with norms inside");
}

/// Layers between norms, run several times over, and a gate that says when to stop (Ouro, arXiv 2510.25741).
void ouro(HfReader& r) {
  llama_like(r, false);
  r.spec.norm_place = NormPlace::both;
  r.size_or("total_ut_steps", 4);
  count_beside(r, r.spec.hidden + 1, "layers that run several times (total_ut_steps)", "attention, MLP");
}

/// Llama's layers run over twice, with a gate for each head between what the two see (IQuest-Coder).
void iquest_loop(HfReader& r) {
  llama_like(r, false);
  const NetworkSpec& n = r.spec;
  r.size_or("loop_num", 2);
  count_beside(r, n.layers * n.heads * (n.head_dim + 1), "layers that run several times (loop_num)", "attention, MLP");
}

/// Plain MLPs and norms without weights (nanochat).
void nanochat(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  r.spec.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "relu2", false);
  count_beside(
      r, -(2 * r.spec.layers + 1) * r.spec.hidden, "norms without weights", "attention and MLP, norms without weights");
}

/// Qwen 3 MoE's layers with a router that is balanced, and two numbers that weigh routed and shared experts (Klear).
void klear(HfReader& r) {
  qwen3_moe(r);
  NetworkSpec& n = r.spec;
  n.experts.shared_ffn_hidden = r.size("n_shared_experts") * n.experts.ffn_hidden;
  n.experts.router_bias = true;
  const std::int64_t routed = n.layers - n.experts.dense_layers;
  count_beside(r, routed * 2 * (n.hidden + 1), "weights of routed and of shared experts (Klear)", "attention, experts");
}

/// GLM-4.5's kind of experts beside normed heads (src/transformers/models/hy_v3 of transformers).
void hunyuan3(HfReader& r) {
  shared_sizes(r, 0, 128, false);
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  n.qk_norm = r.flag_or("qk_norm", true);
  Experts& e = n.experts;
  e.count = r.size("num_experts");
  e.top_k = r.size("num_experts_per_tok");
  e.ffn_hidden = r.either("moe_intermediate_size", "expert_hidden_dim");
  e.shared_ffn_hidden = r.size_or("num_shared_experts", 1) * e.ffn_hidden;
  e.dense_layers = r.size_or("first_k_dense_replace", 1);
  e.router_bias = r.flag_or("moe_router_enable_expert_bias", true);
  n.mtp_layers = r.config.has("num_nextn_predict_layers") ? r.size_or("num_nextn_predict_layers", 0) : 0;
}

/// Llama with factors on what passes; norms before and behind where the file says so (HyperCLOVA X).
void hyperclovax(HfReader& r) {
  llama_like(r, false);
  if (r.flag_or("use_post_norm", false)) r.spec.norm_place = NormPlace::both;
}

/// Llama with tied tables; layers that run twice are none of our forms (MobileLLM, arXiv 2402.14905).
void mobilellm(HfReader& r) {
  llama_like(r, false);
  r.spec.tied_embeddings = r.flag_or("share_embedding", true);
  r.config.require(
      !r.flag_or("layer_sharing", false), "layer_sharing", "layers that run twice are none of our forms", "false");
}

/// Llama with LayerNorm, plain MLPs of squared ReLU and biases everywhere (src/transformers/models/jais2).
void jais2(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  r.spec.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "relu2", false);
  r.spec.norm = Norm::layernorm;
  const bool attention = r.flag_or("attention_bias", true);
  dense_biases(r, attention, r.flag_or("mlp_bias", true));
}

/// Llama with biases on attention where `bias` says so (vllm/model_executor/models/openpangu.py of vLLM).
void pangu(HfReader& r) {
  llama_like(r, false);
  if (r.flag_or("bias", false)) r.spec.qkv_bias = r.spec.out_bias = true;
}

/// Llama's attention with experts in all layers, some of them shared (src/transformers/models/aria).
void aria_text(HfReader& r) {
  llama_like(r, false);
  NetworkSpec& n = r.spec;
  r.config.require(!n.mlp_bias && !n.linear_bias, "mlp_bias", "biases on experts are not read", "false");
  n.experts.count = r.size("moe_num_experts");
  n.experts.top_k = r.size("moe_topk");
  n.experts.ffn_hidden = n.ffn_hidden;
  n.experts.shared_ffn_hidden = r.size_or("moe_num_shared_experts", 2) * n.ffn_hidden;
}

/// The text of MiniCPM-V, whose version says of which family it is (modeling_minicpmv.py of openbmb's files).
void minicpm_v(HfReader& r) {
  const double version = r.number_or("version", 0);
  constexpr double llama3 = 2.5, second = 2.6, fourth = 4, third_qwen = 4.5;
  if (version == second) return qwen2(r);
  if (version == third_qwen) return qwen3(r);
  r.config.require(version == llama3 || version == fourth, "version",
      fmt::format("the text of version {} is not known", version), "2.5, 2.6, 4.0 or 4.5");
  llama_like(r, false);
}

}  // namespace stepcast::detail
