// How each architecture's config is read. Defaults are those of the configuration classes of transformers
// (src/transformers/models/<family>/configuration_<family>.py), layer shapes those of its modeling files.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/hf/families/families.h"
#include "model/network/hf/reader.h"

namespace stepcast::detail {

void stream_sizes(HfReader& r) {
  r.spec.layers = r.size("num_hidden_layers");
  r.spec.hidden = r.size("hidden_size");
  r.spec.heads = r.size("num_attention_heads");
}

void gated_mlp(HfReader& r, const char* activation) {
  r.spec.ffn_hidden = r.size("intermediate_size");
  r.activation(activation, "silu", true);
}

std::int64_t expert_sizes(HfReader& r, const char* count, const char* top_k, const char* width) {
  Experts& e = r.spec.experts;
  e.count = r.size(count);
  e.top_k = r.size(top_k);
  return e.ffn_hidden = r.size(width);
}

void shared_sizes(HfReader& r, std::int64_t kv_heads, std::int64_t head_dim, bool tied) {
  NetworkSpec& n = r.spec;
  stream_sizes(r);
  n.kv_heads = r.size_or("num_key_value_heads", kv_heads == 0 ? n.heads : kv_heads, 1);
  const std::int64_t even_share = n.heads > 0 ? n.hidden / n.heads : 0;
  n.head_dim = head_dim == 0 && !r.config.has("head_dim") ? even_share : r.size_or("head_dim", head_dim);
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(tied);
  r.length("max_position_embeddings");
  r.dropout({"attention_dropout"}, 0);
}

void attention_biases(HfReader& r, bool absent) {
  r.spec.qkv_bias = r.spec.out_bias = r.flag_or("attention_bias", absent);
}

void dense_biases(HfReader& r, bool attention, bool mlp) {
  NetworkSpec& n = r.spec;
  n.linear_bias = attention && mlp;
  n.qkv_bias = n.out_bias = attention && !mlp;
  n.mlp_bias = mlp && !attention;
}

void window_everywhere(HfReader& r, std::int64_t absent) {
  if (r.config.has("sliding_window") || r.config.names("sliding_window")) absent = 0;
  else if (absent > 0) r.note(fmt::format("sliding_window {} (not in the file)", absent));
  r.window(std::max(r.length_or_none("sliding_window"), absent), "w");
}

/// configuration_qwen2.py: with use_sliding_window the layers from max_window_layers on have the window.
void window_behind(HfReader& r) {
  bool used = false;
  r.config.optional("use_sliding_window", used);
  const std::int64_t positions = r.length_or_none("sliding_window");
  const std::int64_t before = r.config.has("max_window_layers") ? r.size_or("max_window_layers", 0) : 28;
  const std::int64_t full = std::min(before, r.spec.layers), behind = r.spec.layers - full;
  if (full == 0 || !used) return r.window(used ? positions : 0, "w");
  std::string pattern(static_cast<std::size_t>(full), 'f');
  r.window(positions, pattern.append(static_cast<std::size_t>(behind), 'w'));
}

void llama_family(HfReader& r) { llama_like(r, false); }

void llama_like(HfReader& r, bool tied) {
  shared_sizes(r, 0, 0, tied);
  gated_mlp(r);
  bool attention = false, mlp = false;
  r.config.optional("attention_bias", attention);
  r.config.optional("mlp_bias", mlp);
  dense_biases(r, attention, mlp);
}

/// Its fused projections (qkv, gate and up) hold the same weights.
void phi3(HfReader& r) {
  llama_family(r);
  window_everywhere(r);
  r.dropout({"resid_pdrop", "embd_pdrop"}, 0);
}

void mistral(HfReader& r) {
  if (r.config.has("kv_lora_rank")) return deepseek_family(r);  // Mistral Small 4
  shared_sizes(r, 8, 0, false);
  gated_mlp(r);
  window_everywhere(r, 4096);
}

void mixtral(HfReader& r) {
  shared_sizes(r, 8, 0, false);
  r.activation("hidden_act", "silu", true);
  Experts& e = r.spec.experts;
  e.count = r.size_or("num_local_experts", 8);
  e.top_k = r.size_or("num_experts_per_tok", 2);
  e.ffn_hidden = r.spec.ffn_hidden = r.size("intermediate_size");
  window_everywhere(r);
}

namespace {

/// Positions that turn chunk by chunk (Qwen2.5-1M): every query sees all keys, unless most of them are left out.
void chunked_turns(HfReader& r) {
  auto chunks = r.config.optional_object("dual_chunk_attention_config");
  if (!chunks) return;
  chunks->allow_unknown_keys();
  bool sparse = false;
  chunks->optional("sparse_attention_enabled", sparse);
  chunks->require(!sparse && !chunks->has("sparse_attention_config"), "sparse_attention_enabled",
      "attention over a part of the keys is none of its forms", "false");
  r.note("positions turn chunk by chunk, which is priced as nothing");
}

}  // namespace

void qwen2(HfReader& r) {
  chunked_turns(r);
  shared_sizes(r, 0, 0, false);
  gated_mlp(r);
  r.spec.qkv_bias = true;
  window_behind(r);
}

void qwen3(HfReader& r) {
  chunked_turns(r);
  shared_sizes(r, 0, 128, false);
  gated_mlp(r);
  attention_biases(r, false);
  r.spec.qk_norm = true;
  window_behind(r);
}

namespace {

/// MLPs in layers between those with experts.
void lay_between(HfReader& r, const std::vector<std::int64_t>& plain) {
  NetworkSpec& n = r.spec;
  r.config.require(n.window.positions == 0, "mlp_only_layers",
      "windows beside layers without experts between others are none of our forms", "leading layers only: 0, 1, ...");
  constexpr std::int64_t most_layers = 10'000;  // more are refused by the rules of all networks
  const std::int64_t every = std::max<std::int64_t>(1, n.experts.every);
  for (std::int64_t layer = 0; layer < std::min(n.layers, most_layers); ++layer) {
    const bool dense = std::ranges::find(plain, layer) != plain.end() || (layer + 1) % every != 0;
    n.pattern.push_back({dense ? Feed::mlp : Feed::experts, false, false, true});
  }
  if (!n.pattern.empty()) n.pattern = shortest(std::move(n.pattern));
  n.experts.every = 1;
}

/// Layer i is sparse when (i + 1) % decoder_sparse_step == 0 and i is not among mlp_only_layers.
void qwen_experts(HfReader& r) {
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  n.experts.count = r.either("num_experts", "num_local_experts");
  n.experts.top_k = r.size("num_experts_per_tok");
  n.experts.ffn_hidden = r.size("moe_intermediate_size");
  n.experts.every = r.size_or("decoder_sparse_step", 1);
  std::vector<std::int64_t> plain;
  r.config.optional("mlp_only_layers", plain, IntegerRange{0, 1 << 20});
  window_behind(r);
  bool leading = n.experts.every == 1;
  for (std::size_t i = 0; i < plain.size(); ++i) leading = leading && plain[i] == static_cast<std::int64_t>(i);
  if (leading || plain.empty()) n.experts.dense_layers = static_cast<std::int64_t>(plain.size());
  else lay_between(r, plain);
}

}  // namespace

void qwen2_moe(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  qwen_experts(r);
  r.spec.experts.shared_ffn_hidden = r.size("shared_expert_intermediate_size");
  r.spec.experts.shared_gate = true;
  r.spec.qkv_bias = true;
}

void qwen3_moe(HfReader& r) {
  chunked_turns(r);
  shared_sizes(r, 0, 128, false);
  qwen_experts(r);
  attention_biases(r, false);
  r.spec.qk_norm = true;
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
  // every second layer, from the first on
  r.window(
      r.config.names("sliding_window") ? r.length_or_none("sliding_window") : r.size_or("sliding_window", 128), "wf");
  r.spec.attention_sinks = true;
}

/// Layer i has experts when (i + 1) % interleave_moe_layer_step == 0; the shared expert is as wide as a routed one.
void llama4_experts(HfReader& r, const std::vector<std::int64_t>& routed) {
  NetworkSpec& n = r.spec;
  n.experts.shared_ffn_hidden = expert_sizes(r, "num_local_experts", "num_experts_per_tok", "intermediate_size");
  n.experts.every = r.size_or("interleave_moe_layer_step", 1);
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(1, n.experts.every));
  for (std::size_t i = 0; i < routed.size(); ++i)
    r.config.require(routed[i] == static_cast<std::int64_t>((i + 1) * step - 1), "moe_layers",
        "layers with experts lie otherwise than interleave_moe_layer_step says", "one of the two keys");
  r.config.require(routed.empty() || routed.size() * step == static_cast<std::size_t>(n.layers), "moe_layers",
      fmt::format("{} layers with experts of {}", routed.size(), n.layers), "as interleave_moe_layer_step says");
}

