#include "model/network/network_rules.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "model/network/rules.h"

namespace stepcast {
namespace {

using detail::divisors_of, detail::Rules;

void check_sizes(Rules& rules) {
  const NetworkSpec& n = rules.n;
  if (rules.asks_sequence) rules.at_least_one("layers", n.layers);  // an encoder may have none
  rules.at_least_one("hidden", n.hidden);
  if (has_plain_mlp(n) || n.pattern.empty()) rules.at_least_one("ffn_hidden", n.ffn_hidden);
  rules.at_least_one("heads", n.heads);
  rules.at_least_one("kv_heads", n.kv_heads);
  rules.at_least_one("head_dim", n.head_dim);
  if (n.features == 0) rules.at_least_one("vocab", n.vocab);
  // A mixer alone knows no longest sequence, nor do relative positions or features: their files may tell none, and who
  // asks for a step says it.
  const bool bounded = has_attention(n) && n.positions != Positions::relative && n.features == 0 && rules.asks_sequence;
  if (n.sequence != 0 || bounded) rules.at_least_one("sequence", n.sequence);
  rules.require(n.mtp_layers >= 0, "mtp_layers", "a negative number of prediction modules", "0 or more");
}

/// Within 64 bits with room to spare, so that later counts need not look: a hundred thousand times the largest of
/// today.
void check_total(Rules& rules) {
  if (rules.broken()) return;
  const NetworkSpec& n = rules.n;
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const LatentAttention& a = n.latent;
  const double inner = number(n.heads) * number(n.head_dim + n.value_dim + a.nope_dim + a.rope_dim + a.value_dim);
  const double attention = (number(n.hidden) + inner) * (4 * inner + number(a.q_rank) + number(a.kv_rank));
  const double widths = number(n.ffn_hidden) + number(n.experts.shared_ffn_hidden) +
                        number(n.experts.count) * number(n.experts.ffn_hidden + 1);
  const double tables = (2 * number(n.vocab) + number(n.max_positions)) * number(n.hidden);
  double mixer = 0;
  for (const auto& [name, value] : n.mixer.sizes) mixer = std::max(mixer, number(value));
  const double mixers = mixer > 1e6 ? 1e18 : number(n.layers) * number(count_mixer(n.mixer, n.hidden).parameters);
  const CompressedAttention& small = n.compressed;
  const double index = (number(n.hidden) + number(a.q_rank) + number(small.q_rank)) *
                           (number(n.sparse.heads + 1) * number(n.sparse.head_dim) +
                               number(small.index_heads + 1) * number(small.index_dim)) +
                       (inner + number(n.hidden) * number(small.o_groups)) * number(small.o_rank) +
                       (number(n.hidden) + inner) * number(small.q_rank);
  const double total =
      mixers + number(n.layers + n.mtp_layers) * (attention + index + 3 * number(n.hidden) * widths) + tables;
  rules.require(total < 1e17, "layers", fmt::format("some {:.0e} parameters in all", total), "fewer than 1e17");
}

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
  rules.require(!n.parallel_block, "parallel_block", "no network of experts with parallel blocks is known", "false");
  rules.require(!e.shared_gate || e.shared_ffn_hidden > 0, "experts/shared_gate", "there is no shared expert to scale",
      "shared_ffn_hidden, or no shared_gate");
  const auto count = static_cast<double>(e.count);
  rules.require(e.capacity_factor >= 0 && e.capacity_factor <= count, "experts/capacity_factor",
      fmt::format("{} times the mean", e.capacity_factor), "0 for dropless routing, else up to the number of experts");
  rules.require(e.imbalance >= 1 && e.imbalance <= count, "experts/imbalance",
      fmt::format("the fullest rank holds {} times the mean", e.imbalance), fmt::format("1 (balanced) to {}", e.count));
  check_groups(rules);
}

/// Each shape is some layer's, and its heads come out even.
template <class Some> void check_shapes(Rules& rules, const Some& some) {
  const NetworkSpec& n = rules.n;
  constexpr std::size_t most = 200;  // a byte numbers them
  rules.require(
      n.shapes.size() <= most, "shapes", fmt::format("{} shapes", n.shapes.size()), fmt::format("up to {}", most));
  for (std::size_t i = 0; i < n.shapes.size() && !rules.broken(); ++i) {
    const auto shape = static_cast<std::uint8_t>(i + 1);
    const NetworkSpec own = shaped(n, shape);
    const std::string key = fmt::format("shapes/{}", i);
    rules.require(some([&](const LayerKind& kind) { return kind.shape == shape; }), key.c_str(),
        fmt::format("no layer has the shape '{}'", n.shapes[i].name),
        "its name behind a colon in the words of some layers");
    rules.require(own.heads % own.kv_heads == 0, key.c_str(),
        fmt::format("{} key-value heads do not divide {} heads", own.kv_heads, own.heads),
        fmt::format("one of: {}", divisors_of(own.heads)));
    constexpr std::int64_t widest = 10'000'000;
    rules.require(own.heads * own.head_dim <= widest, key.c_str(),
        fmt::format("{} heads of {}", own.heads, own.head_dim), fmt::format("up to {} in all", widest));
    rules.require(!n.shapes[i].bare_attention || n.norm_place == NormPlace::before, key.c_str(),
        "attention without a norm stands where the others have theirs before", "\"norm_place\": \"before\"");
    rules.require(!n.shapes[i].bare_attention || !some([&](const LayerKind& kind) {
      return kind.shape == shape && (kind.mixer || !kind.attention);
    }),
        key.c_str(), "a layer without attention alone has its norm", "no bare_attention");
    rules.require(n.positions != Positions::rope || own.head_dim % 2 == 0, key.c_str(),
        fmt::format("rotary positions turn pairs, and head_dim {} is odd", own.head_dim), "an even head_dim");
    rules.require(
        n.latent.kv_rank == 0 || (n.shapes[i].heads == 0 && n.shapes[i].kv_heads == 0 && n.shapes[i].head_dim == 0),
        key.c_str(), "latent attention has one shape", "heads, kv_heads and head_dim left out");
    rules.require(!own.key_is_value || (n.latent.kv_rank == 0), key.c_str(),
        "latent attention has keys and values of its own", "false");
    rules.require(!own.key_is_value || own.value_dim == 0, key.c_str(), "values that are keys are as wide as they are",
        "no value_dim");
    rules.require(!n.shapes[i].qk_norm || n.latent.kv_rank == 0, key.c_str(), "latent attention has norms of its own",
        "no qk_norm");
    rules.require(!n.shapes[i].sublayer_gates || (n.streams == 1 && !n.parallel_block && n.modulation.frequencies == 0),
        key.c_str(), "gates stand on each sublayer of one stream", "no sublayer_gates");
    rules.require(
        !n.shapes[i].no_sinks || n.attention_sinks, key.c_str(), "no layer has sinks", "\"attention_sinks\": true");
  }
}

/// One way to say which layer is which, and every sublayer that it names is described.
void check_pattern(Rules& rules) {
  const NetworkSpec& n = rules.n;
  if (rules.broken()) return;
  const auto some = [&](const auto& holds) {
    return std::ranges::any_of(n.pattern, holds) || std::ranges::any_of(n.mtp_pattern, holds);
  };
  const auto mixes = [&](const LayerKind& kind) {
    return kind.mixer && (kind.shape == 0 || !n.shapes[kind.shape - 1U].mixer);
  };
  const bool mixers = some(mixes);
  rules.require(mixers == static_cast<bool>(n.mixer), n.mixer ? "pattern" : "mixer",
      n.mixer ? "no layer has the mixer" : "layers with a mixer, which nothing describes",
      n.mixer ? "M in the words of some layers: \"ME ME ME *E\"" : "\"mixer\": {\"kind\": ...}");
  check_shapes(rules, some);
  rules.require(
      n.mtp_pattern.empty() || n.mtp_layers > 0, "mtp_pattern", "there are no prediction modules", "mtp_layers");
  if (n.pattern.empty()) return;
  rules.require(static_cast<std::int64_t>(n.pattern.size()) <= n.layers, "pattern",
      fmt::format("{} words for {} layers", n.pattern.size(), n.layers), "one for each layer, or fewer, repeated");
  const bool experts = some([](const LayerKind& kind) { return kind.feed == Feed::experts; });
  rules.require(experts == (n.experts.count > 0), experts ? "experts" : "pattern",
      experts ? "layers with experts, which nothing describes" : "no layer has the experts",
      experts ? "\"experts\": {\"count\": ...}" : "E in the words of some layers");
  rules.require(n.experts.dense_layers == 0 && n.experts.every == 1, "pattern",
      "the pattern and experts both say which layers have experts", "experts without dense_layers and every");
  const bool windowed = some([](const LayerKind& kind) { return kind.windowed; });
  rules.require(windowed == (n.window.positions > 0), windowed ? "window" : "pattern",
      windowed ? "layers with a window, which nothing describes" : "no layer has the window",
      windowed ? "\"window\": {\"positions\": ..., \"pattern\": \"w\"}" : "w in the words of some layers");
  rules.require(!n.parallel_block, "parallel_block", "layers of a pattern run one sublayer behind the other", "false");
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
  rules.require(!(n.mlp_bias || n.sublayer_scales) || !n.parallel_block, n.mlp_bias ? "mlp_bias" : "sublayer_scales",
      "attention and MLP side by side share what stands behind them", "linear_bias");
}

/// Numbers in place of words, in front and behind.
void check_features(Rules& rules) {
  const NetworkSpec& n = rules.n;
  const bool numbers = n.features > 0;
  rules.require(!numbers || n.vocab == 0, "vocab", "positions are words or numbers", "vocab or features alone");
  rules.require(
      numbers || n.intake == Intake::matrix, "intake", "there are no features to take in", "\"features\": 80");
  rules.require(numbers || !n.class_token, "class_token", "words stand at all positions", "features");
  rules.require(!n.class_token || n.intake == Intake::matrix, "class_token", "it stands beside patches",
      "\"intake\": \"matrix\"");
  if (!rules.asks_sequence) return;  // an encoder has no head
  rules.require((n.classes > 0) + (n.outputs > 0) == (numbers ? 1 : 0), "outputs",
      numbers ? "nothing says what the network is asked for" : "a network of tokens predicts tokens",
      numbers ? "classes, or outputs" : "neither classes nor outputs");
  rules.require(!numbers || (!n.tied_embeddings && !n.embedding_norm && n.token_types == 0 && n.mtp_layers == 0 &&
                                !n.masked_loss && n.pooled_outputs == 0 && !n.head_bias && n.streams == 1 &&
                                n.norm_place == NormPlace::before && n.intake == Intake::matrix),
      "features", "what belongs to words stands beside numbers",
      "norms before each sublayer, classes or outputs alone");
}

void check_modulation(Rules& rules) {
  const NetworkSpec& n = rules.n;
  if (n.modulation.frequencies == 0) return;
  rules.require(n.norm_place == NormPlace::before && !n.parallel_block && n.streams == 1 && n.linear_bias, "modulation",
      "modulated layers have norms before each sublayer and biases", "\"linear_bias\": true");
  rules.require(n.features > 0, "modulation", "no network of words is modulated by a sample's vectors", "features");
}

void derive_sizes(NetworkSpec& n) {
  if (!has_attention(n) && n.heads == 0) n.heads = n.head_dim = 1;  // nothing reads them
  if (n.kv_heads == 0) n.kv_heads = n.heads;
  if (n.ffn_hidden == 0 && !has_plain_mlp(n)) n.ffn_hidden = std::max<std::int64_t>(1, n.experts.ffn_hidden);
  if (n.ffn_hidden == 0 && n.experts.dense_layers == 0 && n.experts.every == 1) n.ffn_hidden = n.experts.ffn_hidden;
  if (n.head_dim != 0) return;
  if (n.latent.kv_rank > 0) n.head_dim = n.latent.nope_dim + n.latent.rope_dim;
  else if (n.heads > 0 && n.hidden % n.heads == 0) n.head_dim = n.hidden / n.heads;
}

/// Each leads from the encoder's width to the network's, and all to as many rows.
void check_projectors(Rules& rules, const NetworkSpec& network) {
  const NetworkSpec& n = rules.n;
  const bool projects = !n.projectors.empty();
  rules.require(projects || (n.images == 0 && !n.frozen_projectors), "images", "nothing takes its positions to words",
      "projectors");
  rules.require(projects || !n.sound, "sound", "nothing takes its positions to words", "projectors");
  rules.require(!projects || (n.features > 0 && n.layers > 0 && (n.sound || n.intake == Intake::matrix)), "projectors",
      "an encoder of images reads patches and has layers", "features, layers and no intake");
  std::int64_t deepest = 0;
  for (const Projector& steps : n.projectors) {
    std::int64_t width = n.hidden;
    if (steps.empty() || steps.front().kind != ProjectorStep::Kind::layer) deepest = n.layers;
    bool whole = true;  // rows are the encoder's positions, each of them
    for (const ProjectorStep& step : steps) {
      const bool begins = step.kind == ProjectorStep::Kind::layer, beside = step.kind == ProjectorStep::Kind::beside;
      rules.require(!(begins || beside) || step.size <= n.layers, "projectors",
          fmt::format("what {} layers gave of {}", step.size, n.layers), fmt::format("up to {}", n.layers));
      rules.require(!begins || &step == &steps.front(), "projectors",
          "the features of a layer stand behind other steps", fmt::format("\"layer {}\" in front", step.size));
      rules.require(!beside || whole, "projectors", "features stand beside rows that are not one layer's",
          fmt::format("\"beside {}\" before matrices and merges", step.size));
      if (begins || beside) deepest = std::max(deepest, step.size);
      whole = whole && (begins || beside || step.kind == ProjectorStep::Kind::norm);
      if (beside) width += n.hidden;
      if (step.kind == ProjectorStep::Kind::merge) width *= step.size;
      if (step.kind == ProjectorStep::Kind::matrix || step.kind == ProjectorStep::Kind::gated) width = step.size;
      constexpr std::int64_t widest = 100'000'000;
      rules.require(width <= widest, "projectors", "a row is too wide", "narrower merges");
      if (rules.broken()) return;
    }
    rules.require(width == network.hidden && !steps.empty() && steps.back().kind == ProjectorStep::Kind::matrix,
        "projectors", fmt::format("the last step gives {} numbers for a stream of {}", width, network.hidden),
        fmt::format("\"matrix {}\" at the end", network.hidden));
    rules.require(positions_merged(steps) == positions_merged(n.projectors.front()), "projectors",
        "several give different numbers of rows", "as many merged positions in each");
    const std::int64_t patches = n.sequence - (n.class_token ? 1 : 0);
    rules.require(n.sequence == 0 || patches % positions_merged(steps) == 0, "sequence",
        fmt::format("{} {} are no multiple of the {} that are merged", patches,
            n.sound ? "positions of a clip" : "patches of an image", positions_merged(steps)),
        "a multiple of them");
  }
  rules.require(!projects || deepest >= n.layers, "layers",
      fmt::format("{} layers, and projectors read what the first {} give", n.layers, deepest),
      fmt::format("{}, or a projector without \"layer {}\"", deepest, deepest));
}

/// Words of the network's table, or features; as large as it may be on its own.
Expected<NetworkSpec> complete_encoder(NetworkSpec encoder, const NetworkSpec& network, const std::string& where) {
  const std::int64_t words = encoder.vocab;
  if (encoder.tied_embeddings && words == 0) encoder.vocab = network.vocab;
  if (encoder.layers == 0 && encoder.heads == 0) encoder.heads = encoder.head_dim = encoder.ffn_hidden = 1;  // unread
  derive_sizes(encoder);
  Rules rules(encoder, where, "encoder/");
  rules.asks_sequence = false;
  rules.require(encoder.head_dim != 0 || encoder.heads < 1, "heads",
      fmt::format("{} heads do not divide hidden {}", encoder.heads, encoder.hidden),
      "give head_dim, or a divisor of hidden");
  rules.require((encoder.features > 0) != (encoder.vocab > 0), "features", "an encoder reads words or numbers",
      "vocab, tied_embeddings, or features alone");
  rules.require(!encoder.frozen || !encoder.tied_embeddings, "frozen",
      "the encoder reads the network's own table of words, which is trained", "an encoder with words of its own");
  rules.require(!encoder.joins || encoder.hidden == network.hidden, "hidden",
      fmt::format("its positions join a stream of {}, and are {} wide", network.hidden, encoder.hidden),
      fmt::format("{}", network.hidden));
  rules.require(!encoder.tied_embeddings || (encoder.vocab == network.vocab && encoder.hidden == network.hidden),
      "tied_embeddings", "the network's table of words has another size", "the network's vocab and hidden");
  check_sizes(rules);
  check_total(rules);
  detail::check_attention(rules);
  detail::check_window(rules);
  check_pattern(rules);
  detail::check_borrowed(rules);
  detail::check_crossing(rules);
  check_features(rules);
  check_projectors(rules, network);
  if (rules.broken()) return tl::unexpected(*rules.first());
  return encoder;
}

}  // namespace

Expected<NetworkSpec> complete_network(NetworkSpec spec, const std::string& where) {
  derive_sizes(spec);
  Rules rules(spec, where);
  rules.require(spec.head_dim != 0 || spec.heads < 1, "heads",
      fmt::format("{} heads do not divide hidden {}", spec.heads, spec.hidden),
      "give head_dim, or a divisor of hidden");
  check_sizes(rules);
  check_total(rules);
  detail::check_attention(rules);
  detail::check_latent(rules);
  detail::check_sparse(rules);
  detail::check_compressed(rules);
  check_streams(rules);
  check_experts(rules);
  detail::check_window(rules);
  detail::check_query_rank(rules);
  check_pattern(rules);
  check_norms(rules);
  detail::check_borrowed(rules);
  check_inputs(rules);
  detail::check_crossing(rules);
  check_features(rules);
  check_modulation(rules);
  if (rules.broken()) return tl::unexpected(*rules.first());
  for (NetworkSpec& encoder : spec.encoders) {
    TRY(auto completed, complete_encoder(std::move(encoder), spec, where));
    encoder = std::move(completed);
  }
  return spec;
}

}  // namespace stepcast
