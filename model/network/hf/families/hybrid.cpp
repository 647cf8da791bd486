// Architectures whose layers have Mamba in place of attention, or beside it: src/transformers/models/<family> of
// transformers.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "model/network/hf/families/families.h"
#include "model/network/hf/families/layer_names.h"

namespace stepcast::detail {
namespace {

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
  gated_mlp(r);
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
  gated_mlp(r);
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
  if (r.config.names("intermediate_size"))  // Codestral Mamba's file says it; configuration_mamba2.py has no such key
    r.config.require(r.size("intermediate_size") == n.mixer.size("heads") * n.mixer.size("head_dim"),
        "intermediate_size", "a width that is not that of all heads", "num_heads x head_dim");
  n.pattern = {mixer_alone};
}

/// Mamba-2 and attention side by side in each layer.
void falcon_h1(HfReader& r) {
  shared_sizes(r, 8, 0, false);
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  attention_biases(r, false);
  mamba_biases(r);
  r.config.optional("mlp_bias", n.mlp_bias);
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

}  // namespace stepcast::detail
