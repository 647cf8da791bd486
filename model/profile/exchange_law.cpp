#include "model/profile/exchange_law.h"

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {

bool spans_nodes(const ExchangeQuery& query) { return query.node_ranks > 0 && query.node_ranks < query.ranks; }

/// How far the ranks lie from those of the law, as a factor; 1 inside.
double ranks_away(const EngineExchange& law, std::int64_t ranks) {
  const auto of = static_cast<double>(ranks);
  return std::max({1.0, static_cast<double>(law.ranks) / of, of / static_cast<double>(law.most_ranks)});
}

bool is_better(const EngineExchange& law, const EngineExchange& than, std::string_view software, std::int64_t ranks) {
  const bool own = law.software.starts_with(software), others = than.software.starts_with(software);
  if (own != others) return own;
  return ranks_away(law, ranks) < ranks_away(than, ranks);
}

/// Thread blocks that walk the tokens: an equal number of experts to each.
double blocks_of(const EngineExchange& law, double experts) {
  if (law.most_blocks == 0) return 1;
  return std::ceil(experts / std::ceil(experts / law.most_blocks));
}

}  // namespace

const EngineExchange* find_exchange(
    const Profile& profile, std::string_view software, ExchangeKernel kernel, const ExchangeQuery& query) {
  const EngineExchange* best = nullptr;
  for (const EngineExchange& law : profile.engine_exchanges) {
    if (law.kernel != kernel || law.direction != query.direction || (law.node_ranks > 0) != spans_nodes(query))
      continue;
    if (best == nullptr || is_better(law, *best, software, query.ranks)) best = &law;
  }
  return best;
}

Bytes sent_bytes(const EngineExchange& law, const ExchangeQuery& query) {
  if (law.rate.value() <= 0) return Bytes(0);
  const auto ranks = static_cast<double>(query.ranks);
  const double near = law.node_ranks > 0 ? static_cast<double>(query.node_ranks) : 1;
  // A rank has none of k even choices with a probability of (1 - 1/ranks)^k.
  const double copies = law.once_per_rank ? (ranks - near) * (1 - std::pow(1 - 1 / ranks, query.choices))
                                          : query.choices * (ranks - near) / ranks;
  return Bytes(query.tokens * copies * query.hidden * query.element_bytes);
}

RatedTime exchange_time(const EngineExchange& law, const ExchangeQuery& query) {
  const Seconds start =
      law.start + law.per_expert * query.experts + law.per_row_byte * (query.hidden * query.element_bytes);
  const double walk = (law.per_token * query.tokens).value() / blocks_of(law, query.experts),
               wire = law.rate.value() > 0 ? (sent_bytes(law, query) / law.rate).value() : 0;
  const double both = law.softness == 1
                          ? walk + wire
                          : std::pow(std::pow(walk, law.softness) + std::pow(wire, law.softness), 1 / law.softness);
  RatedTime out{start + Seconds(both), law.source, law.spread};
  const double away = ranks_away(law, query.ranks);
  if (away > 1) {
    if (out.source < Source::transferred) out.source = Source::transferred;
    out.spread = transferred_spread(out.spread);
  }
  out.extrapolated = query.tokens > law.most_tokens || away > 1;
  return out;
}

}  // namespace stepcast
