// Numbers in place of words, encoders, and what takes their positions to the network's.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "model/network/rules/rules.h"

namespace stepcast::detail {
namespace {

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
    const auto asks = [](const ProjectorStep& step) { return step.kind == ProjectorStep::Kind::attend; };
    rules.require(positions_merged(steps) == positions_merged(n.projectors.front()) &&
                      (n.projectors.size() == 1 || std::ranges::none_of(steps, asks)),
        "projectors", "several give different numbers of rows", "as many merged positions in each, and no \"attend\"");
    rules.require(
        std::ranges::count_if(steps, asks) <= 1, "projectors", "queries stand once in a projector", "one \"attend\"");
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

}  // namespace

/// Numbers in place of words, in front and behind.
void check_features(Rules& rules) {
  const NetworkSpec& n = rules.n;
  const bool numbers = n.features > 0;
  rules.require(!numbers || n.vocab == 0, "vocab", "positions are words or numbers", "vocab or features alone");
  rules.require(
      numbers || n.intake == Intake::matrix, "intake", "there are no features to take in", "\"features\": 80");
  rules.require((n.intake == Intake::planes) == (n.planes > 0), "planes",
      fmt::format("{} planes of convolutions", n.planes), "with \"intake\": \"planes\" alone");
  rules.require(numbers || !n.class_token, "class_token", "words stand at all positions", "features");
  rules.require(!n.class_token || n.intake == Intake::matrix, "class_token", "it stands beside patches",
      "\"intake\": \"matrix\"");
  if (!rules.asks_sequence) return;  // an encoder has no head
  rules.require((n.classes > 0) + (n.outputs > 0) == (numbers ? 1 : 0), "outputs",
      numbers ? "nothing says what the network is asked for" : "a network of tokens predicts tokens",
      numbers ? "classes, or outputs" : "neither classes nor outputs");
  rules.require(
      !numbers || (!n.tied_embeddings && !n.embedding_norm && n.token_types == 0 && n.mtp_layers == 0 &&
                      !n.masked_loss && n.pooled_outputs == 0 && !n.head_bias && n.streams == 1 &&
                      (n.norm_place == NormPlace::before || n.modulation.gains) && n.intake == Intake::matrix),
      "features", "what belongs to words stands beside numbers",
      "norms before each sublayer, classes or outputs alone");
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
  rules.require(!encoder.no_last_norm || (encoder.joins && encoder.layers > 0), "no_last_norm",
      "what an encoder gives apart is normed", "an encoder that joins");
  rules.require(!encoder.joins || encoder.hidden == network.hidden, "hidden",
      fmt::format("its positions join a stream of {}, and are {} wide", network.hidden, encoder.hidden),
      fmt::format("{}", network.hidden));
  const Modulation& said = encoder.modulation;
  rules.require(
      said.frequencies == 0 || (said.gates && encoder.joins && encoder.layers > 0 && !said.shared && !said.guidance &&
                                   said.classes == 0 && !said.common && !said.no_bias && !said.gains &&
                                   said.width == 0 && said.inner == 0 && said.approximator_layers == 0),
      "modulation", "vectors of a sample gate the layers of an encoder that joins, and do no more",
      "\"gates\": true beside frequencies and pooled");
  rules.require(!encoder.tied_embeddings || (encoder.vocab == network.vocab && encoder.hidden == network.hidden),
      "tied_embeddings", "the network's table of words has another size", "the network's vocab and hidden");
  check_sizes(rules);
  check_total(rules);
  check_attention(rules);
  check_window(rules);
  check_pattern(rules);
  check_borrowed(rules);
  check_crossing(rules);
  check_features(rules);
  check_projectors(rules, network);
  if (rules.broken()) return tl::unexpected(*rules.first());
  return encoder;
}

}  // namespace stepcast::detail
