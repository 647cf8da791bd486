// Architectures whose layers have a mixer in place of attention, or beside it: src/transformers/models/<family> of
// transformers.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

/// What a file calls a layer, and what the layer has.
struct LayerName {
  std::string_view name;
  LayerKind kind;
};

constexpr LayerKind mixer_alone{Feed::none, false, true, false}, attention_alone{Feed::none, false, false, true},
    mlp_alone{Feed::mlp, false, false, false}, experts_alone{Feed::experts, false, false, false};

std::string names_in(std::span<const LayerName> table) {
  std::string text;
  for (const LayerName& row : table) text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

std::vector<LayerKind> kinds_of(
    HfReader& r, const char* key, const std::vector<std::string>& names, std::span<const LayerName> table) {
  std::vector<LayerKind> kinds;
  for (const std::string& name : names) {
    const auto row = std::ranges::find(table, name, &LayerName::name);
    r.config.require(row != table.end(), key, fmt::format("layers of the kind '{:.40}' are none of our forms", name),
        names_in(table));
    if (row != table.end()) kinds.push_back(row->kind);
  }
  return kinds;
}

/// A list of names under `key`, one for each layer; empty where the file has none.
std::vector<LayerKind> listed(HfReader& r, const char* key, std::span<const LayerName> table) {
  std::vector<std::string> names;
  r.config.optional(key, names);
  return kinds_of(r, key, names, table);
}

/// A letter for each layer.
std::vector<LayerKind> lettered(HfReader& r, const char* key, std::span<const LayerName> table) {
  std::string letters;
  r.config.optional(key, letters);
  std::vector<std::string> names;
  for (const char letter : letters) names.emplace_back(1, letter);
  return kinds_of(r, key, names, table);
}

/// As many kinds as layers; the experts are where the kinds say.
void take_pattern(HfReader& r, const char* key, std::vector<LayerKind> kinds) {
  NetworkSpec& n = r.spec;
  r.config.require(static_cast<std::int64_t>(kinds.size()) == n.layers, key,
      fmt::format("{} kinds for {} layers", kinds.size(), n.layers), "one for each layer");
  n.experts.dense_layers = 0, n.experts.every = 1;
  n.pattern = shortest(std::move(kinds));
}

/// By the first `dense` layers an MLP, then experts.
void feed_all(std::vector<LayerKind>& kinds, std::int64_t dense, bool experts) {
  for (std::size_t i = 0; i < kinds.size(); ++i)
    kinds[i].feed = experts && static_cast<std::int64_t>(i) >= dense ? Feed::experts : Feed::mlp;
}

void require_flag(HfReader& r, const char* key, bool wanted, const char* what) {
  bool value = wanted;
  r.config.optional(key, value);
  r.config.require(value == wanted, key, what, wanted ? "true" : "false");
}

struct Mamba2Keys {
  const char *heads, *head_dim, *state, *groups, *taps, *chunk;
};

std::int64_t absent_or(HfReader& r, const char* key, std::int64_t absent) { return r.size_or(key, absent); }

void mamba2_mixer(HfReader& r, const Mamba2Keys& keys, const char* form = "mamba2") {
  const std::int64_t heads = r.size(keys.heads);
  const std::int64_t expand = r.config.has("mamba_expand") ? r.size("mamba_expand")
                              : r.config.has("expand")     ? r.size("expand")
                                                           : 2;
  // "auto": as many channels as `expand` times the width, shared out among the heads
  const bool by_itself = r.config.type_of(keys.head_dim) != "number";
  if (by_itself) r.text_or(keys.head_dim, "auto");
  const std::int64_t head_dim = by_itself ? (heads > 0 ? expand * r.spec.hidden / heads : 0) : r.size(keys.head_dim);
  const std::int64_t groups = absent_or(r, keys.groups, 1);
  r.config.require(groups > 0 && heads % groups == 0, keys.groups, fmt::format("{} groups of {} heads", groups, heads),
      "a number that divides the heads");
  r.spec.mixer = make_mixer(
      form, {{"heads", heads}, {"head_dim", head_dim}, {"groups", groups}, {"state", absent_or(r, keys.state, 128)},
                {"taps", absent_or(r, keys.taps, 4)}, {"chunk", absent_or(r, keys.chunk, 256)}});
}

constexpr Mamba2Keys bamba_keys{
    "mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv", "mamba_chunk_size"};

void mamba_biases(HfReader& r) {
  require_flag(r, "mamba_conv_bias", true, "convolutions without a bias are none of our forms");
  require_flag(r, "mamba_proj_bias", false, "biases on a mixer's projections are none of our forms");
}

}  // namespace

