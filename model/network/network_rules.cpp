#include "model/network/network_rules.h"

#include <optional>

#include <fmt/format.h>

namespace stepcast {
namespace {

/// The first broken rule. Later ones may rest on it and are not looked at.
class Rules {
 public:
  Rules(const NetworkSpec& spec, const std::string& where) : n(spec), where_(where) {}

  void require(bool holds, const char* key, const std::string& what, const std::string& hint) {
    if (!holds && !broken_) broken_ = Error{fmt::format("{}:/{}", where_, key), what, hint};
  }
  void at_least_one(const char* key, std::int64_t value) {
    require(value >= 1, key, fmt::format("{} is {}", key, value), "a whole number of at least 1");
  }
  [[nodiscard]] bool broken() const { return broken_.has_value(); }
  [[nodiscard]] const std::optional<Error>& first() const { return broken_; }

  const NetworkSpec& n;

 private:
  const std::string& where_;
  std::optional<Error> broken_;
};

std::string divisors_of(std::int64_t n) {
  std::string list;
  for (std::int64_t d = 1; d <= n && list.size() < 80; ++d)
    if (n % d == 0) list += fmt::format("{}{}", list.empty() ? "" : ", ", d);
  return list;
}

void check_sizes(Rules& rules) {
  const NetworkSpec& n = rules.n;
  rules.at_least_one("layers", n.layers);
  rules.at_least_one("hidden", n.hidden);
  rules.at_least_one("ffn_hidden", n.ffn_hidden);
  rules.at_least_one("heads", n.heads);
  rules.at_least_one("kv_heads", n.kv_heads);
  rules.at_least_one("head_dim", n.head_dim);
  rules.at_least_one("vocab", n.vocab);
  rules.at_least_one("sequence", n.sequence);
  rules.require(n.mtp_layers >= 0, "mtp_layers", "a negative number of prediction modules", "0 or more");
}

/// Within 64 bits with room to spare, so that later counts need not look: a hundred thousand times the largest of
/// today.
void check_total(Rules& rules) {
  if (rules.broken()) return;
  const NetworkSpec& n = rules.n;
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const LatentAttention& a = n.latent;
  const double inner = number(n.heads) * number(n.head_dim + a.nope_dim + a.rope_dim + a.value_dim);
  const double attention = (number(n.hidden) + inner) * (4 * inner + number(a.q_rank) + number(a.kv_rank));
  const double widths = number(n.ffn_hidden) + number(n.experts.shared_ffn_hidden) +
                        number(n.experts.count) * number(n.experts.ffn_hidden + 1);
  const double tables = (2 * number(n.vocab) + number(n.max_positions)) * number(n.hidden);
  const double total = number(n.layers + n.mtp_layers) * (attention + 3 * number(n.hidden) * widths) + tables;
  rules.require(total < 1e17, "layers", fmt::format("some {:.0e} parameters in all", total), "fewer than 1e17");
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
  rules.require(n.positions != Positions::learned || n.max_positions >= n.sequence, "max_positions",
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
  rules.require(n.positions == Positions::rope, "positions", "latent attention turns a part of each key",
      "\"rope\" with latent_attention");
  rules.require(n.kv_heads == n.heads, "kv_heads",
      fmt::format(
          "latent attention gives every head its own keys: {} key-value heads for {} heads", n.kv_heads, n.heads),
      "leave kv_heads out");
  rules.require(n.head_dim == a.nope_dim + a.rope_dim, "head_dim",
      fmt::format("{} is not nope_dim {} + rope_dim {}", n.head_dim, a.nope_dim, a.rope_dim), "leave head_dim out");
  rules.require(!n.linear_bias && !n.qkv_bias && !n.out_bias && !n.qk_norm, "latent_attention",
      "latent attention has no biases and has norms of its own", "linear_bias, qkv_bias, out_bias and qk_norm false");
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
  rules.require(behind % e.every == 0, "experts/every",
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

void check_norms(Rules& rules) {
  const NetworkSpec& n = rules.n;
  rules.require(n.norms_per_layer == 1 || n.norms_per_layer == 2, "norms_per_layer",
      fmt::format("{} norms in a layer", n.norms_per_layer), "1 or 2");
  rules.require(n.norms_per_layer == 2 || n.parallel_block, "norms_per_layer",
      "attention and MLP share a norm only side by side", "2, or \"parallel_block\": true");
}

void derive_sizes(NetworkSpec& n) {
  if (n.kv_heads == 0) n.kv_heads = n.heads;
  if (n.ffn_hidden == 0 && n.experts.dense_layers == 0 && n.experts.every == 1) n.ffn_hidden = n.experts.ffn_hidden;
  if (n.head_dim != 0) return;
  if (n.latent.kv_rank > 0) n.head_dim = n.latent.nope_dim + n.latent.rope_dim;
  else if (n.heads > 0 && n.hidden % n.heads == 0) n.head_dim = n.hidden / n.heads;
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
  check_attention(rules);
  check_latent(rules);
  check_experts(rules);
  check_window(rules);
  check_norms(rules);
  if (rules.broken()) return tl::unexpected(*rules.first());
  return spec;
}

}  // namespace stepcast
