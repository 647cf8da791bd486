// Sizes: what every network states, what follows from the rest, and how large all may be together.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/rules/rules.h"

namespace stepcast::detail {

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

void derive_sizes(NetworkSpec& n) {
  if (!has_attention(n) && n.heads == 0) n.heads = n.head_dim = 1;  // nothing reads them
  if (n.kv_heads == 0) n.kv_heads = n.heads;
  if (n.ffn_hidden == 0 && !has_plain_mlp(n)) n.ffn_hidden = std::max<std::int64_t>(1, n.experts.ffn_hidden);
  if (n.ffn_hidden == 0 && n.experts.dense_layers == 0 && n.experts.every == 1) n.ffn_hidden = n.experts.ffn_hidden;
  if (n.head_dim != 0) return;
  if (n.latent.kv_rank > 0) n.head_dim = n.latent.nope_dim + n.latent.rope_dim;
  else if (n.heads > 0 && n.hidden % n.heads == 0) n.head_dim = n.hidden / n.heads;
}

}  // namespace stepcast::detail
