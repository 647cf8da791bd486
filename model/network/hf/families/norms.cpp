// Architectures whose norms stand or work otherwise than Llama's: src/transformers/models/<family> of transformers.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

/// Full attention in every n-th layer, the window in the others; n by `sliding_window_pattern`, as a number or as
/// "LLLG", letters of local and global layers.
void window_but_every(HfReader& r, std::int64_t window, std::int64_t absent) {
  std::int64_t every = absent;
  std::string pattern;
  if (r.config.type_of("sliding_window_pattern") == "string") {
    std::string letters;
    r.config.read("sliding_window_pattern", letters);
    r.config.require(!letters.empty() && letters.find_first_not_of("LG") == letters.npos, "sliding_window_pattern",
        fmt::format("'{:.40}' does not say which layers see all positions", letters), "L and G: \"LLLG\"");
    for (const char letter : letters) pattern += letter == 'L' ? 'w' : 'f';
  } else if (r.config.has("sliding_window_pattern")) {
    every = r.size("sliding_window_pattern");
  } else if (r.config.has("_sliding_window_pattern")) {
    every = r.size("_sliding_window_pattern");
  }
  if (pattern.empty()) pattern = std::string(static_cast<std::size_t>(std::max<std::int64_t>(1, every) - 1), 'w') + 'f';
  r.window(window, pattern);
}

std::int64_t window_or(HfReader& r, std::int64_t absent) {
  return r.config.names("sliding_window") ? r.length_or_none("sliding_window") : r.size_or("sliding_window", absent);
}

/// Norms before and behind both sublayers, GEGLU, tied tables; the class has a default for everything.
void gemma_sizes(HfReader& r, const NetworkSpec& absent) {
  NetworkSpec& n = r.spec;
  n.layers = r.size_or("num_hidden_layers", absent.layers);
  n.hidden = r.size_or("hidden_size", absent.hidden);
  n.heads = r.size_or("num_attention_heads", absent.heads);
  n.kv_heads = r.size_or("num_key_value_heads", absent.kv_heads, 1);
  n.head_dim = r.size_or("head_dim", absent.head_dim);
  n.ffn_hidden = r.size_or("intermediate_size", absent.ffn_hidden);
  n.vocab = r.size_or("vocab_size", absent.vocab);
  n.tied_embeddings = r.tied_or(true);
  r.length_or("max_position_embeddings", absent.sequence);
  r.activation("hidden_activation", "gelu_pytorch_tanh", true);
  attention_biases(r, false);
  r.dropout({"attention_dropout"}, 0);
  n.norm_place = NormPlace::both;
  n.logit_softcap = r.cap("final_logit_softcapping", absent.logit_softcap);
}

NetworkSpec sizes_of(std::int64_t layers, std::int64_t hidden, std::int64_t ffn, std::int64_t heads,
    std::int64_t kv_heads, std::int64_t vocab, std::int64_t sequence) {
  NetworkSpec n;
  n.layers = layers, n.hidden = hidden, n.ffn_hidden = ffn, n.heads = heads, n.kv_heads = kv_heads, n.head_dim = 256;
  n.vocab = vocab, n.sequence = sequence;
  return n;
}

}  // namespace

void gemma2(HfReader& r) {
  NetworkSpec absent = sizes_of(26, 2304, 9216, 8, 4, 256'000, 8192);
  absent.logit_softcap = true;
  gemma_sizes(r, absent);
  if (r.cap("attn_logit_softcapping", true)) r.note("kernels that cap the scores of attention are priced as others");
  r.window(window_or(r, 4096), "wf");
}

void gemma3(HfReader& r) {
  gemma_sizes(r, sizes_of(26, 2304, 9216, 8, 4, 262'208, 131'072));
  r.spec.qk_norm = true;
  if (r.cap("attn_logit_softcapping", false)) r.note("kernels that cap the scores of attention are priced as others");
  window_but_every(r, window_or(r, 4096), 6);
}

/// Gemma 2 with norms before the sublayers alone.
void vault_gemma(HfReader& r) {
  gemma2(r);
  r.spec.norm_place = NormPlace::before;
}

/// The same layers without a loss, looking both ways in EmbeddingGemma; the logits' table is that of the words.
void gemma3_model(HfReader& r) {
  gemma3(r);
  bool both_ways = false;
  r.config.optional("use_bidirectional_attention", both_ways);
  count_beside(r, 0, "a loss (architectures: Gemma3ForCausalLM has one)",
      both_ways ? "two-sided attention, MLP" : "attention, MLP");
}

namespace {

/// Norms behind both sublayers, one norm over all query heads and one over all key heads.
void olmo_layers(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  gated_mlp(r);
  attention_biases(r, false);
  r.spec.qk_norm = r.spec.qk_norm_width = true;
}

}  // namespace

void olmo2(HfReader& r) {
  olmo_layers(r);
  r.spec.norm_place = NormPlace::behind;
}

void olmo3(HfReader& r) {
  olmo2(r);
  window_but_every(r, window_or(r, 4096), 4);
}

void olmoe(HfReader& r) {
  olmo_layers(r);
  Experts& e = r.spec.experts;
  e.count = r.size_or("num_experts", 64);
  e.top_k = r.size_or("num_experts_per_tok", 8);
  e.ffn_hidden = r.spec.ffn_hidden;
}

/// Attention and MLP side by side under one LayerNorm without offset.
void cohere(HfReader& r) {
  shared_sizes(r, 0, 0, true);
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  attention_biases(r, false);
  n.norm = Norm::layernorm_scale;
  n.parallel_block = true;
  n.norms_per_layer = 1;
  bool normed = false;
  r.config.optional("use_qk_norm", normed);
  r.spec.qk_norm = r.spec.qk_norm_heads = normed;
}

void cohere2(HfReader& r) {
  cohere(r);
  window_but_every(r, window_or(r, 4096), 4);
}

/// Norms behind both sublayers and of each query and key head.
void exaone4(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  gated_mlp(r);
  r.spec.qk_norm = true;
  r.spec.norm_place = NormPlace::behind;
  window_but_every(r, window_or(r, 4096), 4);
  std::int64_t modules = 0;
  for (const char* key : {"_num_mtp_layers", "num_nextn_predict_layers"})
    r.config.optional(key, modules, IntegerRange{0, 100});
  for (const char* key : {"mtp_share_layers", "mtp_loss_scaling_factor"}) static_cast<void>(r.config.has(key));
  if (modules > 0)
    r.note(fmt::format("{} modules for multi-token prediction are not described: the main network alone", modules));
}

/// A plain MLP of xIELU, which learns two numbers per layer (arXiv 2411.13010); normed heads.
void apertus(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  r.spec.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "xielu", false);
  if (r.spec.activation == Activation::xielu) r.spec.activation_parameters = 2;
  const bool attention = r.flag_or("attention_bias", false);
  bool behind = false, biased = false;
  r.config.optional("mlp_bias", biased);
  dense_biases(r, attention, biased);
  r.spec.qk_norm = r.flag_or("qk_norm", true);
  r.config.optional("post_norm", behind);
  r.config.require(!behind, "post_norm", "its class has its norms before the sublayers", "false");
}

