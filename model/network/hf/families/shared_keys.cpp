// Gemma 3n and 4: layers that take over keys and values of earlier ones, and layers with inputs of their own.
#include <algorithm>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

constexpr IntegerRange mlp_sizes{1, 100'000'000};
constexpr std::int64_t most_pattern = 10'000;

/// Whose kinds all layers may have left.
void drop_unused_shapes(NetworkSpec& n) {
  for (std::size_t i = n.shapes.size(); i-- > 0;) {
    const auto number = static_cast<std::uint8_t>(i + 1);
    if (std::ranges::any_of(n.pattern, [&](const LayerKind& kind) { return kind.shape == number; })) continue;
    n.shapes.erase(n.shapes.begin() + static_cast<std::ptrdiff_t>(i));
    for (LayerKind& kind : n.pattern)
      kind.shape = static_cast<std::uint8_t>(kind.shape - (kind.shape > number ? 1 : 0));
  }
}

/// Which layers see a window alone, by names of all of them.
std::vector<char> windows_of(HfReader& r, const std::vector<std::string>& names) {
  r.config.require(static_cast<std::int64_t>(names.size()) == r.spec.layers, "layer_types",
      fmt::format("{} kinds for {} layers", names.size(), r.spec.layers), "one for each layer");
  std::vector<char> windows;
  for (const std::string& name : names) {
    const bool windowed = name == "sliding_attention";
    r.config.require(windowed || name == "full_attention", "layer_types",
        fmt::format("layers of the kind '{:.40}' are none of our forms", name), "full_attention, sliding_attention");
    windows.push_back(windowed ? 1 : 0);
  }
  return windows;
}

void require_lenders(HfReader& r, std::int64_t sharing) {
  r.config.require(sharing < std::max<std::int64_t>(1, r.spec.layers), "num_kv_shared_layers",
      fmt::format("{} of {} layers share keys with earlier ones", sharing, r.spec.layers),
      "fewer than there are layers");
}

/// The last layers take over keys and values of the last layer before them that sees as far; their MLPs may be wider.
void share_keys(HfReader& r, std::int64_t sharing, std::int64_t ffn_hidden) {
  NetworkSpec& n = r.spec;
  const auto first = n.pattern.end() - static_cast<std::ptrdiff_t>(sharing);
  for (const bool windowed : {false, true}) {
    const auto alike = [&](const LayerKind& kind) { return kind.windowed == windowed; };
    if (std::none_of(first, n.pattern.end(), alike)) continue;
    const auto lender = std::find_if(std::reverse_iterator(first), n.pattern.rend(), alike);
    r.config.require(lender != n.pattern.rend(), "num_kv_shared_layers",
        fmt::format("no layer before the last {} has keys for those that see as far", sharing), "fewer");
    if (r.config.failed()) return;
    LayerShape lent = lender->shape > 0 ? n.shapes[lender->shape - 1U] : LayerShape{};
    lent.name = windowed ? "window-lent" : "full-lent";
    LayerShape borrowed = lent;
    borrowed.name = windowed ? "window-borrowed" : "full-borrowed";
    borrowed.keys_of = lent.name;
    borrowed.ffn_hidden = ffn_hidden == n.ffn_hidden ? 0 : ffn_hidden;
    n.shapes.push_back(std::move(lent));
    lender->shape = static_cast<std::uint8_t>(n.shapes.size());
    n.shapes.push_back(std::move(borrowed));
    for (auto layer = first; layer != n.pattern.end(); ++layer)
      if (alike(*layer)) layer->shape = static_cast<std::uint8_t>(n.shapes.size());
  }
}

/// Inputs of each layer, and keys of earlier ones (Gemma 4 E2B and E4B).
void small_gemma4(HfReader& r) {
  NetworkSpec& n = r.spec;
  const auto or_none = [&](const char* key) { return r.config.has(key) ? r.size_or(key, 0) : 0; };
  constexpr std::int64_t usual_inputs = 256;
  const char* inputs = "hidden_size_per_layer_input";
  n.layer_inputs.width = r.config.names(inputs) ? or_none(inputs) : r.size_or(inputs, usual_inputs);
  if (n.layer_inputs.width > 0) n.layer_inputs.words = r.size_or("vocab_size_per_layer_input", 262'144);
  const std::int64_t sharing = or_none("num_kv_shared_layers");
  bool doubled = false;
  r.config.optional("use_double_wide_mlp", doubled);
  require_lenders(r, sharing);
  r.config.require(sharing == 0 || n.experts.count == 0, "enable_moe_block",
      "experts beside layers that share keys are not known", "false");
  if (r.config.failed() || sharing == 0 || static_cast<std::int64_t>(n.pattern.size()) != n.layers) return;
  share_keys(r, sharing, (doubled ? 2 : 1) * n.ffn_hidden);
  drop_unused_shapes(n);
}

}  // namespace