std::vector<LayerKind> shortest(std::vector<LayerKind> kinds) {
  for (std::size_t length = 1; 2 * length <= kinds.size(); ++length) {
    bool repeats = true;
    for (std::size_t i = length; i < kinds.size() && repeats; ++i) repeats = kinds[i] == kinds[i - length];
    if (!repeats) continue;
    kinds.resize(length);
    break;
  }
  return kinds;
}

/// Layers of one sublayer each, without positions.
void nemotron_h(HfReader& r) {
  static constexpr LayerName letters[] = {
      {"M", mixer_alone}, {"*", attention_alone}, {"-", mlp_alone}, {"E", experts_alone}};
  static constexpr LayerName names[] = {
      {"mamba", mixer_alone}, {"attention", attention_alone}, {"mlp", mlp_alone}, {"moe", experts_alone}};
  NetworkSpec& n = r.spec;
  const bool list = r.config.has("layers_block_type");
  const char* key = list ? "layers_block_type" : "hybrid_override_pattern";
  std::vector<LayerKind> kinds = list ? listed(r, key, names) : lettered(r, key, letters);
  r.config.require(!kinds.empty(), key, "no kind of any layer", "\"MEMEM*E\", or a list in layers_block_type");
  n.layers = r.config.has("num_hidden_layers") ? r.size("num_hidden_layers") : static_cast<std::int64_t>(kinds.size());
  n.hidden = r.size("hidden_size");
  n.heads = r.size("num_attention_heads");
  n.kv_heads = r.size_or("num_key_value_heads", 8, 1);
  n.head_dim =
      r.config.has("attention_head_dim") ? r.either("attention_head_dim", "head_dim") : r.size_or("head_dim", 128);
  n.vocab = r.size("vocab_size");
  n.ffn_hidden = r.size("intermediate_size");
  n.tied_embeddings = r.tied_or(false);
  n.positions = Positions::none;
  r.length("max_position_embeddings");
  r.activation("mlp_hidden_act", "relu2", false);
  attention_biases(r, false);
  require_flag(r, "use_conv_bias", true, "convolutions without a bias are none of our forms");
  require_flag(r, "use_bias", false, "biases on a mixer's projections are none of our forms");
  require_flag(r, "mamba_proj_bias", false, "biases on a mixer's projections are none of our forms");
  require_flag(r, "mlp_bias", false, "biases on the MLP alone are none of our forms");
  r.dropout({"attention_dropout", "hidden_dropout"}, 0);
  const auto has = [&](const LayerKind& kind) { return std::ranges::find(kinds, kind) != kinds.end(); };
  if (has(experts_alone)) {
    Experts& e = n.experts;
    e.count = r.size("n_routed_experts");
    e.top_k = r.size("num_experts_per_tok");
    e.ffn_hidden = r.size("moe_intermediate_size");
    e.shared_ffn_hidden = r.config.has("n_shared_experts") && r.size_or("n_shared_experts", 0) > 0
                              ? r.size("moe_shared_expert_intermediate_size")
                              : 0;
    e.latent = r.config.has("moe_latent_size") ? r.size("moe_latent_size") : 0;
    e.router_bias = true;
  }
  if (has(mixer_alone))
    mamba2_mixer(r, {"mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel", "chunk_size"});
  take_pattern(r, key, std::move(kinds));
  n.mtp_layers = r.config.has("num_nextn_predict_layers") ? r.size_or("num_nextn_predict_layers", 0) : 0;
  std::vector<LayerKind> predicts = r.config.has("mtp_layers_block_type")
                                        ? listed(r, "mtp_layers_block_type", names)
                                        : lettered(r, "mtp_hybrid_override_pattern", letters);
  if (n.mtp_layers > 0) n.mtp_pattern = std::move(predicts);
}

