// Prices of moves: inside a node the measured curve of that rank count, across nodes the slower of the curve and of the
// ports that the group's members share, plus the latency of the outermost tier.
#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/cost.h"

namespace stepcast {

namespace {

// Where nothing was measured on a fabric: NCCL reaches about three quarters of a node's link rate (A100 235 of 300
// GB/s, H100 350 of 450), and 20 us per call.
constexpr double link_share = 0.75;
constexpr Seconds call{20e-6};
constexpr Spread guess{0.7, 1.6};

// Across nodes without a fitted law: 0.9 of the port, 25 us + 12 us per doubling of nodes, which reproduces the
// traffic of groups across nodes in published A100 runs (VIA-Research/vTrain and bigscience-workshop/bigscience).
constexpr double port_share = 0.9;
constexpr Seconds across_base{25e-6}, across_doubling{12e-6};

constexpr int fabrics = 5, kinds = 5;
const char* curve_law(FabricKind fabric, CollectiveKind kind) {
  static constexpr const char* names[fabrics][kinds] = {
      {"curve nvswitch all_gather", "curve nvswitch reduce_scatter", "curve nvswitch all_reduce",
       "curve nvswitch all_to_all", "curve nvswitch send_recv"},
      {"curve nvlink mesh all_gather", "curve nvlink mesh reduce_scatter", "curve nvlink mesh all_reduce",
       "curve nvlink mesh all_to_all", "curve nvlink mesh send_recv"},
      {"curve pcie all_gather", "curve pcie reduce_scatter", "curve pcie all_reduce", "curve pcie all_to_all",
       "curve pcie send_recv"},
      {"curve infiniband all_gather", "curve infiniband reduce_scatter", "curve infiniband all_reduce",
       "curve infiniband all_to_all", "curve infiniband send_recv"},
      {"curve ethernet all_gather", "curve ethernet reduce_scatter", "curve ethernet all_reduce",
       "curve ethernet all_to_all", "curve ethernet send_recv"}};
  return names[static_cast<int>(fabric)][static_cast<int>(kind)];
}

const char* port_law(FabricKind fabric) {
  static constexpr const char* names[fabrics] = {"ports nvswitch", "ports nvlink mesh", "ports pcie",
                                                 "ports infiniband", "ports ethernet"};
  return names[static_cast<int>(fabric)];
}

CollectiveKind collective_kind(MoveKind kind) {
  switch (kind) {
    case MoveKind::all_gather:
      return CollectiveKind::all_gather;
    case MoveKind::reduce_scatter:
      return CollectiveKind::reduce_scatter;
    case MoveKind::all_reduce:
      return CollectiveKind::all_reduce;
    case MoveKind::all_to_all:
      return CollectiveKind::all_to_all;
    default:
      return CollectiveKind::send_recv;
  }
}

ScaleOutLaw law_for(const Profile& profile, FabricKind fabric) {
  if (const ScaleOutLaw* law = find_scale_out(profile, fabric)) return *law;
  ScaleOutLaw law;
  law.fabric = fabric;
  law.efficiency = port_share;
  law.base = across_base;
  law.per_doubling = across_doubling;
  law.source = Source::assumed;
  law.spread = guess;
  return law;
}

// Of what one rank receives, the share that comes from outside an instance with `inside` of the `size` members. A ring
// enters an instance once per turn, so that its members' ports together carry what one rank receives; an exchange
// brings each rank its own rows through its own port.
double through_own_port(CollectiveKind kind, double size, double inside) {
  if (kind == CollectiveKind::all_to_all) return (size - inside) / (size - 1);
  return 1 / inside;
}

// Of what one rank receives, the share that stays on the fabric inside the node.
double kept_inside(CollectiveKind kind, double size, double inside) {
  return kind == CollectiveKind::all_to_all ? (inside - 1) / (size - 1) : 1;
}

}  // namespace

Price CostModel::inside_node(CollectiveKind kind, std::int64_t ranks, Bytes received) const {
  const Level& level = machine_->levels.front();
  if (ranks <= 1) return {};
  if (const auto rated = collective_time(*profile_, kind, level.fabric, static_cast<int>(ranks), received)) {
    const bool beyond =
        rated->curve && rated->curve->points.size() >= 2 && rated->curve->points.back().received < received;
    return {rated->time, rated->source, rated->spread, curve_law(level.fabric, kind), beyond, 0};
  }
  const Seconds time = call + received / (link_share * level.bandwidth_per_gpu);
  return {time, Source::datasheet, guess, curve_law(level.fabric, kind), false, 0};
}

Price CostModel::collective(CollectiveKind kind, Bytes received, const Group& group, const Span& span) const {
  const double size = static_cast<double>(group.size);
  Price price = inside_node(kind, span.inside, received * kept_inside(kind, size, static_cast<double>(span.inside)));
  price.tier = span.level;
  if (span.level == 0) return price;
  // Each tier that the group crosses carries its share at the same time; the slowest decides, the outermost adds
  // latency.
  Seconds latency;
  for (int i = 1; i <= span.level; ++i) {
    const Level& level = machine_->levels[i];
    const ScaleOutLaw law = law_for(*profile_, level.fabric);
    const auto below = static_cast<double>(members_inside(group, machine_->levels[i - 1].gpus, ranks_));
    latency = scale_out_time(law, Bytes(0), span.nodes, 1, level.bandwidth_per_gpu);
    const Seconds time = received * through_own_port(kind, size, below) / (level.bandwidth_per_gpu * law.efficiency);
    // The answer leans on every law that it was chosen from: the most doubtful names its source, the widest its spread.
    price.source = span.inside > 1 || i > 1 ? std::max(price.source, law.source) : law.source;
    price.spread = {std::min(price.spread.p10, law.spread.p10), std::max(price.spread.p90, law.spread.p90)};
    if (time < price.time) continue;
    price.time = time;
    price.law = port_law(level.fabric);
    price.extrapolated = false;
  }
  price.time += latency;
  return price;
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
    const ScaleOutLaw law = law_for(*profile_, level.fabric);
    const auto below = static_cast<double>(members_inside(group, machine_->levels[span.level - 1].gpus, ranks_));
    BytesPerSecond rate = below * level.bandwidth_per_gpu;
    if (level.port_bandwidth.value() > 0) rate = std::min(rate, level.port_bandwidth);
    const Seconds time = law.base + part / (rate * law.efficiency);
    if (time > price.time) price = {time, law.source, law.spread, port_law(level.fabric), false, span.level};
  }
  price.time = price.time * steps;
  return price;
}