/// Layers of full attention have larger heads, fewer of them for keys, and may take their keys as values; experts
/// stand beside the MLP that every layer has.
void gemma4(HfReader& r) {
  NetworkSpec& n = r.spec;
  shared_sizes(r, 0, 256, true);
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_activation", "gelu_pytorch_tanh", true);
  attention_biases(r, false);
  n.norm_place = NormPlace::both;
  n.qk_norm = n.value_norm = n.layer_scale = true;
  n.logit_softcap = r.cap("final_logit_softcapping", false);
  bool routed = false, same = false;
  r.config.optional("enable_moe_block", routed);
  r.config.optional("attention_k_eq_v", same);
  if (routed) {
    Experts& e = n.experts;
    e.count = r.size("num_experts");
    e.top_k = r.size("top_k_experts");
    e.ffn_hidden = r.size("moe_intermediate_size");
    e.shared_ffn_hidden = n.ffn_hidden;
    e.router_bias = e.own_norms = true;  // the bias stands for a scale of each expert
  }
  std::vector<std::string> names;
  r.config.read("layer_types", names);
  n.window.positions = r.size("sliding_window");
  LayerShape full{.name = "full", .head_dim = r.size("global_head_dim"), .key_is_value = same};
  if (same && r.config.has("num_global_key_value_heads")) full.kv_heads = r.size("num_global_key_value_heads");
  if (full.head_dim == n.head_dim) full.head_dim = 0;
  const bool differs = full.head_dim > 0 || full.kv_heads > 0 || full.key_is_value;
  for (const char windowed : windows_of(r, names)) {
    LayerKind kind{routed ? Feed::experts : Feed::mlp, windowed != 0, false, true};
    kind.shape = windowed == 0 && differs ? 1 : 0;
    n.pattern.push_back(kind);
  }
  if (differs && contains(names, "full_attention")) n.shapes.push_back(std::move(full));
  if (!contains(names, "sliding_attention")) n.window = {};
  small_gemma4(r);
  n.pattern = shortest(std::move(n.pattern));
}