/// Llama's layers with Mamba-2 in place of most attention.
void bamba(HfReader& r) {
  shared_sizes(r, 8, 0, false);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  attention_biases(r, false);
  mamba_biases(r);
  mamba2_mixer(r, bamba_keys);
  std::vector<std::int64_t> attention;
  r.config.optional("attn_layer_indices", attention, IntegerRange{0, 1 << 20});
  std::vector<LayerKind> kinds(static_cast<std::size_t>(n.layers), {Feed::mlp, false, true, false});
  for (const std::int64_t layer : attention) {
    r.config.require(
        layer < n.layers, "attn_layer_indices", fmt::format("layer {} of {}", layer, n.layers), "0, 1, ...");
    if (layer < n.layers) kinds[static_cast<std::size_t>(layer)] = {Feed::mlp, false, false, true};
  }
  take_pattern(r, "attn_layer_indices", std::move(kinds));
}

/// Mamba-2 or attention, and experts beside a shared MLP that every layer has; without experts the MLP alone.
void granite_hybrid(HfReader& r) {
  static constexpr LayerName names[] = {
      {"mamba", {Feed::mlp, false, true, false}}, {"attention", {Feed::mlp, false, false, true}}};
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "silu", true);
  attention_biases(r, false);
  mamba_biases(r);
  const std::string positions = r.text_or("position_embedding_type", "nope");
  r.config.require(positions == "nope" || positions == "rope", "position_embedding_type",
      fmt::format("positions '{:.20}' are none of its own", positions), "nope, rope");
  n.positions = positions == "rope" ? Positions::rope : Positions::none;
  const std::int64_t shared = r.size("shared_intermediate_size"), routed = r.size_or("num_local_experts", 0);
  if (routed > 0) {
    n.experts.count = routed;
    n.experts.top_k = r.size("num_experts_per_tok");
    n.experts.ffn_hidden = n.ffn_hidden = r.size("intermediate_size");
    n.experts.shared_ffn_hidden = shared;
  } else {
    n.ffn_hidden = shared;
  }
  std::vector<LayerKind> kinds =
      r.config.has("layers_block_type") ? listed(r, "layers_block_type", names) : listed(r, "layer_types", names);
  feed_all(kinds, 0, routed > 0);
  const bool mixers = std::ranges::any_of(kinds, &LayerKind::mixer);
  if (mixers) mamba2_mixer(r, bamba_keys);
  take_pattern(r, "layer_types", std::move(kinds));
}

/// Mamba with normed selections, attention in one layer of a period, experts in one of another.
void jamba(HfReader& r) {
  shared_sizes(r, 8, 0, false);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  n.positions = Positions::none;
  mamba_biases(r);
  const std::int64_t channels = r.size_or("mamba_expand", 2) * n.hidden;
  const bool by_itself = r.config.type_of("mamba_dt_rank") != "number";
  if (by_itself) r.text_or("mamba_dt_rank", "auto");
  const std::int64_t rank = by_itself ? (n.hidden + 15) / 16 : r.size("mamba_dt_rank");
  n.mixer = make_mixer("mamba1-normed", {{"channels", channels}, {"state", r.size_or("mamba_d_state", 16)},
                                            {"rank", rank}, {"taps", r.size_or("mamba_d_conv", 4)}});
  n.experts.count = r.size_or("num_experts", 16);
  n.experts.top_k = r.size_or("num_experts_per_tok", 2);
  n.experts.ffn_hidden = n.ffn_hidden;
  const std::int64_t attention = std::max<std::int64_t>(1, r.size_or("attn_layer_period", 8)),
                     first = r.size_or("attn_layer_offset", 4),
                     experts = std::max<std::int64_t>(1, r.size_or("expert_layer_period", 2)),
                     routed = r.size_or("expert_layer_offset", 1);
  // As in configuration_jamba.py: no layer of a period would be the one.
  for (const auto& [key, offset, period] :
      {std::tuple{"attn_layer_offset", first, attention}, {"expert_layer_offset", routed, experts}})
    r.config.require(offset < period, key, fmt::format("{} in a period of {} layers", offset, period),
        fmt::format("from 0 to {}", period - 1));
  std::vector<LayerKind> kinds;
  constexpr std::int64_t most_layers = 10'000;  // more are refused by the rules of all networks
  for (std::int64_t layer = 0; layer < std::min(n.layers, most_layers); ++layer) {
    const bool attends = layer % attention == first;
    kinds.push_back(
        {layer % experts == routed && n.experts.count > 1 ? Feed::experts : Feed::mlp, false, !attends, attends});
  }
  if (n.experts.count <= 1) n.experts = {};
  take_pattern(r, "num_hidden_layers", std::move(kinds));
}

