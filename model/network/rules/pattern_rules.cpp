// Which layer is which: shapes and the pattern of words.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/rules/rules.h"

namespace stepcast::detail {
namespace {

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

}  // namespace

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

}  // namespace stepcast::detail