// Software with user buffers cuts a gather or scatter of activations and the product beside it into pieces that overlap
// (TransformerEngine, user buffers). The first piece has nothing to
// hide behind; the others slow the product as any collective beside it does.
double CostModel::shown_of(const Move& move, const Span& span) const {
  const bool cut = stack_->activation_pieces > 1 && stack_->activation_moves == Manners::overlapped;
  const bool gathers = move.kind == MoveKind::all_gather || move.kind == MoveKind::reduce_scatter;
  if (!cut || !gathers || move.cargo != Cargo::activation || span.level > 0 || move.again) return 1;
  const double first = 1.0 / stack_->activation_pieces, slow = profile_->overlap.compute_slowdown;
  return first + (1 - first) * slow / (1 + slow);
}

Price CostModel::move(const Move& move, const Group& group) const {
  const bool local = move.kind == MoveKind::slice || move.kind == MoveKind::mask || group.size <= 1;
  if (local) return {Seconds(0), Source::measured, {}, "local", false, 0};
  const Span span = span_of(group, *machine_, ranks_);
  if (move.kind == MoveKind::ring) return ring(move, group, span);
  // Separate calls of one bucket run one after the other, each with its share of the bytes.
  Price price = collective(collective_kind(move.kind), move.received / move.launches, group, span);
  price.time = price.time * move.launches * move.max_rank_factor * shown_of(move, span);
  return price;
}

Price CostModel::send_at(int tier, Bytes bytes) const {
  if (tier == 0) return inside_node(CollectiveKind::send_recv, 2, bytes);
  const Level& level = machine_->levels[tier];
  const ScaleOutLaw law = law_for(*profile_, level.fabric);
  const Seconds time = law.base + bytes / (level.bandwidth_per_gpu * law.efficiency);
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

}  // namespace stepcast
