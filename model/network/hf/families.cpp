// How each architecture's config is read. Defaults are those of the configuration classes of transformers
// (src/transformers/models/<family>/configuration_<family>.py), layer shapes those of its modeling files.
#include <fmt/format.h>

#include "model/network/hf/reader.h"

namespace stepcast::detail {
namespace {

// Sizes under the names that most classes share. key-value heads: 0 = as many as heads.
void shared_sizes(HfReader& r, std::int64_t kv_heads, std::int64_t head_dim, bool tied) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_hidden_layers");
  n.hidden = r.size("hidden_size");
  n.heads = r.size("num_attention_heads");
  n.kv_heads = r.size_or("num_key_value_heads", kv_heads == 0 ? n.heads : kv_heads);
  const std::int64_t even_share = n.heads > 0 ? n.hidden / n.heads : 0;
  n.head_dim = head_dim == 0 && !r.config.has("head_dim") ? even_share : r.size_or("head_dim", head_dim);
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.flag_or("tie_word_embeddings", tied);
  r.length("max_position_embeddings");
  r.dropout({"attention_dropout"}, 0);
}

void attention_biases(HfReader& r, bool absent) {
  r.spec.qkv_bias = r.spec.out_bias = r.flag_or("attention_bias", absent);
}

void note_window(HfReader& r, const char* when) {
  if (!r.config.has("sliding_window")) return;
  r.note(fmt::format("sliding_window {}: counted as full causal attention{}", r.size_or("sliding_window", 0), when));
}

void llama(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  r.spec.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  bool attention = false, mlp = false;
  r.config.optional("attention_bias", attention);
  r.config.optional("mlp_bias", mlp);
  r.config.require(
      !mlp || attention, "mlp_bias", "biases on the MLP alone are none of our forms", "attention_bias too, or neither");
  r.spec.linear_bias = mlp && attention;
  r.spec.qkv_bias = r.spec.out_bias = attention && !mlp;
}

/// Its fused projections (qkv, gate and up) hold the same weights.
void phi3(HfReader& r) {
  llama(r);
  note_window(r, "");
}

void mistral(HfReader& r) {
  shared_sizes(r, 8, 0, false);
  r.spec.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  note_window(r, "");
}

void mixtral(HfReader& r) {
  shared_sizes(r, 8, 0, false);
  r.activation("hidden_act", "silu", true);
  Experts& e = r.spec.experts;
  e.count = r.size_or("num_local_experts", 8);
  e.top_k = r.size_or("num_experts_per_tok", 2);
  e.ffn_hidden = r.spec.ffn_hidden = r.size("intermediate_size");
  note_window(r, "");
}

void qwen2(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  r.spec.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  r.spec.qkv_bias = true;
}

void qwen3(HfReader& r) {
  shared_sizes(r, 0, 128, false);
  r.spec.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  attention_biases(r, false);
  r.spec.qk_norm = true;
}

/// Layer i is sparse when (i + 1) % decoder_sparse_step == 0 and i is not among mlp_only_layers.
void qwen_experts(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  n.experts.count = r.size("num_experts");
  n.experts.top_k = r.size("num_experts_per_tok");
  n.experts.ffn_hidden = r.size("moe_intermediate_size");
  n.experts.every = r.size_or("decoder_sparse_step", 1);
  std::vector<std::int64_t> plain;
  r.config.optional("mlp_only_layers", plain, IntegerRange{0, 1 << 20});
  for (std::size_t i = 0; i < plain.size(); ++i)
    r.config.require(plain[i] == static_cast<std::int64_t>(i) && n.experts.every == 1, "mlp_only_layers",
        "layers without experts stand between layers with them", "leading layers only: 0, 1, ...");
  n.experts.dense_layers = static_cast<std::int64_t>(plain.size());
}

void qwen2_moe(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  qwen_experts(r);
  r.spec.experts.shared_ffn_hidden = r.size("shared_expert_intermediate_size");
  r.spec.experts.shared_gate = true;
  r.spec.qkv_bias = true;
}

void qwen3_moe(HfReader& r) {
  shared_sizes(r, 0, 128, false);
  qwen_experts(r);
  attention_biases(r, false);
  r.spec.qk_norm = true;
}

void latent(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_hidden_layers");
  n.hidden = r.size("hidden_size");
  n.heads = n.kv_heads = r.size("num_attention_heads");
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.flag_or("tie_word_embeddings", false);
  n.latent.q_rank = r.config.has("q_lora_rank") ? r.size("q_lora_rank") : 0;  // null: queries are projected directly
  n.latent.kv_rank = r.size("kv_lora_rank");
  n.latent.nope_dim = r.size("qk_nope_head_dim");
  n.latent.rope_dim = r.size("qk_rope_head_dim");
  n.latent.value_dim = r.size("v_head_dim");
  bool bias = false;
  r.config.optional("attention_bias", bias);
  r.config.require(!bias, "attention_bias", "latent attention with biases is none of our forms", "false");
  r.length("max_position_embeddings");
  r.dropout({"attention_dropout"}, 0);
}

void deepseek(HfReader& r) {
  latent(r);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  n.mtp_layers = r.config.has("num_nextn_predict_layers") ? r.size_or("num_nextn_predict_layers", 0) : 0;
  if (!r.config.has("n_routed_experts")) return;
  n.experts.count = r.size("n_routed_experts");
  n.experts.top_k = r.size("num_experts_per_tok");
  n.experts.ffn_hidden = r.size("moe_intermediate_size");
  n.experts.dense_layers = r.size_or("first_k_dense_replace", 0);
  const std::int64_t shared = r.config.has("n_shared_experts") ? r.size("n_shared_experts") : 0;
  n.experts.shared_ffn_hidden = shared * n.experts.ffn_hidden;
  // The correction that balances without an auxiliary loss: one number per expert.
  n.experts.router_bias = r.text_or("topk_method", "") == "noaux_tc";
  const std::int64_t frequency = r.config.has("moe_layer_freq") ? r.size("moe_layer_freq") : 1;
  r.config.require(frequency == 1, "moe_layer_freq", fmt::format("experts in every {}th layer", frequency), "1");
}

void gpt_oss(HfReader& r) {
  shared_sizes(r, 8, 64, false);
  r.activation("hidden_act", "silu", true);
  attention_biases(r, true);
  Experts& e = r.spec.experts;
  e.count = r.size("num_local_experts");
  e.top_k = r.either("num_experts_per_tok", "experts_per_token");
  e.ffn_hidden = r.spec.ffn_hidden = r.size("intermediate_size");
  e.router_bias = e.expert_bias = true;
  note_window(r, " in every second layer too");
  r.note("attention sinks (one number per head and layer) are not counted");
}

/// Layer i has experts when (i + 1) % interleave_moe_layer_step == 0; the shared expert is as wide as a routed one.
void llama4(HfReader& r) {
  shared_sizes(r, 8, 128, false);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "silu", true);
  n.experts.count = r.size("num_local_experts");
  n.experts.top_k = r.size("num_experts_per_tok");
  n.experts.ffn_hidden = n.experts.shared_ffn_hidden = r.size("intermediate_size");
  n.ffn_hidden = r.size("intermediate_size_mlp");
  n.experts.every = r.size_or("interleave_moe_layer_step", 1);
  r.note("the norm of queries and keys has no weights; chunked attention counts as full causal attention");
}

