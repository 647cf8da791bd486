// Architectures whose layers in a window have heads of their own: vllm/model_executor/models/{mimo_v2_flash,step3p5}.py
// of vLLM, modeling_laguna.py of poolside's files.
#include <algorithm>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

using Marks = std::vector<std::int64_t>;

void sparse_sizes(HfReader& r, const char* kv_heads) {
  NetworkSpec& n = r.spec;
  stream_sizes(r);
  n.kv_heads = r.size(kv_heads);
  n.head_dim = r.size("head_dim");
  n.vocab = r.size("vocab_size");
  n.ffn_hidden = r.size("intermediate_size");
  n.tied_embeddings = r.tied_or(false);
  r.length("max_position_embeddings");
  r.activation("hidden_act", "silu", true);
  r.dropout({"attention_dropout"}, 0);
}

/// A list of 0 and 1, one for each layer.
Marks layer_marks(HfReader& r, const char* key) {
  Marks marks;
  r.config.read(key, marks, IntegerRange{0, 1});
  r.config.require(static_cast<std::int64_t>(marks.size()) == r.spec.layers, key,
      fmt::format("{} marks for {} layers", marks.size(), r.spec.layers), "one for each layer");
  return marks;
}

/// 1 for each layer that the names under `key` call so; `absent` for all where the file has none.
Marks named_marks(HfReader& r, const char* key, const char* marked, const char* other, std::int64_t absent) {
  std::vector<std::string> names;
  r.config.optional(key, names);
  constexpr std::int64_t most_layers = 10'000;  // more are refused by the rules of all networks
  const auto layers = static_cast<std::size_t>(std::clamp<std::int64_t>(r.spec.layers, 0, most_layers));
  // lists may go on over prediction modules
  r.config.require(names.empty() || names.size() >= layers, key,
      fmt::format("{} kinds for {} layers", names.size(), layers), "one for each layer");
  Marks marks(layers, absent);
  for (std::size_t i = 0; i < std::min(layers, names.size()); ++i) {
    r.config.require(names[i] == marked || names[i] == other, key,
        fmt::format("layers of the kind '{:.40}' are none of our forms", names[i]),
        fmt::format("{}, {}", other, marked));
    marks[i] = names[i] == marked ? 1 : 0;
  }
  return marks;
}

/// A layer has a window and experts where it is marked; `shaped`: has the one shape.
void lay(HfReader& r, const Marks& windowed, const Marks& routed, const Marks& shaped) {
  NetworkSpec& n = r.spec;
  if (r.config.failed()) return;
  for (std::size_t i = 0; i < windowed.size(); ++i) {
    LayerKind kind{routed[i] == 1 ? Feed::experts : Feed::mlp, windowed[i] == 1, false, true};
    kind.shape = static_cast<std::uint8_t>(n.shapes.empty() ? 0 : shaped[i]);
    n.pattern.push_back(kind);
  }
  if (!contains(windowed, 1)) n.window = {};
  if (!contains(routed, 1)) n.experts = {};
  n.experts.dense_layers = 0;
  n.pattern = shortest(std::move(n.pattern));
}

Marks flipped(Marks marks) {
  for (std::int64_t& mark : marks) mark = 1 - mark;
  return marks;
}

/// `full` is what layers without a window have in place of the network's.
void full_shape(NetworkSpec& n, LayerShape full, const Marks& windowed) {
  const auto same = [](std::int64_t& own, std::int64_t usual) { own = own == usual ? 0 : own; };
  same(full.heads, n.heads), same(full.kv_heads, n.kv_heads), same(full.head_dim, n.head_dim);
  same(full.value_dim, n.value_dim > 0 ? n.value_dim : n.head_dim);
  const bool differs = full.heads + full.kv_heads + full.head_dim + full.value_dim > 0 || full.no_sinks;
  if (differs && contains(windowed, 0)) n.shapes.push_back(std::move(full));
}

}  // namespace

/// MiMo-V2-Flash: keys wider than values, other sizes and a number per head in layers with a window.
void mimo_v2_flash(HfReader& r) {
  sparse_sizes(r, "num_key_value_heads");
  NetworkSpec& n = r.spec;
  LayerShape full{.name = "full", .heads = n.heads, .kv_heads = n.kv_heads, .head_dim = n.head_dim};
  full.value_dim = r.size_or("v_head_dim", n.head_dim);
  n.heads = r.size("swa_num_attention_heads");
  n.kv_heads = r.size("swa_num_key_value_heads");
  n.head_dim = r.size("swa_head_dim");
  n.value_dim = r.size_or("swa_v_head_dim", n.head_dim);
  if (n.value_dim == n.head_dim) n.value_dim = 0;
  bool biased = false, window_sinks = false, full_sinks = false;
  r.config.optional("attention_bias", biased);
  r.config.optional("add_swa_attention_sink_bias", window_sinks);
  r.config.optional("add_full_attention_sink_bias", full_sinks);
  n.qkv_bias = biased;
  n.attention_sinks = window_sinks || full_sinks;
  full.no_sinks = n.attention_sinks && !full_sinks;
  r.config.require(window_sinks || !full_sinks, "add_full_attention_sink_bias",
      "sinks in layers of full attention alone are none of our forms", "add_swa_attention_sink_bias too, or neither");
  const Marks windowed = layer_marks(r, "hybrid_layer_pattern"), routed = layer_marks(r, "moe_layer_freq");
  n.window.positions = r.either("sliding_window", "sliding_window_size");
  deepseek_counts(r);
  n.experts.router_bias = true;
  expert_groups(r);
  full_shape(n, std::move(full), windowed);
  lay(r, windowed, routed, flipped(windowed));
  r.note("its class has no prediction modules: they are left out");
}

