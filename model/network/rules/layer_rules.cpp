// What stands in a layer beside attention: streams, experts, norms, inputs of its own, modulation.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/rules/rules.h"

namespace stepcast::detail {
namespace {

void check_groups(Rules& rules) {
  const Experts& e = rules.n.experts;
  if (rules.broken() || (e.groups == 0 && e.top_groups == 0)) return;
  rules.require(e.groups >= 1 && e.count % e.groups == 0, "experts/groups",
      fmt::format("{} groups of {} experts", e.groups, e.count), fmt::format("one of: {}", divisors_of(e.count)));
  rules.require(e.top_groups >= 1 && e.top_groups <= e.groups, "experts/top_groups",
      fmt::format("{} groups out of {}", e.top_groups, e.groups), fmt::format("1 to {}", e.groups));
  if (rules.broken()) return;
  const std::int64_t within = e.top_groups * (e.count / e.groups);
  rules.require(e.top_k <= within, "experts/top_groups",
      fmt::format("{} groups have {} experts, and a token takes {}", e.top_groups, within, e.top_k),
      "more groups, or fewer experts per token");
}

}  // namespace

void check_streams(Rules& rules) {
  const NetworkSpec& n = rules.n;
  rules.require(n.streams >= 1 && n.streams <= 64, "streams", fmt::format("{} residual streams", n.streams), "1 to 64");
  constexpr std::int64_t most = 8;
  rules.require(n.predicted_streams == 0 || (n.predicted_streams >= 2 && n.predicted_streams <= most),
      "predicted_streams", fmt::format("{} residual streams", n.predicted_streams), "2 to 8, or none");
  rules.require(n.predicted_streams == 0 || (n.streams == 1 && n.layer_inputs.width > 0 && !n.layer_scale),
      "predicted_streams", "streams that are predicted from each other stand with inputs of each layer",
      "layer_inputs, and neither streams nor layer_scale");
  rules.require(n.side_rank == 0 || (n.streams == 1 && !n.parallel_block && has_attention(n)), "side_rank",
      "a way beside attention stands in one stream, with attention before the MLP", "no side_rank");
  const bool cuts = n.gate_cutoff || std::ranges::any_of(n.shapes, &LayerShape::gate_cutoff);
  rules.require(
      !cuts || ((n.activation == Activation::swiglu || n.activation == Activation::geglu) && has_plain_mlp(n)),
      "gate_cutoff", "without a gate of an MLP there is nothing to cut off",
      has_plain_mlp(n) ? "\"activation\": \"geglu\"" : "layers with an MLP, or no gate_cutoff");
  if (n.streams == 1) return;
  rules.require(
      n.norm_place == NormPlace::before && !n.parallel_block && !n.linear_bias && !n.dropout && !n.layer_scale,
      "streams", "several residual streams stand with norms before each sublayer, without biases", "1");
}

void check_experts(Rules& rules) {
  const NetworkSpec& n = rules.n;
  const Experts& e = n.experts;
  if (rules.broken() || e.count == 0) return;
  rules.require(e.top_k >= 1 && e.top_k <= e.count, "experts/top_k",
      fmt::format("a token goes to {} of {} experts", e.top_k, e.count), fmt::format("1 to {}", e.count));
  rules.at_least_one("experts/ffn_hidden", e.ffn_hidden);
  rules.require(e.dense_layers >= 0 && e.dense_layers < n.layers, "experts/dense_layers",
      fmt::format("{} leading dense layers of {} leave none for the experts", e.dense_layers, n.layers),
      fmt::format("0 to {}", n.layers - 1));
  rules.at_least_one("experts/every", e.every);
  if (rules.broken()) return;
  const std::int64_t behind = n.layers - e.dense_layers;
  rules.require(behind % e.every == 0 || !n.pattern.empty(), "experts/every",
      fmt::format("every {} does not divide the {} layers behind the dense ones", e.every, behind),
      fmt::format("one of: {}", divisors_of(behind)));
  rules.require(!n.linear_bias, "linear_bias", "a network of experts says which projections have biases",
      "qkv_bias, out_bias, and experts/expert_bias");
  rules.require(!n.parallel_block || (!e.own_norms && n.norms_per_layer == 1), "parallel_block",
      "experts beside attention read one norm with it", "\"norms_per_layer\": 1, without norms of the experts' own");
  rules.require(!e.norm_behind || (!e.own_norms && !n.parallel_block && n.norm_place == NormPlace::before),
      "experts/norm_behind", "a norm behind experts stands in layers with norms before their sublayers",
      "\"norm_place\": \"before\", without own_norms and parallel_block");
  rules.require(!e.shared_gate || e.shared_ffn_hidden > 0, "experts/shared_gate", "there is no shared expert to scale",
      "shared_ffn_hidden, or no shared_gate");
  const auto count = static_cast<double>(e.count);
  rules.require(e.capacity_factor >= 0 && e.capacity_factor <= count, "experts/capacity_factor",
      fmt::format("{} times the mean", e.capacity_factor), "0 for dropless routing, else up to the number of experts");
  rules.require(e.imbalance >= 1 && e.imbalance <= count, "experts/imbalance",
      fmt::format("the fullest rank holds {} times the mean", e.imbalance), fmt::format("1 (balanced) to {}", e.count));
  check_groups(rules);
}

void check_norms(Rules& rules) {
  const NetworkSpec& n = rules.n;
  rules.require(n.masked_loss || n.masked_share == 0, "masked_share", "no position of it is masked",
      "\"masked_loss\": true, or no share");
  rules.require(
      !n.masked_loss || !n.causal, "masked_loss", "what follows a masked position is seen", "\"causal\": false");
  rules.require(
      !n.masked_loss || n.mtp_layers == 0, "mtp_layers", "modules predict what follows, not masked words", "0");
  rules.require(n.norm_place == NormPlace::before || !n.parallel_block, "norm_place",
      "attention and MLP side by side read what a norm made before them", "\"before\"");
  rules.require(
      !n.qk_norm_width || n.qk_norm, "qk_norm_width", "there is no norm of queries and keys", "\"qk_norm\": true");
  rules.require(!n.qk_norm_heads || (n.qk_norm && !n.qk_norm_width), "qk_norm_heads",
      "weights of each head stand with a norm of each head", "\"qk_norm\": true, without qk_norm_width");
  rules.require(!n.attention_sinks || n.latent.kv_rank == 0, "attention_sinks", "latent attention has none", "false");
  rules.require(!n.value_norm || n.latent.kv_rank == 0, "value_norm", "latent attention has none", "false");
  rules.require(!n.experts.own_norms || n.experts.shared_ffn_hidden > 0, "experts/own_norms",
      "routed experts alone have no norms of their own", "shared_ffn_hidden");
  rules.require(n.causal || n.sparse.top_k == 0, "causal", "an indexer picks earlier keys", "true");
  rules.require(n.causal || !n.window.chunks, "causal", "chunks without a causal mask are none of our forms", "true");
  rules.require(n.embedded_only == 0 || (n.vocab > 0 && !n.tied_embeddings && n.mtp_layers == 0), "embedded_only",
      "words that are never guessed stand in a table of their own", "tables that are not tied, without modules");
  rules.require(!n.head_gate || n.attention_gate, "head_gate", "attention has no gates", "\"attention_gate\": true");
  rules.require(n.value_dim == 0 || (n.latent.kv_rank == 0 && n.compressed.q_rank == 0 && !n.key_is_value), "value_dim",
      "latent and compressed attention, and values that are keys, have sizes of their own", "no value_dim");
  rules.require(!n.experts.latent_norm || n.experts.latent > 0, "experts/latent_norm",
      "experts work on the stream, without a projection to norm", "\"latent\": ...");
  rules.require(
      !n.layer_scale || !n.parallel_block, "layer_scale", "attention and MLP side by side have none", "false");
  rules.require(n.pooled_outputs == 0 || n.mtp_layers == 0, "pooled_outputs", "modules predict words alone", "0");
  rules.require(!n.key_is_value || n.latent.kv_rank == 0, "key_is_value",
      "latent attention has keys and values of its own", "false");
  rules.require(n.norms_per_layer == 1 || n.norms_per_layer == 2, "norms_per_layer",
      fmt::format("{} norms in a layer", n.norms_per_layer), "1 or 2");
  rules.require(n.norms_per_layer == 2 || n.parallel_block, "norms_per_layer",
      "attention and MLP share a norm only side by side", "2, or \"parallel_block\": true");
}

/// Of layers with inputs of their own.
void check_inputs(Rules& rules) {
  const NetworkSpec& n = rules.n;
  const LayerInputs& x = n.layer_inputs;
  rules.require((x.width > 0) == (x.words > 0), "layer_inputs", fmt::format("{} wide, of {} words", x.width, x.words),
      "a width and words");
  rules.require(x.width == 0 || (n.vocab > 0 && n.streams == 1 && n.norm == Norm::rmsnorm && !n.parallel_block &&
                                    n.mtp_layers == 0 && !looks_at_encoder(n)),
      "layer_inputs", "layers with inputs of their own stand in one stream of words, with RMS norms",
      "neither streams, parallel_block, mtp_layers nor x in a word");
  rules.require(!n.sublayer_scales || !n.parallel_block, "sublayer_scales",
      "attention and MLP side by side share what stands behind them", "none of both");
}

void check_modulation(Rules& rules) {
  const NetworkSpec& n = rules.n;
  if (n.modulation.frequencies == 0) return;
  const Modulation& m = n.modulation;
  rules.require(n.norm_place == (m.gains ? NormPlace::both : NormPlace::before) && !n.parallel_block && n.streams == 1,
      "modulation", "modulated layers have norms before each sublayer, and behind them where gains alone do",
      m.gains ? "\"norm_place\": \"both\"" : "\"norm_place\": \"before\"");
  rules.require((m.gains || m.common || m.gates ? 1 : 0) + (m.shared ? 1 : 0) <= 1, "modulation/shared",
      "tables of layers stand with six vectors of each", "neither gains nor common");
  const bool approximates = m.approximator_layers > 0;
  rules.require(approximates == (m.approximator_width > 0), "modulation/approximator_width",
      fmt::format("{} layers, {} wide", m.approximator_layers, m.approximator_width),
      "approximator_layers and approximator_width, or neither");
  rules.require(!approximates || !(m.shared || m.common || m.gains || m.no_bias || m.guidance || m.classes > 0 ||
                                     m.pooled > 0 || m.width > 0 || m.inner > 0),
      "modulation/approximator_layers", "what makes all vectors is asked for them and for the time alone",
      "frequencies, approximator_layers and approximator_width");
  rules.require(
      !(m.gains && m.common), "modulation/common", "vectors of gains are each layer's own", "gains or common");
  rules.require(!m.no_bias || (!n.linear_bias && !m.shared), "modulation/no_bias",
      "where layers or tables add biases, products of a sample do", "false");
  rules.require((m.width == 0 && m.inner == 0) || (!m.shared && !m.common), "modulation/width",
      "vectors that layers share are made of as many numbers as the stream has", "no width");
  rules.require(!n.modulation.gates, "modulation/gates", "gates alone stand in an encoder's layers", "false");
  rules.require(n.features > 0, "modulation", "no network of words is modulated by a sample's vectors", "features");
}

}  // namespace stepcast::detail
