// Architectures with the layers of others under names of their own: src/transformers/models/<family> of transformers,
// and files that bring their class with them (vllm/model_executor/models/<family>.py of vLLM).
#include <fmt/format.h>

#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

/// One flag for the biases of attention and MLP (Ernie 4.5, Baichuan's successors).
void biases_everywhere(HfReader& r, const char* key, bool absent) { r.spec.linear_bias = r.flag_or(key, absent); }

/// Weights of a gated MLP in each layer.
}  // namespace

/// Llama's layers (modeling_baichuan.py). Those of 13B have ALiBi in place of turned positions, and their files no
/// max_position_embeddings.
void baichuan(HfReader& r) {
  NetworkSpec& n = r.spec;
  stream_sizes(r);
  n.kv_heads = n.heads;
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(false);
  gated_mlp(r);
  const bool turned = r.config.has("max_position_embeddings");
  n.positions = turned ? Positions::rope : Positions::alibi;
  r.length(turned ? "max_position_embeddings" : "model_max_length");
}

/// Queries, keys and values say of their biases apart from the others (modeling_internlm3.py).
void internlm3(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  gated_mlp(r);
  biases_everywhere(r, "bias", false);
  r.spec.qkv_bias = r.flag_or("qkv_bias", false);
  r.config.require(!r.spec.linear_bias || r.spec.qkv_bias, "qkv_bias",
      "biases on all projections but queries, keys and values are none of our forms", "true, or bias false");
}

namespace {

/// Queries of longer sequences see the best blocks of keys, by scores of means of keys, and those just before them
/// (InfLLM v2: MiniCPMInfLLMv2Attention of openbmb's modeling_minicpm.py, whose topk counts the near ones on top).
void picked_blocks(HfReader& r, JsonObject& sparse) {
  NetworkSpec& n = r.spec;
  const auto number = [&](const char* key, std::int64_t absent, std::int64_t least = 1) {
    sparse.optional(key, absent, IntegerRange{least, std::int64_t{1} << 30});
    return absent;
  };
  const std::int64_t wide = number("kernel_size", 32), block = number("block_size", 64);
  n.sparse.pooled = number("kernel_stride", 16);
  sparse.require(wide == 2 * n.sparse.pooled, "kernel_size",
      fmt::format("means of {} keys, {} apart", wide, n.sparse.pooled), fmt::format("{}", 2 * n.sparse.pooled));
  number("init_blocks", 1, 0);  // among the picked ones
  const std::int64_t near = number("window_size", 2048, 0) / block;
  n.sparse.block = block;
  n.sparse.top_k = (number("topk", 64) + near) * block;
  n.sparse.heads = n.kv_heads > 0 ? n.kv_heads : n.heads;
  n.sparse.head_dim = n.head_dim > 0 ? n.head_dim : n.heads > 0 ? n.hidden / n.heads : 0;
  static_cast<void>(sparse.has("use_nope"));  // how positions of the scores turn
  constexpr std::int64_t usual_length = 8192;
  // dense where kv_seq_len < dense_len; -1: nowhere
  n.dense_positions = std::max<std::int64_t>(0, number("dense_len", usual_length, -1) - 1);
  r.note(n.dense_positions > 0 ? fmt::format("beyond {} positions queries see {} picked keys (sparse_config)",
                                     n.dense_positions, n.sparse.top_k)
                               : fmt::format("queries see {} picked keys (sparse_config)", n.sparse.top_k));
}

}  // namespace

/// Llama's layers with factors on what passes; tied tables. MiniCPM-MoE has experts in all of them
/// (vllm/model_executor/models/minicpm.py).
void minicpm(HfReader& r) {
  llama_like(r, true);
  if (auto sparse = r.config.optional_object("sparse_config")) picked_blocks(r, *sparse);
  Experts& e = r.spec.experts;
  e.count = r.config.has("num_experts") ? r.size_or("num_experts", 0) : 0;
  if (e.count == 0) return;
  e.top_k = r.size("num_experts_per_tok");
  e.ffn_hidden = r.spec.ffn_hidden;
}