/// Mixers alone. Its files tell no length.
void mamba2_alone(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_hidden_layers");
  n.hidden = r.size("hidden_size");
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(false);
  n.positions = Positions::none;
  require_flag(r, "use_conv_bias", true, "convolutions without a bias are none of our forms");
  require_flag(r, "use_bias", false, "biases on a mixer's projections are none of our forms");
  mamba2_mixer(r, {"num_heads", "head_dim", "state_size", "n_groups", "conv_kernel", "chunk_size"});
  n.pattern = {mixer_alone};
}

/// Mamba-2 and attention side by side in each layer.
void falcon_h1(HfReader& r) {
  shared_sizes(r, 8, 0, false);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  attention_biases(r, false);
  mamba_biases(r);
  require_flag(r, "mlp_bias", false, "biases on the MLP alone are none of our forms");
  bool normed = false;
  r.config.optional("mamba_rms_norm", normed);
  mamba2_mixer(r, bamba_keys, normed ? "mamba2" : "mamba2-gated");
  const std::int64_t channels = n.mixer.size("heads") * n.mixer.size("head_dim");
  const std::int64_t stated = r.config.has("mamba_d_ssm") ? r.size("mamba_d_ssm") : channels;
  r.config.require(stated == channels, "mamba_d_ssm",
      fmt::format("{} channels, but {} heads of {}", stated, n.mixer.size("heads"), n.mixer.size("head_dim")),
      fmt::format("{}", channels));
  n.pattern = {{Feed::mlp, false, true, true}};
}

/// Gated DeltaNet in three of four layers, gated attention with normed heads in the fourth.
void qwen3_next(HfReader& r) {
  static constexpr LayerName names[] = {
      {"linear_attention", {Feed::mlp, false, true, false}}, {"full_attention", {Feed::mlp, false, false, true}}};
  shared_sizes(r, 2, 256, false);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "silu", true);
  attention_biases(r, false);
  n.qk_norm = true;
  n.attention_gate = r.flag_or("attn_output_gate", true);
  n.mixer = make_mixer("gated-delta",
      {{"key_heads", r.size_or("linear_num_key_heads", 16)}, {"value_heads", r.size_or("linear_num_value_heads", 32)},
          {"key_dim", r.size_or("linear_key_head_dim", 128)}, {"value_dim", r.size_or("linear_value_head_dim", 128)},
          {"taps", r.size_or("linear_conv_kernel_dim", 4)}, {"chunk", 64}});
  r.config.require(n.mixer.extent("m") > 0, "linear_num_value_heads", "they do not share out over the key heads",
      "a multiple of linear_num_key_heads");
  std::vector<LayerKind> kinds = listed(r, "layer_types", names);
  const std::int64_t every = r.config.has("full_attention_interval") ? r.size("full_attention_interval") : 4;
  if (kinds.empty())
    for (std::int64_t layer = 1; layer <= n.layers; ++layer)
      kinds.push_back(names[layer % std::max<std::int64_t>(1, every) == 0 ? 1 : 0].kind);
  const bool routed = r.config.has("num_experts") && r.size("num_experts") > 0;
  if (routed) {
    n.experts.count = r.size("num_experts");
    n.experts.top_k = r.size("num_experts_per_tok");
    n.experts.ffn_hidden = r.size("moe_intermediate_size");
    n.experts.shared_ffn_hidden = r.size_or("shared_expert_intermediate_size", 512);
    n.experts.shared_gate = n.experts.shared_ffn_hidden > 0;
    n.ffn_hidden = r.config.has("intermediate_size") ? r.size("intermediate_size") : n.experts.ffn_hidden;
    std::vector<std::int64_t> plain;
    r.config.optional("mlp_only_layers", plain, IntegerRange{0, 1 << 20});
    const std::int64_t step = r.config.has("decoder_sparse_step") ? r.size("decoder_sparse_step") : 1;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const auto layer = static_cast<std::int64_t>(i);
      const bool dense =
          std::ranges::find(plain, layer) != plain.end() || (layer + 1) % std::max<std::int64_t>(1, step) != 0;
      kinds[i].feed = dense ? Feed::mlp : Feed::experts;
    }
  } else {
    n.ffn_hidden = r.size("intermediate_size");
  }
  take_pattern(r, "layer_types", std::move(kinds));
  n.mtp_layers = r.config.has("mtp_num_hidden_layers") ? r.size_or("mtp_num_hidden_layers", 0) : 0;
  if (n.mtp_layers > 0) n.mtp_pattern = {{routed ? Feed::experts : Feed::mlp, false, false, true}};
  require_flag(
      r, "mtp_use_dedicated_embeddings", false, "prediction modules with tables of their own are none of our forms");
}

