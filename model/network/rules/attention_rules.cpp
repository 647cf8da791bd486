// What a file may not say of attention: plain, latent, over picked or compressed keys, in windows, over an encoder.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/rules/rules.h"

namespace stepcast::detail {

std::string divisors_of(std::int64_t n) {
  std::string list;
  for (std::int64_t d = 1; d <= n && list.size() < 80; ++d)
    if (n % d == 0) list += fmt::format("{}{}", list.empty() ? "" : ", ", d);
  return list;
}

void check_attention(Rules& rules) {
  const NetworkSpec& n = rules.n;
  if (rules.broken()) return;
  rules.require(n.heads % n.kv_heads == 0, "kv_heads",
      fmt::format("{} key-value heads do not divide {} heads", n.kv_heads, n.heads),
      fmt::format("one of: {}", divisors_of(n.heads)));
  const bool rope = n.positions == Positions::rope, latent = n.latent.kv_rank > 0;
  rules.require(!rope || latent || n.head_dim % 2 == 0, "head_dim",
      fmt::format("rotary positions turn pairs, and head_dim {} is odd", n.head_dim), "an even head_dim");
  const bool covered = n.max_positions >= n.sequence || (n.max_positions > 0 && !n.projectors.empty());
  rules.require(n.positions != Positions::learned || covered, "max_positions",
      fmt::format("the learned position table has {} rows, the sequence {}", n.max_positions, n.sequence),
      "max_positions of at least sequence");
}

void check_latent(Rules& rules) {
  const NetworkSpec& n = rules.n;
  const LatentAttention& a = n.latent;
  if (rules.broken() || a.kv_rank == 0) return;
  rules.at_least_one("latent_attention/nope_dim", a.nope_dim);
  rules.at_least_one("latent_attention/rope_dim", a.rope_dim);
  rules.at_least_one("latent_attention/value_dim", a.value_dim);
  rules.require(a.rope_dim % 2 == 0, "latent_attention/rope_dim",
      fmt::format("rotary positions turn pairs, and rope_dim {} is odd", a.rope_dim), "an even rope_dim");
  rules.require(n.positions == Positions::rope || n.positions == Positions::none, "positions",
      "latent attention turns a part of each key, or none", "\"rope\" or \"none\" with latent_attention");
  rules.require(n.kv_heads == n.heads, "kv_heads",
      fmt::format(
          "latent attention gives every head its own keys: {} key-value heads for {} heads", n.kv_heads, n.heads),
      "leave kv_heads out");
  rules.require(n.head_dim == a.nope_dim + a.rope_dim, "head_dim",
      fmt::format("{} is not nope_dim {} + rope_dim {}", n.head_dim, a.nope_dim, a.rope_dim), "leave head_dim out");
  rules.require(!n.linear_bias && !n.qkv_bias && !n.out_bias && !n.qk_norm, "latent_attention",
      "latent attention has no biases and has norms of its own", "linear_bias, qkv_bias, out_bias and qk_norm false");
}

void check_sparse(Rules& rules) {
  const NetworkSpec& n = rules.n;
  const auto some_picked = [](const std::vector<LayerKind>& kinds) {
    return std::ranges::any_of(kinds, &LayerKind::picked);
  };
  rules.require(n.sparse.top_k > 0 || !some_picked(n.pattern), "pattern",
      "layers whose keys an earlier layer picked, and none picks any", "\"sparse_attention\": {\"top_k\": ...}");
  rules.require(n.latent.kv_rank > 0 || !(some_picked(n.pattern) || some_picked(n.mtp_pattern)), "pattern",
      "choices of keys are handed on by latent attention alone", "\"latent_attention\", or no d");
  if (rules.broken() || n.sparse.top_k == 0) return;
  const bool latent = n.latent.kv_rank > 0;
  rules.require(!latent || n.latent.q_rank > 0, "sparse_attention",
      "the indexer reads the low-rank queries of latent attention", "\"latent_attention\" with q_rank");
  rules.require(!latent || n.sparse.block == 1, "sparse_attention/block",
      "the indexer of latent attention picks keys one by one", "1");
  rules.require(latent || n.sparse.heads == n.kv_heads, "sparse_attention/heads",
      fmt::format("{} heads of the indexer for {} key-value heads", n.sparse.heads, n.kv_heads),
      fmt::format("{}, one for each", n.kv_heads));
  rules.require(n.sparse.block >= 1 && n.sparse.top_k % n.sparse.block == 0, "sparse_attention/top_k",
      fmt::format("{} keys are no whole blocks of {}", n.sparse.top_k, n.sparse.block), "a multiple of the block");
  rules.require(n.sparse.pooled == 0 || (!latent && n.sparse.head_dim == n.head_dim && n.sparse.block > 1 &&
                                            n.shapes.empty() && !n.key_is_value),
      "sparse_attention/pooled", "queries of plain attention score means of their keys and pick blocks",
      fmt::format("\"head_dim\": {}, and a block", n.head_dim));
  rules.require(
      n.window.positions == 0, "window", "sparse attention in a window is none of our forms", "one of the two");
}

void check_compressed(Rules& rules) {
  const NetworkSpec& n = rules.n;
  const CompressedAttention& a = n.compressed;
  if (rules.broken()) return;
  const auto alone = [&](bool there, const char* key) {
    rules.require(a.q_rank == 0 || !there, key, "compressed attention has none", "false");
  };
  alone(n.attention_gate, "attention_gate"), alone(n.attention_sinks, "attention_sinks");
  alone(n.value_norm, "value_norm"), alone(n.key_is_value, "key_is_value");
  rules.require(a.top_k == 0 || (a.index_heads > 0 && a.index_dim > 0), "compressed_attention/index_heads",
      "keys are picked by an indexer, which has no heads", "index_heads and index_dim");
  for (std::size_t i = 0; i < n.shapes.size(); ++i) {
    const LayerShape& shape = n.shapes[i];
    const std::string key = fmt::format("shapes/{}", i);
    rules.require(a.q_rank == 0 || (shape.heads == 0 && shape.kv_heads == 0 && shape.head_dim == 0), key.c_str(),
        "compressed attention has heads of one size", "heads, kv_heads and head_dim left out");
    rules.require(!shape.all_keys || n.sparse.top_k > 0, key.c_str(), "no indexer picks keys", "no all_keys");
    rules.require(!shape.hashed_experts || n.experts.count > 0, key.c_str(), "there are no experts to hash to",
        "no hashed_experts");
    rules.require(shape.ratio == 0 || a.q_rank > 0, key.c_str(), "only compressed attention has a ratio",
        "\"compressed_attention\"");
    rules.require(!shape.picks || (shape.ratio > 0 && a.top_k > 0), key.c_str(),
        "there are no compressed keys to pick from", "a ratio, and top_k of compressed_attention");
  }
  if (a.q_rank == 0) return;
  rules.require(n.latent.kv_rank == 0 && n.sparse.top_k == 0 && !n.window.positions, "compressed_attention",
      "one form of attention is enough", "neither latent_attention, sparse_attention nor window");
  rules.require(n.kv_heads == 1, "kv_heads", fmt::format("compressed attention has one, not {}", n.kv_heads), "1");
  rules.require(a.o_groups >= 1 && n.heads % a.o_groups == 0, "compressed_attention/o_groups",
      fmt::format("{} groups of {} heads", a.o_groups, n.heads), fmt::format("one of: {}", divisors_of(n.heads)));
  rules.require(!n.linear_bias && !n.qkv_bias && !n.out_bias && !n.qk_norm, "compressed_attention",
      "it has no biases and has norms of its own", "linear_bias, qkv_bias, out_bias and qk_norm false");
  rules.require(n.causal, "causal", "compressed keys are those before a query", "true");
}

/// Queries through a rank that heads share stand with plain keys and values.
void check_query_rank(Rules& rules) {
  const NetworkSpec& n = rules.n;
  rules.require(n.query_rank == 0 || (n.latent.kv_rank == 0 && n.compressed.q_rank == 0 && !n.linear_bias &&
                                         !n.qkv_bias && !n.parallel_block && !looks_at_encoder(n)),
      "query_rank", "queries through a rank stand with plain attention without biases",
      "neither latent_attention, compressed_attention, biases, parallel_block nor x in a word");
}

void check_window(Rules& rules) {
  const NetworkSpec& n = rules.n;
  if (rules.broken() || n.window.positions == 0) return;
  const std::string& pattern = n.window.pattern;
  rules.require(pattern.find_first_not_of("wf") == std::string::npos && pattern.find('w') != std::string::npos,
      "window/pattern", fmt::format("'{:.40}' does not say which layers have the window", pattern),
      "a letter for each layer, repeated over all of them: w = window, f = full attention; \"wwwwwf\"");
  rules.require(static_cast<std::int64_t>(pattern.size()) <= n.layers, "window/pattern",
      fmt::format("{} letters for {} layers", pattern.size(), n.layers), "one for each layer, or fewer, repeated");
}

/// Of layers that take over keys and values: the one layer before that lends them.
void check_borrowed(Rules& rules) {
  const NetworkSpec& n = rules.n;
  for (std::size_t i = 0; i < n.shapes.size() && !rules.broken(); ++i) {
    const LayerShape& shape = n.shapes[i];
    if (shape.keys_of.empty()) continue;
    const std::string key = fmt::format("shapes/{}/keys_of", i);
    const auto lender = std::ranges::find(n.shapes, shape.keys_of, &LayerShape::name);
    const auto at = static_cast<std::size_t>(lender - n.shapes.begin());
    rules.require(at < i && lender->keys_of.empty(), key.c_str(),
        fmt::format("'{:.40}' is no shape before this one that has keys of its own", shape.keys_of), "the name of one");
    rules.require(n.latent.kv_rank == 0 && n.compressed.q_rank == 0 && n.sparse.top_k == 0 && !n.linear_bias &&
                      !n.qkv_bias && n.pattern.size() == static_cast<std::size_t>(n.layers),
        key.c_str(), "keys are lent by plain attention without biases, in a pattern that names every layer",
        "neither latent_attention, compressed_attention, sparse_attention nor biases");
    if (rules.broken()) return;
    const NetworkSpec own = shaped(n, static_cast<std::uint8_t>(i + 1)),
                      other = shaped(n, static_cast<std::uint8_t>(at + 1));
    rules.require(own.heads == other.heads && own.kv_heads == other.kv_heads && own.head_dim == other.head_dim &&
                      own.value_dim == other.value_dim,
        key.c_str(), "its heads are not those of the layer that lends", "heads of one size");
    const auto of = [&](std::size_t s) { return [s](const LayerKind& kind) { return kind.shape == s + 1; }; };
    const auto lends = std::ranges::find_if(n.pattern, of(at)), borrows = std::ranges::find_if(n.pattern, of(i));
    rules.require(std::ranges::count_if(n.pattern, of(at)) == 1 && lends < borrows && lends->attention &&
                      std::ranges::all_of(n.pattern,
                          [&](const LayerKind& kind) {
                            return kind.shape != i + 1 ||
                                   (kind.feed == lends->feed && kind.windowed == lends->windowed &&
                                       kind.mixer == lends->mixer && kind.attention);
                          }),
        key.c_str(), fmt::format("'{:.40}' is not one layer of the same sublayers before these", shape.keys_of),
        "a shape of one layer, in front of those that take over its keys");
  }
}

void check_crossing(Rules& rules) {
  const NetworkSpec& n = rules.n;
  const bool crosses = std::ranges::any_of(n.pattern, &LayerKind::crosses);
  const bool joins = !n.encoders.empty() && n.encoders.front().joins,
             joint = std::ranges::any_of(n.shapes, &LayerShape::joint);
  const bool alone = std::ranges::any_of(n.shapes, &LayerShape::alone);
  rules.require(
      joins || !(joint || alone), "encoder", "layers are made for positions that no encoder gives", "\"joins\": true");
  rules.require(!joins || joint || n.modulation.gains, "shapes",
      "the encoder's positions join the network's, and no layer has weights for them",
      "a shape that is \"joint\", or modulation of \"gains\" alone");
  rules.require(
      !joins || (n.features > 0 && n.modulation.frequencies > 0 && !n.modulation.shared && n.latent.kv_rank == 0 &&
                    n.positions != Positions::learned && n.distances == 0 && !crosses && !n.window.positions),
      "encoder/joins", "positions join in modulated layers of plain attention alone", "x in the words of some layers");
  rules.require(!n.bare_crossing || (crosses && n.modulation.frequencies > 0), "bare_crossing",
      "no modulated layer looks at an encoder", "x in the words of layers, and modulation");
  for (const LayerShape& shape : n.shapes)
    rules.require(!shape.ends || (shape.joint && n.linear_bias && !n.modulation.shared && !n.modulation.common),
        "shapes", "the last layer of two kinds of positions is joint, with biases", "\"joint\": true");
  for (const LayerShape& shape : n.shapes)
    rules.require(!shape.second || (shape.joint && n.linear_bias && !n.modulation.shared && !n.modulation.common),
        "shapes", "a second attention stands in joint layers, with biases", "\"joint\": true");
  for (const LayerShape& shape : n.shapes)
    rules.require(!(shape.joint && shape.parallel) && (!shape.parallel || joins), "shapes",
        "parallel layers stand behind joint ones", "joint or parallel");
  for (const LayerShape& shape : n.shapes)
    rules.require(!(shape.joint || shape.parallel) || !n.modulation.gains, "shapes",
        "gains modulate layers of one sublayer behind the other", "neither joint nor parallel");
  for (const LayerShape& shape : n.shapes)
    rules.require(!shape.alone || !(shape.joint || shape.parallel), "shapes",
        "what the network's positions go through alone is neither joint nor parallel", "alone");
  const bool projects = !n.encoders.empty() && !n.encoders.front().projectors.empty(), fills = projects && !crosses;
  rules.require(
      !projects || !crosses ||
          (rows_behind(n.encoders.front().projectors.front(), 0) == 0 &&
              positions_merged(n.encoders.front().projectors.front()) == 1 && !n.encoders.front().class_token),
      "encoder/projectors", "layers look at each of the encoder's positions", "steps without merge, mean and attend");
  rules.require(!fills || (n.features == 0 && !joins && n.streams == 1), "encoder/projectors",
      "rows of images stand in place of words in one stream", "a network of words, and an encoder that does not join");
  rules.require(crosses == (!n.encoders.empty() && !joins && !fills), crosses ? "encoder" : "pattern",
      crosses ? "layers look at an encoder, which nothing describes" : "no layer looks at the encoder",
      crosses ? "\"encoder\": {\"layers\": ...}" : "x in the words of some layers: \"*x-\"");
  rules.require(std::ranges::none_of(n.mtp_pattern, &LayerKind::crosses), "mtp_pattern",
      "prediction modules look at no encoder", "words without x");
  const bool shares = n.key_is_value || std::ranges::any_of(n.shapes, &LayerShape::key_is_value);
  rules.require(!crosses || (n.latent.kv_rank == 0 && n.compressed.q_rank == 0 && n.streams == 1 &&
                                !n.attention_sinks && !shares && n.value_dim == 0),
      "pattern", "attention over an encoder is plain",
      "neither latent_attention, compressed_attention, attention_sinks, key_is_value, value_dim nor streams");
  rules.require((n.positions == Positions::relative) == (n.distances > 0), "distances",
      fmt::format("{} rows of relative positions", n.distances), "with \"positions\": \"relative\" alone: 32");
  rules.require(n.distances == 0 || (n.latent.kv_rank == 0 && n.compressed.q_rank == 0 && n.sparse.top_k == 0 &&
                                        n.shapes.empty() && !n.attention_sinks),
      "distances", "relative positions stand with plain attention of one shape", "other positions");
  rules.require(n.dropout || !n.no_attention_dropout, "no_attention_dropout", "nothing is dropped",
      "\"dropout\": true beside it, or without it");
  rules.require(n.dropout || !n.no_hidden_dropout, "no_hidden_dropout", "nothing is dropped",
      "\"dropout\": true beside it, or without it");
  rules.require(!n.no_attention_dropout || !n.no_hidden_dropout, "no_hidden_dropout",
      "dropout on neither attention's weights nor the stream is none", "\"dropout\": false");
  rules.require(!n.no_key_bias || n.linear_bias || n.qkv_bias, "no_key_bias", "no projection has a bias",
      "linear_bias or qkv_bias");
}

}  // namespace stepcast::detail