void llama4(HfReader& r) {
  shared_sizes(r, 8, 128, false);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "silu", true);
  n.ffn_hidden = r.size("intermediate_size_mlp");
  const bool listed = r.config.type_of("moe_layers") == "list";
  std::vector<std::int64_t> routed;
  r.config.optional("moe_layers", routed, IntegerRange{0, 1 << 20});
  if (listed && routed.empty()) {  // an empty list is one: modeling_llama4.py asks whether a layer is in it
    for (const char* key :
        {"num_local_experts", "num_experts_per_tok", "intermediate_size", "interleave_moe_layer_step"}) {
      std::int64_t of_none = 0;
      r.config.optional(key, of_none, IntegerRange{0, 1 << 30});
    }
    r.note("moe_layers lists none: every layer has a MLP of intermediate_size_mlp");
  } else {
    llama4_experts(r, routed);
  }
  // Layers without rotary positions look at all keys: every fourth, or those that no_rope_layers marks with 0.
  std::vector<std::int64_t> rotated;
  r.config.optional("no_rope_layers", rotated, IntegerRange{0, 1});
  const std::int64_t interval = r.config.has("no_rope_layer_interval") ? r.size("no_rope_layer_interval") : 4;
  std::string pattern;
  for (const std::int64_t turns : rotated) pattern += turns == 1 ? 'w' : 'f';
  if (rotated.empty())
    pattern = interval > n.layers ? "w" : std::string(static_cast<std::size_t>(interval) - 1, 'w') + 'f';
  r.window(r.config.names("attention_chunk_size") ? r.length_or_none("attention_chunk_size")
                                                  : r.size_or("attention_chunk_size", 8192),
      pattern, true);
  r.note("the norm of queries and keys has no weights");
}

void gemma(HfReader& r) {
  shared_sizes(r, 16, 256, true);
  r.spec.ffn_hidden = r.size("intermediate_size");
  // hidden_act was wrong in early files; the class goes by hidden_activation and takes tanh-GELU where it is absent.
  r.activation("hidden_activation", "gelu_pytorch_tanh", true);
  attention_biases(r, false);
}

/// Phi-4 mini, with adapters for images and for sound beside its layers, which are counted as parts.
void phi4_mm(HfReader& r) {
  phi3(r);
  r.spec.tied_embeddings = r.tied_or(true);
}

}  // namespace stepcast::detail