/// MosaicML's files (llm-foundry, llmfoundry/models/mpt/configuration_mpt.py), keys of its own.
void mpt(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("n_layers");
  n.hidden = r.size("d_model");
  n.heads = n.kv_heads = r.size("n_heads");
  n.vocab = r.size("vocab_size");
  n.ffn_hidden = r.size_or("expansion_ratio", 4) * n.hidden;
  n.sequence = r.size("max_seq_len");
  n.activation = Activation::gelu;
  n.tied_embeddings = true;
  const bool bare = r.flag_or("no_bias", false);
  n.linear_bias = !bare;
  const std::string norm = r.text_or("norm_type", "low_precision_layernorm");
  const bool centred = norm.ends_with("layernorm");
  r.config.require(centred || norm.ends_with("rmsnorm"), "norm_type",
      fmt::format("'{:.40}' is none of its norms", norm),
      "low_precision_layernorm, layernorm, low_precision_rmsnorm, rmsnorm");
  n.norm = !centred ? Norm::rmsnorm : bare ? Norm::layernorm_scale : Norm::layernorm;
  if (auto feed = r.config.optional_object("ffn_config")) {
    feed->allow_unknown_keys();
    std::string kind = "mptmlp";
    feed->optional("ffn_type", kind);
    feed->require(kind == "mptmlp", "ffn_type", fmt::format("MLPs of the kind '{:.40}' are not read", kind), "mptmlp");
  }
  n.positions = Positions::learned, n.max_positions = n.sequence;
  auto attention = r.config.optional_object("attn_config");
  if (!attention) return;
  attention->allow_unknown_keys();
  bool alibi = false, normed = false, rope = false;
  attention->optional("alibi", alibi);
  attention->optional("rope", rope);
  attention->optional("qk_ln", normed);
  std::string kind = "multihead_attention";
  attention->optional("attn_type", kind);
  if (kind == "multiquery_attention") n.kv_heads = 1;
  else if (kind == "grouped_query_attention") attention->read("kv_n_heads", n.kv_heads, IntegerRange{1, 100'000});
  if (alibi) n.positions = Positions::alibi, n.max_positions = 0;
  if (rope) n.positions = Positions::rope, n.max_positions = 0;
  n.qk_norm = n.qk_norm_width = normed;
  std::int64_t window = -1;  // none
  attention->optional("sliding_window_size", window, IntegerRange{-1, 1 << 30});
  if (window > 0) r.window(window, "w");
  bool grouped = false;
  attention->optional("qk_gn", grouped);
  attention->require(!grouped, "qk_gn", "norms over groups of heads are none of our forms", "false");
}

/// Gemma 2's places of norms with normed heads, and full attention in every n-th layer
/// (vllm/model_executor/models/plamo3.py of vLLM).
void plamo3(HfReader& r) {
  shared_sizes(r, 0, 128, false);
  gated_mlp(r);
  r.spec.qk_norm = true;
  r.spec.norm_place = NormPlace::both;
  window_but_every(r, r.length_or_none(r.config.has("window_size") ? "window_size" : "sliding_window"), 8);
}

/// The same places of norms, gated attention whose heads' norm has no weights, full attention in every fourth layer
/// from the last one backward (vllm/transformers_utils/configs of vLLM, NVIDIA-NeMo/Automodel muse_glimmer).
void muse_glimmer(HfReader& r) {
  shared_sizes(r, 0, 128, false);
  NetworkSpec& n = r.spec;
  gated_mlp(r, "hidden_activation");
  attention_biases(r, false);
  n.attention_gate = true;
  n.norm_place = NormPlace::both;
  n.logit_softcap = r.cap("final_logit_softcapping", true);
  constexpr std::int64_t every = 4, most_layers = 10'000;
  std::string pattern;
  for (std::int64_t layer = 0; layer < std::min(n.layers, most_layers); ++layer)
    pattern += (n.layers - 1 - layer) % every == 0 ? 'f' : 'w';
  r.window(window_or(r, 2048), pattern);
  r.note("norms of the embedding, of queries and of keys have no weights");
}

}  // namespace stepcast::detail