void gpt2(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("n_layer");
  n.hidden = r.size("n_embd");
  n.heads = n.kv_heads = r.size("n_head");
  n.ffn_hidden = r.config.has("n_inner") ? r.size("n_inner") : 4 * n.hidden;
  n.vocab = r.size("vocab_size");
  n.sequence = n.max_positions = r.size("n_positions");
  r.activation("activation_function", "gelu_new", false);
  r.dropout({"resid_pdrop", "embd_pdrop", "attn_pdrop"}, 0.1);
  n.norm = Norm::layernorm;
  n.positions = Positions::learned;
  n.linear_bias = true;
  n.tied_embeddings = r.flag_or("tie_word_embeddings", true);
}

void gpt_neox(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "gelu", false);
  r.dropout({"hidden_dropout"}, 0);
  const bool bias = r.flag_or("attention_bias", true);
  r.config.require(bias, "attention_bias", "biases on the MLP alone are none of our forms", "true");
  n.linear_bias = true;
  n.norm = Norm::layernorm;
  n.parallel_block = r.flag_or("use_parallel_residual", true);
}

void bloom(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.either("n_layer", "num_hidden_layers");
  n.hidden = r.either("hidden_size", "n_embed");
  n.heads = n.kv_heads = r.either("n_head", "num_attention_heads");
  n.ffn_hidden = 4 * n.hidden;
  n.vocab = r.size("vocab_size");
  n.sequence = r.size_or("seq_length", 2048);
  n.activation = Activation::gelu;
  n.norm = Norm::layernorm;
  n.positions = Positions::alibi;
  n.linear_bias = n.embedding_norm = true;
  r.dropout({"hidden_dropout", "attention_dropout"}, 0);
  n.tied_embeddings = r.flag_or("tie_word_embeddings", true);
}