/// Gated DeltaNet with norms before it, and attention with norms behind it, of all heads together (olmo_hybrid).
void olmo_hybrid(HfReader& r) {
  static constexpr LayerName names[] = {
      {"linear_attention", {Feed::mlp, false, true, false}}, {"full_attention", {Feed::mlp, false, false, true}}};
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  attention_biases(r, false);
  n.qk_norm = n.qk_norm_width = true;
  const std::int64_t keys = r.size_or("linear_num_key_heads", n.heads);
  const std::int64_t key_dim = r.size_or("linear_key_head_dim", keys > 0 ? n.hidden * 3 / (4 * keys) : 0);
  n.mixer = make_mixer(
      "gated-delta", {{"key_heads", keys}, {"value_heads", r.size_or("linear_num_value_heads", n.heads)},
                         {"key_dim", key_dim}, {"value_dim", r.size_or("linear_value_head_dim", 2 * key_dim)},
                         {"taps", r.size_or("linear_conv_kernel_dim", 4)}, {"chunk", 64}});
  std::vector<LayerKind> kinds = listed(r, "layer_types", names);
  if (kinds.empty())
    for (std::int64_t layer = 0; layer < n.layers; ++layer) kinds.push_back(names[layer % 4 == 3 ? 1 : 0].kind);
  take_pattern(r, "layer_types", std::move(kinds));
  count_beside(r, 0, "norms before some layers and behind others (OLMo Hybrid)", "Gated DeltaNet or attention, MLP");
}

/// Kimi delta attention, latent attention without positions in the layers that the file lists (from 1 on). Kimi K3 has
/// gates on both, experts on a narrow projection, and residuals over blocks of layers: a vector and a norm before each
/// sublayer and one behind all.
void kimi_linear(HfReader& r) {
  NetworkSpec& n = r.spec;
  latent_sizes(r, r.config.has("model_max_length") ? "model_max_length" : "max_position_embeddings");
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  n.positions = r.flag_or("mla_use_nope", true) ? Positions::none : Positions::rope;
  Experts& e = n.experts;
  e.count = r.size("num_experts");
  e.top_k = r.either("num_experts_per_token", "num_experts_per_tok");
  e.ffn_hidden = r.size("moe_intermediate_size");
  e.shared_ffn_hidden = r.size_or("num_shared_experts", 0) * e.ffn_hidden;
  e.router_bias = true;
  e.latent = r.config.has("routed_expert_hidden_size") ? r.size("routed_expert_hidden_size") : 0;
  if (e.latent > 0) e.latent_norm = r.flag_or("latent_moe_use_norm", false);
  n.attention_gate = r.config.has("mla_use_output_gate") && r.flag_or("mla_use_output_gate", false);
  const std::int64_t dense = r.size_or("first_k_dense_replace", 0);
  const std::int64_t every = r.config.has("moe_layer_freq") ? r.size("moe_layer_freq") : 1;
  r.config.require(every == 1, "moe_layer_freq", fmt::format("experts in every {}th layer", every), "1");
  JsonObject linear = r.config.object("linear_attn_config");
  linear.allow_unknown_keys();
  constexpr IntegerRange size{1, 1'000'000};
  std::int64_t heads = 0, head_dim = 0, taps = 4;
  std::vector<std::int64_t> mixers, attention;
  linear.read("num_heads", heads, size);
  linear.read("head_dim", head_dim, size);
  linear.optional("short_conv_kernel_size", taps, size);
  linear.read("kda_layers", mixers, size);
  linear.read("full_attn_layers", attention, size);
  bool full_rank = false;
  linear.optional("use_full_rank_gate", full_rank);
  if (r.config.failed()) return;
  n.mixer = make_mixer(
      full_rank ? "kda-full-gate" : "kda", {{"heads", heads}, {"head_dim", head_dim}, {"taps", taps}, {"chunk", 64}});
  std::vector<LayerKind> kinds(static_cast<std::size_t>(n.layers), {Feed::mlp, false, false, false});
  const auto mark = [&](const std::vector<std::int64_t>& layers, bool mixer) {
    for (const std::int64_t layer : layers) {
      const bool here = layer <= n.layers && kinds[static_cast<std::size_t>(layer - 1)].sublayers() == 1;
      linear.require(here, mixer ? "kda_layers" : "full_attn_layers",
          fmt::format("layer {} of {} has a kind already, or is none", layer, n.layers), "each layer once, from 1 on");
      if (!here) continue;
      kinds[static_cast<std::size_t>(layer - 1)].mixer = mixer;
      kinds[static_cast<std::size_t>(layer - 1)].attention = !mixer;
    }
  };
  mark(mixers, true);
  mark(attention, false);
  linear.require(mixers.size() + attention.size() == kinds.size(), "kda_layers",
      fmt::format("{} layers have a kind, of {}", mixers.size() + attention.size(), n.layers), "each layer once");
  feed_all(kinds, dense, true);
  take_pattern(r, "linear_attn_config", std::move(kinds));
  if (r.config.has("attn_res_block_size") && r.size("attn_res_block_size") > 0)
    count_beside(r, (4 * n.layers + 2) * n.hidden, "residuals over blocks of layers (attn_res_block_size)",
        "Kimi delta or latent attention, MLP or experts");
}