/// Step 3.5 and 3.7: more heads in layers with a window, normed heads, a gate per head.
void step3p5(HfReader& r) {
  const auto named = [&](const char* own, const char* other) { return r.config.has(own) ? own : other; };
  sparse_sizes(r, named("num_attention_groups", "num_key_value_heads"));
  NetworkSpec& n = r.spec;
  n.qk_norm = true;
  n.attention_gate = n.head_gate = r.flag_or("use_head_wise_attn_gate", false);
  n.qkv_bias = r.flag_or("attention_bias", false);
  const Marks windowed = named_marks(r, "layer_types", "sliding_attention", "full_attention", 0);
  if (contains(windowed, 1)) n.window.positions = r.size("sliding_window");
  if (auto setting = r.config.optional_object("attention_other_setting")) {
    setting->allow_unknown_keys();
    LayerShape full{.name = "full", .heads = n.heads, .kv_heads = n.kv_heads, .head_dim = n.head_dim};
    std::string type;
    constexpr IntegerRange some{1, 100'000};
    setting->read("attention_type", type);
    setting->require(type == "sliding_attention", "attention_type",
        fmt::format("other heads in layers of the kind '{:.40}'", type), "sliding_attention");
    setting->read("num_attention_heads", n.heads, some);
    setting->read("num_attention_groups", n.kv_heads, some);
    setting->read("head_dim", n.head_dim, some);
    full_shape(n, std::move(full), windowed);
  }
  Experts& e = n.experts;
  e.count = r.size(named("moe_num_experts", "num_experts"));
  e.top_k = r.size(named("moe_top_k", "num_experts_per_tok"));
  e.ffn_hidden = r.size("moe_intermediate_size");
  e.shared_ffn_hidden = r.size(named("share_expert_dims", "share_expert_dim"));
  if (r.config.has("n_shared_experts")) e.shared_ffn_hidden *= r.size("n_shared_experts");
  e.router_bias = r.flag_or("use_moe_router_bias", false);
  const std::int64_t first = r.config.has("first_k_dense_replace") ? r.size_or("first_k_dense_replace", 0) : 1;
  const Marks listed = r.config.has("moe_layers_enum") ? listed_layers(r, "moe_layers_enum") : Marks{};
  Marks routed;
  for (std::int64_t layer = 0; layer < static_cast<std::int64_t>(windowed.size()); ++layer)
    routed.push_back((r.config.has("moe_layers_enum") ? contains(listed, layer) : layer >= first) ? 1 : 0);
  lay(r, windowed, routed, flipped(windowed));
  r.note("prediction modules are left out");
}

/// Laguna: more heads in layers with a window, normed heads, a gate per head or per element.
void laguna(HfReader& r) {
  sparse_sizes(r, "num_key_value_heads");
  NetworkSpec& n = r.spec;
  n.qk_norm = true;
  n.qkv_bias = r.flag_or("qkv_bias", false);
  n.out_bias = r.flag_or("attention_bias", false);
  const bool listed = r.config.type_of("gating") == "string";
  const std::string gating = listed ? r.text_or("gating", "") : r.flag_or("gating", true) ? "per-head" : "";
  r.config.require(gating.empty() || gating == "per-head" || gating == "per-element", "gating",
      fmt::format("gates '{:.40}' are none of its own", gating), "per-head, per-element");
  n.attention_gate = !gating.empty();
  n.head_gate = gating == "per-head";
  const Marks windowed = named_marks(r, "layer_types", "sliding_attention", "full_attention", 0);
  if (contains(windowed, 1)) n.window.positions = r.size("sliding_window");
  n.attention_sinks = r.config.has("swa_attention_sink_enabled") && r.flag_or("swa_attention_sink_enabled", false);
  Marks heads;
  r.config.optional("num_attention_heads_per_layer", heads, IntegerRange{1, 100'000});
  r.config.require(heads.empty() || heads.size() == windowed.size(), "num_attention_heads_per_layer",
      fmt::format("{} numbers for {} layers", heads.size(), windowed.size()), "one for each layer");
  LayerShape full{.name = "full", .heads = n.heads, .kv_heads = n.kv_heads, .head_dim = n.head_dim};
  full.no_sinks = n.attention_sinks;
  for (std::size_t i = 0; i < std::min(heads.size(), windowed.size()); ++i)
    (windowed[i] == 1 ? n.heads : full.heads) = heads[i];
  for (std::size_t i = 0; i < std::min(heads.size(), windowed.size()); ++i)
    r.config.require(heads[i] == (windowed[i] == 1 ? n.heads : full.heads), "num_attention_heads_per_layer",
        "layers of one kind differ in their heads", "a number for layers with a window, and one for the others");
  full_shape(n, std::move(full), windowed);
  Experts& e = n.experts;
  expert_sizes(r, "num_experts", "num_experts_per_tok", "moe_intermediate_size");
  e.shared_ffn_hidden = r.size("shared_expert_intermediate_size");
  e.router_bias = true;
  Marks plain{0};
  r.config.optional("mlp_only_layers", plain, IntegerRange{0, 1 << 20});
  const std::int64_t step =
      std::max<std::int64_t>(1, r.config.has("decoder_sparse_step") ? r.size("decoder_sparse_step") : 1);
  Marks routed = named_marks(r, "mlp_layer_types", "sparse", "dense", 1);
  if (!r.config.has("mlp_layer_types"))
    for (std::int64_t layer = 0; layer < static_cast<std::int64_t>(routed.size()); ++layer)
      routed[static_cast<std::size_t>(layer)] = !contains(plain, layer) && (layer + 1) % step == 0 ? 1 : 0;
  lay(r, windowed, routed, flipped(windowed));
}

}  // namespace stepcast::detail