void nemotron(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "relu2", false);
  n.norm = Norm::layernorm;
  attention_biases(r, false);
  bool mlp = false;
  r.config.optional("mlp_bias", mlp);
  r.config.require(
      mlp == n.qkv_bias, "mlp_bias", "biases on one half of the layer are none of our forms", "as attention_bias");
  n.linear_bias = mlp;
}

void gemma(HfReader& r) {
  shared_sizes(r, 16, 256, true);
  r.spec.ffn_hidden = r.size("intermediate_size");
  // hidden_act was wrong in early files; the class goes by hidden_activation and takes tanh-GELU where it is absent.
  r.activation("hidden_activation", "gelu_pytorch_tanh", true);
  attention_biases(r, false);
}

/// The table of positions has two rows that no token uses (modeling_opt.py, OPTLearnedPositionalEmbedding).
void opt(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_hidden_layers");
  n.hidden = r.size("hidden_size");
  n.heads = n.kv_heads = r.size("num_attention_heads");
  n.ffn_hidden = r.size("ffn_dim");
  n.vocab = r.size("vocab_size");
  n.sequence = r.size("max_position_embeddings");
  n.max_positions = n.sequence + 2;
  const std::int64_t width = r.config.has("word_embed_proj_dim") ? r.size("word_embed_proj_dim") : n.hidden;
  r.config.require(width == n.hidden, "word_embed_proj_dim",
      fmt::format("embeddings of width {} are projected to {}", width, n.hidden), "hidden_size");
  bool before = true;
  r.config.optional("do_layer_norm_before", before);
  r.config.require(before, "do_layer_norm_before", "norms behind the layers are none of our forms", "true");
  r.activation("activation_function", "relu", false);
  r.dropout({"dropout", "attention_dropout"}, 0);
  n.norm = Norm::layernorm;
  n.positions = Positions::learned;
  n.linear_bias = true;
  n.tied_embeddings = r.flag_or("tie_word_embeddings", true);
}

}  // namespace

std::span<const HfFamily> hf_family_table() {
  static const std::vector<HfFamily> rows = {
      {"llama", {"LlamaForCausalLM", "LLaMAForCausalLM"}, llama},
      {"mistral", {"MistralForCausalLM"}, mistral},
      {"mixtral", {"MixtralForCausalLM"}, mixtral},
      {"qwen2", {"Qwen2ForCausalLM"}, qwen2},
      {"qwen2-moe", {"Qwen2MoeForCausalLM"}, qwen2_moe},
      {"qwen3", {"Qwen3ForCausalLM"}, qwen3},
      {"qwen3-moe", {"Qwen3MoeForCausalLM"}, qwen3_moe},
      {"deepseek", {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM"}, deepseek},
      {"gpt-oss", {"GptOssForCausalLM"}, gpt_oss},
      {"llama4", {"Llama4ForCausalLM", "Llama4ForConditionalGeneration"}, llama4},
      {"gpt2", {"GPT2LMHeadModel"}, gpt2},
      {"gpt-neox", {"GPTNeoXForCausalLM"}, gpt_neox},
      {"bloom", {"BloomForCausalLM", "BloomModel"}, bloom},
      {"nemotron", {"NemotronForCausalLM"}, nemotron},
      {"phi3", {"Phi3ForCausalLM"}, phi3},
      {"gemma", {"GemmaForCausalLM"}, gemma},
      {"opt", {"OPTForCausalLM"}, opt},
  };
  return rows;
}

}  // namespace stepcast::detail