namespace {

constexpr LayerName lfm2_names[] = {
    {"conv", {Feed::mlp, false, true, false}}, {"full_attention", {Feed::mlp, false, false, true}}};

/// Gated short convolutions, attention with normed heads between them.
void lfm2_layers(HfReader& r, bool tied) {
  shared_sizes(r, 8, 0, tied);
  NetworkSpec& n = r.spec;
  if (r.config.has("tie_embedding")) n.tied_embeddings = r.flag_or("tie_embedding", tied);
  n.activation = Activation::swiglu;
  n.qk_norm = true;
  require_flag(r, "conv_bias", false, "biases on a mixer's projections are none of our forms");
  n.mixer = make_mixer("short-conv", {{"channels", n.hidden}, {"taps", r.size_or("conv_L_cache", 3)}});
}

}  // namespace

void lfm2_moe(HfReader& r) {
  lfm2_layers(r, true);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  Experts& e = n.experts;
  e.count = r.size("num_experts");
  e.top_k = r.size("num_experts_per_tok");
  e.ffn_hidden = r.size("moe_intermediate_size");
  e.router_bias = r.flag_or("use_expert_bias", true);
  std::vector<LayerKind> kinds = listed(r, "layer_types", lfm2_names);
  feed_all(kinds, r.size_or("num_dense_layers", 2), true);
  take_pattern(r, "layer_types", std::move(kinds));
}

/// An MLP of two thirds of the stated width, rounded up to a multiple, unless the file says not to.
void lfm2(HfReader& r) {
  lfm2_layers(r, true);
  NetworkSpec& n = r.spec;
  std::int64_t width = r.config.has("block_ff_dim") ? r.size("block_ff_dim") : r.size("intermediate_size");
  if (r.flag_or("block_auto_adjust_ff_dim", true)) {
    const std::int64_t multiple = std::max<std::int64_t>(1, r.size_or("block_multiple_of", 256));
    const double factor = r.number_or("block_ffn_dim_multiplier", 1);
    width = static_cast<std::int64_t>(factor * static_cast<double>(2 * width / 3));
    width = (width + multiple - 1) / multiple * multiple;
  }
  n.ffn_hidden = width;
  std::vector<LayerKind> kinds = listed(r, "layer_types", lfm2_names);
  if (kinds.empty()) {
    std::vector<std::int64_t> full;
    r.config.optional("full_attn_idxs", full, IntegerRange{0, 1 << 20});
    for (std::int64_t layer = 0; layer < n.layers; ++layer)
      kinds.push_back(lfm2_names[std::ranges::find(full, layer) != full.end() ? 1 : 0].kind);
  }
  take_pattern(r, "layer_types", std::move(kinds));
}

}  // namespace stepcast::detail