namespace {

/// By layer_types, or full attention in every fifth layer.
void gemma3n_windows(HfReader& r) {
  NetworkSpec& n = r.spec;
  constexpr std::size_t period = 5;
  std::vector<std::string> names;
  r.config.optional("layer_types", names);
  if (names.empty()) {
    r.note("full attention in every 5th layer (layer_types not in the file)");
    for (std::int64_t i = 0; i < std::clamp<std::int64_t>(n.layers, 0, most_pattern); ++i)
      names.emplace_back((static_cast<std::size_t>(i) + 1) % period == 0 ? "full_attention" : "sliding_attention");
  }
  for (const char windowed : windows_of(r, names)) n.pattern.push_back({Feed::mlp, windowed != 0, false, true});
  n.window.positions = r.size_or("sliding_window", 512);
  if (!contains(names, "sliding_attention")) n.window = {};
}

/// Where gates of the MLP are cut off: by a share for each layer, or for all; else in the first ten of more.
std::vector<char> cut_layers(HfReader& r) {
  constexpr const char* key = "activation_sparsity_pattern";
  constexpr NumberRange shares{0, 1};
  const auto layers = static_cast<std::size_t>(std::clamp<std::int64_t>(r.spec.layers, 0, most_pattern));
  std::vector<double> pattern;
  if (r.config.type_of(key) == "list") {
    r.config.read(key, pattern, shares);
  } else if (r.config.has(key)) {
    pattern.assign(layers, 0);
    r.config.read(key, pattern.front(), shares);
    std::fill(pattern.begin(), pattern.end(), pattern.front());
  } else {
    constexpr std::size_t usual_cut = 10;
    constexpr double usual_share = 0.95;
    r.note("gates are cut off in the first 10 of more layers (activation_sparsity_pattern not in the file)");
    pattern.assign(layers, 0);
    if (layers > usual_cut) std::fill_n(pattern.begin(), usual_cut, usual_share);
  }
  r.config.require(pattern.size() == layers, key, fmt::format("{} shares for {} layers", pattern.size(), layers),
      "one for each layer, or one number");
  std::vector<char> cut;
  for (const double share : pattern) cut.push_back(share > 0 ? 1 : 0);
  cut.resize(layers);
  return cut;
}

std::vector<std::int64_t> mlp_widths(HfReader& r) {
  const auto layers = static_cast<std::size_t>(std::clamp<std::int64_t>(r.spec.layers, 1, most_pattern));
  std::vector<std::int64_t> widths;
  if (r.config.type_of("intermediate_size") == "list") r.config.read("intermediate_size", widths, mlp_sizes);
  else widths.assign(layers, r.size_or("intermediate_size", 16'384));
  r.config.require(widths.size() == layers, "intermediate_size",
      fmt::format("{} widths for {} layers", widths.size(), layers), "one for each layer, or one number");
  widths.resize(layers, 1);
  return widths;
}

/// A layer whose MLP differs has a shape for it: one that lends its keys is alone in its shape, others share theirs.
void vary_mlp(NetworkSpec& n, std::size_t layer, std::int64_t width, bool cut) {
  LayerKind& kind = n.pattern[layer];
  LayerShape shape = kind.shape > 0 ? n.shapes[kind.shape - 1U] : LayerShape{};
  const std::int64_t own = width == n.ffn_hidden ? 0 : width;
  if (shape.ffn_hidden == own && shape.gate_cutoff == cut) return;
  shape.ffn_hidden = own, shape.gate_cutoff = cut;
  const bool lends = std::ranges::any_of(
      n.shapes, [&](const LayerShape& other) { return !other.keys_of.empty() && other.keys_of == shape.name; });
  if (lends) return void(n.shapes[kind.shape - 1U] = std::move(shape));
  shape.name += fmt::format(
      "{}{}{}", shape.name.empty() ? "" : "-", cut ? "cut" : "whole", own > 0 ? fmt::format("-mlp{}", own) : "");
  const auto same = std::ranges::find(n.shapes, shape.name, &LayerShape::name);
  kind.shape = static_cast<std::uint8_t>(same - n.shapes.begin() + 1);
  if (same == n.shapes.end()) n.shapes.push_back(std::move(shape));
}

}  // namespace

/// Streams that are predicted from each other, a low-rank way beside attention, inputs of each layer, keys of earlier
/// layers, MLPs whose gates are cut off (gemma3n/modeling_gemma3n.py).
void gemma3n(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size_or("num_hidden_layers", 35);
  n.hidden = r.size_or("hidden_size", 2048);
  n.heads = r.size_or("num_attention_heads", 8);
  n.kv_heads = r.size_or("num_key_value_heads", 2, 1);
  n.head_dim = r.size_or("head_dim", 256);
  n.vocab = r.size_or("vocab_size", 262'400);
  n.tied_embeddings = r.tied_or(true);
  r.length_or("max_position_embeddings", 32'768);
  r.activation("hidden_activation", "gelu_pytorch_tanh", true);
  attention_biases(r, false);
  r.dropout({"attention_dropout"}, 0);
  n.norm_place = NormPlace::both;
  n.qk_norm = n.value_norm = true;
  n.logit_softcap = r.cap("final_logit_softcapping", true);
  n.layer_inputs = {r.size_or("hidden_size_per_layer_input", 256, 1), r.size_or("vocab_size_per_layer_input", 262'144)};
  n.predicted_streams = r.size_or("altup_num_inputs", 4, 2);
  n.side_rank = r.size_or("laurel_rank", 64, 1);
  const std::int64_t sharing = r.size_or("num_kv_shared_layers", 15);
  require_lenders(r, sharing);
  const std::vector<std::int64_t> widths = mlp_widths(r);
  const std::vector<char> cut = cut_layers(r);
  gemma3n_windows(r);
  if (r.config.failed() || widths.empty() || n.pattern.size() != widths.size() || cut.size() != widths.size()) return;
  n.ffn_hidden = widths.front();
  if (sharing > 0) share_keys(r, sharing, n.ffn_hidden);
  if (r.config.failed()) return;
  for (LayerShape& shape : n.shapes) shape.gate_cutoff = false;
  for (std::size_t layer = 0; layer < widths.size(); ++layer) vary_mlp(n, layer, widths[layer], cut[layer] != 0);
  drop_unused_shapes(n);  // those whose layers all got another MLP
  n.pattern = shortest(std::move(n.pattern));
  // Layers that take keys over have projections and a norm of keys in the file, which they never use.
  if (sharing > 0) r.beside.push_back({"unread", sharing * (2 * n.hidden * n.kv_heads * n.head_dim + n.head_dim)});
}

}  // namespace stepcast::detail