/// Latent attention and an MLP in all layers; values as wide as an even share of the stream (modeling_minicpm.py).
void minicpm3(HfReader& r) {
  const std::int64_t heads = r.size("num_attention_heads"), share = heads > 0 ? r.size("hidden_size") / heads : 0;
  latent_sizes(r, "max_position_embeddings", share, true);
  gated_mlp(r);
}

/// GLM-4 9B: Llama's layers, biases on queries, keys and values.
void glm(HfReader& r) {
  shared_sizes(r, 2, 128, false);
  gated_mlp(r);
  r.spec.qkv_bias = r.flag_or("attention_bias", true);
}

/// The same layers under the names of its own class (modeling_chatglm.py).
void chatglm(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_layers");
  n.hidden = r.size("hidden_size");
  n.heads = r.size("num_attention_heads");
  n.kv_heads = r.flag_or("multi_query_attention", false) ? r.size("multi_query_group_num") : n.heads;
  n.head_dim = r.size("kv_channels");
  n.ffn_hidden = r.size("ffn_hidden_size");
  n.vocab = r.either("padded_vocab_size", "vocab_size");
  n.tied_embeddings = r.tied_or(false);
  n.norm = r.flag_or("rmsnorm", true) ? Norm::rmsnorm : Norm::layernorm;
  biases_everywhere(r, "add_bias_linear", false);
  n.qkv_bias = r.flag_or("add_qkv_bias", false);
  bool last = true, turned = false;
  r.config.optional("post_layer_norm", last);
  r.config.optional("apply_residual_connection_post_layernorm", turned);
  r.config.require(last, "post_layer_norm", "layers without a last norm are none of our forms", "true");
  r.config.require(!turned, "apply_residual_connection_post_layernorm",
      "a residual of what the norm made is none of our forms", "false");
  r.length("seq_length");
  r.dropout({"attention_dropout", "hidden_dropout"}, 0);
}

void ernie(HfReader& r) {
  shared_sizes(r, 0, 128, true);
  gated_mlp(r);
  biases_everywhere(r, "use_bias", false);
}

/// Llama's layers with normed heads.
void hunyuan(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  gated_mlp(r);
  attention_biases(r, false);
  r.spec.qk_norm = r.flag_or("use_qk_norm", true);
}

/// Llama's layers under GPT-2's names (modeling_exaone.py).
void exaone(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.either("num_layers", "num_hidden_layers");
  n.hidden = r.size("hidden_size");
  n.heads = r.size("num_attention_heads");
  n.kv_heads = r.config.has("num_key_value_heads") ? r.size("num_key_value_heads") : n.heads;
  n.head_dim = r.config.has("head_dim") ? r.size("head_dim") : 0;
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(false);
  gated_mlp(r, "activation_function");
  r.length("max_position_embeddings");
  r.dropout({"attention_dropout", "embed_dropout"}, 0);
}

/// Qwen2's layers, and prediction modules with an MLP (mimo_mtp.py).
void mimo(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  gated_mlp(r);
  r.spec.qkv_bias = r.flag_or("attention_bias", true);
  r.spec.mtp_layers = r.config.has("num_nextn_predict_layers") ? r.size_or("num_nextn_predict_layers", 0) : 0;
  window_behind(r);
}

/// GPT-2 with one head of keys and values (StarCoder).
void gpt_bigcode(HfReader& r) {
  gpt2(r);
  if (r.flag_or("multi_query", true)) r.spec.kv_heads = 1;
}

/// LayerNorm with offsets, also of each query and key head; biases everywhere.
void persimmon(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "relu2", false);
  n.norm = Norm::layernorm;
  n.linear_bias = true;
  n.qk_norm = r.flag_or("qk_layernorm", true);
  r.dropout({"hidden_dropout"}, 0);
}

}  // namespace stepcast::detail
