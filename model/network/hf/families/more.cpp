// Further architectures of src/transformers/models/<family> of transformers, and of files that bring their own class.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/hf/families/families.h"

namespace stepcast::detail {

/// Llama's layers with norms before and behind both sublayers.
void glm4(HfReader& r) {
  shared_sizes(r, 2, 128, false);
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  n.qkv_bias = r.flag_or("attention_bias", false);
  n.norm_place = NormPlace::both;
}

/// Mamba, or FalconMamba whose norms of what selects have no weights. Their files tell no length.
void mamba1_alone(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.either("num_hidden_layers", "n_layer");
  n.hidden = r.either("hidden_size", "d_model");
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(true);
  n.positions = Positions::none;
  bool conv = true, biased = false;
  r.config.optional("use_conv_bias", conv);
  r.config.optional("use_bias", biased);
  r.config.require(conv, "use_conv_bias", "convolutions without a bias are none of our forms", "true");
  r.config.require(!biased, "use_bias", "biases on a mixer's projections are none of our forms", "false");
  const std::int64_t rank =
      r.config.type_of("time_step_rank") == "number" ? r.size("time_step_rank") : (n.hidden + 15) / 16;
  const std::int64_t channels =
      r.config.has("intermediate_size") ? r.size("intermediate_size") : r.size_or("expand", 2) * n.hidden;
  n.mixer = make_mixer("mamba1", {{"channels", channels}, {"state", r.size_or("state_size", 16)}, {"rank", rank},
                                     {"taps", r.size_or("conv_kernel", 4)}});
  n.pattern = {{Feed::none, false, true, false}};
}

/// Attention and MLP side by side under one LayerNorm, biases everywhere, on the logits too.
void phi(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "gelu_new", false);
  n.norm = Norm::layernorm;
  n.linear_bias = n.head_bias = n.parallel_block = true;
  n.norms_per_layer = 1;
  bool normed = false;
  r.config.optional("qk_layernorm", normed);
  r.config.require(!normed, "qk_layernorm", "norms of heads with an offset are none of our forms", "false");
  r.dropout({"resid_pdrop", "embd_pdrop"}, 0);
}

/// One key and value head beside all queries, attention and MLP side by side under one LayerNorm; the newer form has
/// several and two norms.
void falcon(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.either("num_hidden_layers", "n_layer");
  n.hidden = r.size("hidden_size");
  n.heads = r.either("num_attention_heads", "n_head");
  n.vocab = r.size("vocab_size");
  n.ffn_hidden = r.config.has("ffn_hidden_size") ? r.size("ffn_hidden_size") : 4 * n.hidden;
  r.length_or("max_position_embeddings", 2048);
  // modelling_RW.py of the 40B: its own class has n_head_kv in the newer form alone, and no flag for it
  const bool newer = r.flag_or("new_decoder_architecture", r.config.has("n_head_kv"));
  const bool one = r.flag_or("multi_query", true);
  n.kv_heads = newer ? r.either("num_kv_heads", "n_head_kv") : one ? 1 : n.heads;
  r.activation("activation", "gelu", false);
  n.norm = Norm::layernorm;
  const bool parallel = r.flag_or("parallel_attn", true);
  n.parallel_block = newer || parallel;
  // Falcon 2 has the newer form with one norm in front of both halves.
  std::int64_t norms = newer ? 2 : 1;
  r.config.optional("num_ln_in_parallel_attn", norms, IntegerRange{1, 2});
  n.norms_per_layer = parallel ? norms : 2;
  n.linear_bias = r.flag_or("bias", false);
  n.positions = r.flag_or("alibi", false) ? Positions::alibi : Positions::rope;
  n.tied_embeddings = r.tied_or(true);
  r.dropout({"attention_dropout", "hidden_dropout"}, 0);
}

/// Llama's layers with one fused projection.
void internlm2(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  const bool biased = r.flag_or("bias", true);
  n.qkv_bias = n.out_bias = biased;
}

/// Llama's layers with LayerNorm.
void stablelm(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  n.norm = Norm::layernorm;
  n.qkv_bias = r.flag_or("use_qkv_bias", false);
  bool normed = false, parallel = false;
  r.config.optional("qk_layernorm", normed);
  r.spec.qk_norm = r.spec.qk_norm_heads = normed;
  r.config.optional("use_parallel_residual", parallel);
  n.parallel_block = parallel;
  if (parallel) n.norms_per_layer = 1;
  r.dropout({"hidden_dropout"}, 0);
}

/// Llama's attention beside DeepSeek's first experts.
void deepseek_moe(HfReader& r) {
  llama_like(r, false);
  deepseek_experts(r);
}

/// LayerNorm without offset, sixteen experts; sizes of attention and experts stand in parts of their own.
void dbrx(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("n_layers");
  n.hidden = r.size("d_model");
  n.heads = r.size("n_heads");
  n.vocab = r.size("vocab_size");
  n.sequence = r.size("max_seq_len");
  n.tied_embeddings = r.tied_or(false);
  n.norm = Norm::layernorm_scale;
  n.kv_heads = n.heads;
  JsonObject attention = r.config.object("attn_config"), experts = r.config.object("ffn_config");
  attention.allow_unknown_keys();
  experts.allow_unknown_keys();
  constexpr IntegerRange sizes{1, 100'000'000};
  attention.optional("kv_n_heads", n.kv_heads, sizes);
  experts.read("ffn_hidden_size", n.experts.ffn_hidden, sizes);
  experts.read("moe_num_experts", n.experts.count, sizes);
  experts.read("moe_top_k", n.experts.top_k, sizes);
  n.ffn_hidden = n.experts.ffn_hidden;
  r.dropout({"resid_pdrop", "emb_pdrop"}, 0);
}

/// Lightning attention where the list says 0, softmax where it says 1; experts in all layers.
void minimax_text(HfReader& r) {
  shared_sizes(r, 8, 0, false);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "silu", true);
  n.ffn_hidden = expert_sizes(r, "num_local_experts", "num_experts_per_tok", "intermediate_size");
  std::vector<std::int64_t> kinds;
  r.config.read("attn_type_list", kinds, IntegerRange{0, 1});
  n.mixer = make_mixer("lightning", {{"heads", n.heads}, {"head_dim", n.head_dim},
                                        {"chunk", r.config.has("block_size") ? r.size("block_size") : 256}});
  r.config.require(static_cast<std::int64_t>(kinds.size()) == n.layers, "attn_type_list",
      fmt::format("{} kinds for {} layers", kinds.size(), n.layers), "one for each layer");
  std::vector<LayerKind> layers;
  for (const std::int64_t kind : kinds) layers.push_back({Feed::experts, false, kind == 0, kind == 1});
  n.pattern = shortest(std::move(layers));
  const std::int64_t shared = r.config.has("shared_intermediate_size") ? r.size_or("shared_intermediate_size", 0) : 0;
  r.config.require(shared == 0, "shared_intermediate_size", "a shared expert is none of its class", "0");
}

}  // namespace stepcast::detail
