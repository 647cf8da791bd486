// Prices of moves: inside a node the measured curve of that rank count, across nodes the slower of the curve and of the
// ports that the group's members share, plus the latency of the outermost tier.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "model/profile/collective_law.h"
#include "sim/cost.h"

namespace stepcast::sim {

namespace {

const char* port_law(FabricKind fabric) {
  static constexpr const char* names[] = {
      "ports nvswitch", "ports nvlink mesh", "ports pcie", "ports infiniband", "ports ethernet"};
  return names[static_cast<int>(fabric)];
}

CollectiveKind collective_kind(MoveKind kind) {
  switch (kind) {
    case MoveKind::all_gather: return CollectiveKind::all_gather;
    case MoveKind::reduce_scatter: return CollectiveKind::reduce_scatter;
    case MoveKind::all_reduce: return CollectiveKind::all_reduce;
    case MoveKind::all_to_all: return CollectiveKind::all_to_all;
    default: return CollectiveKind::send_recv;
  }
}

/// Which measured steps speak of this move.
StepParameter parameter_of(const Move& move) {
  if (move.cargo == Cargo::gradient || move.cargo == Cargo::weight) return StepParameter::gradient_moves;
  return move.kind == MoveKind::all_to_all ? StepParameter::expert_moves : StepParameter::activation_moves;
}

/// Logarithm of the ways to take so many; there are none of more than all.
double log_ways(double all, double take) {
  if (take > all) return -std::numeric_limits<double>::infinity();
  return std::lgamma(all + 1) - std::lgamma(take + 1) - std::lgamma(all - take + 1);
}

/// Probability that `take` out of `all`, without repetition, hit `hit` of the `marked` ones: hypergeometric.
double drawn(double all, double marked, double take, double hit) {
  if (hit > take) return 0;
  return std::exp(log_ways(marked, hit) + log_ways(all - marked, take - hit) - log_ways(all, take));
}

Price price_of(const CollectiveTime& time, int tier) {
  return {time.time, time.source, time.spread, time.law, time.extrapolated, tier};
}

}  // namespace

Price CostModel::inside_node(CollectiveKind kind, std::int64_t ranks, Bytes received) const {
  if (ranks <= 1) return {};
  return price_of(collective_time(*machine_, *profile_, kind, received, GroupPlacement{.ranks = ranks}), 0);
}

Price CostModel::collective(CollectiveKind kind, Bytes received, const Group& group, const Span& span) const {
  if (span.level == 0) return inside_node(kind, span.inside, received);
  std::array<std::int64_t, 64> below{};  // levels grow by factors of 2 at least
  const auto levels = static_cast<std::size_t>(span.level);
  assert(levels <= below.size());
  for (std::size_t i = 0; i < levels; ++i) below[i] = members_inside(group, machine_->levels[i].gpus, ranks_);
  below[0] = span.inside;
  const GroupPlacement placement{group.size, span.nodes, 0, {below.data(), levels}};
  return price_of(collective_time(*machine_, *profile_, kind, received, placement), span.level);
}

// `steps` transfers one after the other; in each every member sends to the next. Where a neighbour is on another node,
// one member of a node sends for its group, so that `inside` ranks' shares of the ports serve it, one port at most.
Price CostModel::ring(const Move& move, const Group& group, const Span& span) const {
  const int steps = std::max(1, move.steps);
  const Bytes part = move.received / steps;
  Price price = inside_node(CollectiveKind::send_recv, span.inside > 1 ? 2 : 1, part);
  price.tier = span.level;
  if (span.level > 0) {
    const Level& level = machine_->levels[span.level];
    const ScaleOutLaw law = scale_out_law(*profile_, level);
    const auto below = static_cast<double>(members_inside(group, machine_->levels[span.level - 1].gpus, ranks_));
    BytesPerSecond rate = below * rate_per_gpu(law, level);
    if (level.port_bandwidth.value() > 0) rate = std::min(rate, level.port_bandwidth);
    const Seconds time = law.base + part / (rate * law.efficiency);
    if (time > price.time) price = {time, law.source, law.spread, port_law(level.fabric), false, span.level};
  }
  price.time = price.time * steps;
  return price;
}

// Software with user buffers cuts a gather or scatter of activations and the product beside it into pieces that overlap
// (TransformerEngine, user buffers). The first piece has nothing to hide behind; the others slow the product as any
// collective beside it does.
double CostModel::shown_of(const Move& move, const Span& span) const {
  const bool cut = stack_->activation_pieces > 1 && stack_->activation_moves == Manners::overlapped;
  const bool gathers = move.kind == MoveKind::all_gather || move.kind == MoveKind::reduce_scatter;
  if (!cut || !gathers || move.cargo != Cargo::activation || span.level > 0 || move.again) return 1;
  const double first = 1.0 / stack_->activation_pieces, slow = tuning_[StepParameter::contention];
  return first + (1 - first) * slow / (1 + slow);
}

// A token that several experts of one destination take travels once. Choices without repetition out of experts spread
// evenly: a destination holding 1/parts of them is missed by all with the product's probability. Between nodes the
// destination is a node, whose ranks pass tokens on among themselves (DeepEP, HybridEP). Where the choices come out of
// some groups, a destination has whole groups or a part of one, and so many of them are among those with the
// probability of drawing without repetition.
double CostModel::distinct_share(const Move& move, const Span& span, std::int64_t ranks) const {
  if (move.experts <= 0 || stack_->expert_dispatch == Dispatch::rows) return 1;
  const double parts = static_cast<double>(span.level > 0 ? span.nodes : ranks);
  const double inside = std::max(1.0, std::round(move.groups / parts));
  const double pool = move.experts * move.top_groups / move.groups, held = move.experts / std::max(parts, move.groups);
  double missed = 0;
  for (double hit = 0; hit <= std::min(inside, move.top_groups); ++hit)
    missed += drawn(move.groups, inside, move.top_groups, hit) * drawn(pool, hit * held, move.choices, 0);
  return std::min(1.0, (1 - missed) * parts / move.choices);
}

// Transformer Engine casts an input or a gradient before its gather, so that what crosses has the width of the product
// that reads it (pytorch/distributed.py gather_along_first_dim of a Float8Tensor; user buffers hold Float8 too).
// Block-scaled types, which need both layouts, are taken to cross wide. Reduce-scatters carry the wide output of a
// product, and so does the gather of the LM head. DeepSeek-V3 sends rows to the experts' products in fp8 with an fp32
// scale per 128 numbers, forward and for gradients, and returns results in bf16 (arXiv 2412.19437, section 3.3.3).
double CostModel::cast_share(const Move& move) const {
  if (!move.for_product || precision_ != Precision::fp8 || move.element_bytes != 2) return 1;
  if (move.kind == MoveKind::all_gather && move.cargo == Cargo::activation && stack_->gathers_cast) return 0.5;
  return move.experts > 0 && stack_->dispatch_cast ? (1 + 4.0 / 128) / 2 : 1;
}

Price CostModel::move(const Move& move, const Group& group) const {
  const bool local = move.kind == MoveKind::slice || move.kind == MoveKind::mask || group.size <= 1;
  if (local) return {Seconds(0), Source::measured, {}, "local", false, 0};
  const Span span = span_of(group, *machine_, ranks_);
  if (move.kind == MoveKind::ring) return ring(move, group, span);
  // Separate calls of one bucket run one after the other, each with its share of the bytes.
  const double share = cast_share(move) * distinct_share(move, span, group.size) / move.launches;
  Price price = collective(collective_kind(move.kind), move.received * share, group, span);
  price.time = price.time * move.launches * move.max_rank_factor * shown_of(move, span) * tuning_[parameter_of(move)];
  return price;
}

Price CostModel::send_at(int tier, Bytes bytes) const {
  const double factor = tuning_[StepParameter::stage_sends];
  if (tier == 0) {
    Price price = inside_node(CollectiveKind::send_recv, 2, bytes);
    price.time = price.time * factor;
    return price;
  }
  const Level& level = machine_->levels[tier];
  const ScaleOutLaw law = scale_out_law(*profile_, level);
  const Seconds time = factor * (law.base + bytes / (rate_per_gpu(law, level) * law.efficiency));
  return {time, law.source, law.spread, port_law(level.fabric), false, tier};
}

Price CostModel::send(Bytes bytes, std::int64_t distance) const { return send(bytes, 0, distance); }

Price CostModel::send(Bytes bytes, std::int64_t from, std::int64_t to) const {
  if (from == to) return {Seconds(0), Source::measured, {}, "local", false, 0};
  const std::vector<Level>& levels = machine_->levels;
  int tier = 0;
  while (tier + 1 < static_cast<int>(levels.size()) && from / levels[tier].gpus != to / levels[tier].gpus) ++tier;
  return send_at(tier, bytes);
}

}  // namespace stepcast::sim
