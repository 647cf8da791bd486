#include "model/network/network_rules.h"

#include <utility>

#include <fmt/format.h>

#include "model/network/rules/rules.h"

namespace stepcast {

Expected<NetworkSpec> complete_network(NetworkSpec spec, const std::string& where) {
  detail::derive_sizes(spec);
  detail::Rules rules(spec, where);
  rules.require(spec.head_dim != 0 || spec.heads < 1, "heads",
      fmt::format("{} heads do not divide hidden {}", spec.heads, spec.hidden),
      "give head_dim, or a divisor of hidden");
  detail::check_sizes(rules);
  detail::check_total(rules);
  detail::check_attention(rules);
  detail::check_latent(rules);
  detail::check_sparse(rules);
  detail::check_compressed(rules);
  detail::check_streams(rules);
  detail::check_experts(rules);
  detail::check_window(rules);
  detail::check_query_rank(rules);
  detail::check_pattern(rules);
  detail::check_norms(rules);
  detail::check_borrowed(rules);
  detail::check_inputs(rules);
  detail::check_crossing(rules);
  detail::check_features(rules);
  detail::check_modulation(rules);
  if (rules.broken()) return tl::unexpected(*rules.first());
  for (NetworkSpec& encoder : spec.encoders) {
    TRY(auto completed, detail::complete_encoder(std::move(encoder), spec, where));
    encoder = std::move(completed);
  }
  return spec;
}

}  // namespace stepcast
