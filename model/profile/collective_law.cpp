#include "model/profile/collective_law.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "model/profile/profile_names.h"

namespace stepcast {
namespace {

constexpr std::size_t fabric_count = std::size(fabric_names), kind_count = std::size(collective_names);

/// "curve nvlink mesh all_gather", "ports infiniband", ...: static text, for prices that millions of moves carry.
struct LawNames {
  std::array<std::array<std::string, kind_count>, fabric_count> curves, across;
  std::array<std::string, fabric_count> ports;
  LawNames() {
    for (const auto& [fabric_name, fabric] : fabric_names) {
      std::string words = fabric_name;
      std::replace(words.begin(), words.end(), '_', ' ');
      const auto f = static_cast<std::size_t>(fabric);
      ports[f] = "ports " + words;
      for (const auto& [kind_name, kind] : collective_names) {
        const auto k = static_cast<std::size_t>(kind);
        curves[f][k] = fmt::format("curve {} {}", words, kind_name);
        across[f][k] = fmt::format("curve across nodes, {} {}", words, kind_name);
      }
    }
  }
};
const LawNames& names() {
  static const LawNames table;
  return table;
}

constexpr Spread guess{0.7, 1.6};
/// A doubling of nodes away, the rule of over_nodes() is off by 2 to 9 % on ring-like tables of 4 to 128 nodes and by 3
/// to 18 % on exchanges (ratio tables of aliyun/SimAI); twice the mean either way.
constexpr double widening_per_doubling = 1.12;

/// The part of a curve's time that does not depend on the size. Tables that begin small show it.
Seconds floor_of(const CollectiveCurve& curve) {
  constexpr Bytes small(65536);
  if (!curve.points.empty() && curve.points.front().received <= small) return curve.points.front().time;
  return curve.latency;
}

CollectiveBound bound_of(Seconds time, Seconds latency) {
  return time < latency * 2 ? CollectiveBound::latency : CollectiveBound::bandwidth;
}

/// Where each GPU has one link to each other, a group of few has the links between them alone: a curve of more ranks
/// carries so many times as much.
double missing_links(const Level& level, const CollectiveCurve& curve, std::int64_t ranks) {
  const bool joined = level.fabric == FabricKind::nvlink_mesh && level.ports + 1 == level.gpus;
  if (!joined || curve.ranks <= ranks) return 1;
  return static_cast<double>(curve.ranks - 1) / static_cast<double>(ranks - 1);
}

CollectiveTime inside_node(
    const Machine& machine, const Profile& profile, CollectiveKind kind, std::int64_t ranks, Bytes received) {
  if (ranks <= 1) return {Seconds(0), {}, CollectiveBound::latency, Source::measured, false, "local", nullptr};
  const Level& level = machine.levels.front();
  const auto f = static_cast<std::size_t>(level.fabric), k = static_cast<std::size_t>(kind);
  if (const auto rated = collective_time(profile, kind, level.fabric, static_cast<int>(ranks), received)) {
    const CollectiveBound bound =
        rated->curve ? bound_of(rated->time, floor_of(*rated->curve)) : CollectiveBound::latency;
    Seconds time = rated->time;
    const double share = rated->curve != nullptr ? missing_links(level, *rated->curve, ranks) : 1;
    if (share > 1) {
      const auto least = collective_time(profile, kind, level.fabric, static_cast<int>(ranks), Bytes(1));
      const Seconds floor = least ? std::min(time, least->time) : Seconds(0);
      time = floor + (time - floor) * share;
    }
    return {time, rated->spread, bound, rated->source, rated->extrapolated, names().curves[f][k].c_str(), rated->curve};
  }
  const NcclChoice choice = nccl_choice(nccl_links(machine), {kind, ranks, 1, received / received_share(kind, ranks)});
  return {choice.time, guess, bound_of(choice.time, choice.latency), Source::datasheet, false, "NCCL tuning model",
      nullptr};
}

/// Of what one rank receives, the share that comes from outside an instance with `inside` of the `size` members. A ring
/// enters an instance once per turn, so that its members' ports together carry what one rank receives; an exchange
/// brings each rank its own rows through its own port.
double through_own_port(CollectiveKind kind, double size, double inside) {
  return kind == CollectiveKind::all_to_all ? (size - inside) / (size - 1) : 1 / inside;
}

/// Of what one rank receives, the share that stays on the fabric inside the node.
double kept_inside(CollectiveKind kind, double size, double inside) {
  return kind == CollectiveKind::all_to_all ? (inside - 1) / (size - 1) : 1;
}

bool shares_adapters(const Machine& machine, std::size_t tier) {
  const Level& level = machine.levels[tier];
  return tier == 1 && level.ports > 0 && level.ports < machine.levels.front().gpus;
}

/// Bandwidth with which one group's ring enters an instance that holds `inside` of its members. Where GPUs share ports,
/// rings of 2 or 4 ranks per node run as if all groups side by side on a node entered by one and the same port; those
/// of 1 rank per node, and those that fill the node, have all ports (inferred from VIA-Research/vTrain f8dda847,
/// data/ground_truth_multi.csv, 4 HCAs for 8 GPUs: DP 16 and 32 beside TP 2, 4 and 8; TP 16). NCCL searches the paths
/// of every communicator by itself (NVIDIA/nccl issue 412), so that those that lie alike find the same ones.
BytesPerSecond entry_rate(const Machine& machine, std::size_t tier, CollectiveKind kind, std::int64_t inside) {
  const Level& level = machine.levels[tier];
  const std::int64_t gpus = machine.levels[tier - 1].gpus;
  const bool shared = shares_adapters(machine, tier) && level.fabric == FabricKind::infiniband;
  if (kind == CollectiveKind::all_to_all || !shared || inside <= 1 || inside >= gpus)
    return level.bandwidth_per_gpu * static_cast<double>(inside);
  return level.port_bandwidth * (static_cast<double>(inside) / static_cast<double>(gpus));
}

/// What NCCL's trees gain on two nodes, where each byte crosses the adapters once and a ring's twice: they run at this
/// share of the rate inside a node, fitted with the rdma law of rate_law.cpp. Tables and steps show them where each GPU
/// has an adapter or the switches reduce (A100 with 8, H100, B200); where GPUs share adapters they show rings (p4d,
/// DGX-1 and vTrain's A100, each with 4 for 8 GPUs).
constexpr double tree_share = 0.9;

/// The ramp of the adapters slows a node's links too where these are up to so much slower, for then both work at once
/// (NVLS of H100: links of 450 GB/s for adapters of 400). Chosen by hand: PCIe nodes are slower by more.
constexpr double keeping_pace = 2;

/// Of a ring over all ranks in the LL128 protocol: base 14 us, 1.9 us per hop on NVLink and 4 us between nodes
/// (NVIDIA/nccl v2.28.9-1 src/graph/tuning.cc).
Seconds ring_latency(std::int64_t ranks, std::int64_t nodes) {
  return Seconds(1e-6 * (14 + 1.9 * static_cast<double>(ranks - nodes) + 4.0 * static_cast<double>(nodes - 1)));
}

bool reduces_by_trees(const Machine& machine, CollectiveKind kind, const GroupPlacement& placement) {
  if (kind != CollectiveKind::all_reduce || placement.nodes != 2 || placement.below.front() <= 1) return false;
  return machine.levels.front().in_network_reduction || !shares_adapters(machine, 1);
}

/// Every rank sends to the next at the same time: one hop, however many nodes there are.
std::int64_t nodes_passed(CollectiveKind kind, std::int64_t nodes) {
  return kind == CollectiveKind::send_recv ? 2 : nodes;
}

/// Each tier that the group crosses carries its share at the same time; the slowest decides, the outermost adds
/// latency and the ramp of its ports.
CollectiveTime through_ports(const Machine& machine, const Profile& profile, CollectiveKind kind, Bytes received,
    const GroupPlacement& placement) {
  const auto size = static_cast<double>(placement.ranks);
  const std::int64_t inside = placement.below.front();
  const Bytes buffer = received / received_share(kind, placement.ranks);
  const double kept = kept_inside(kind, size, static_cast<double>(inside));
  const auto inside_time = [&](Bytes bytes) { return inside_node(machine, profile, kind, inside, bytes).time; };
  CollectiveTime out = inside_node(machine, profile, kind, inside, received * kept);
  const Seconds floor = std::min(out.time, inside_time(Bytes(1)));
  const Seconds within = out.time - floor;
  // The ramp was fitted on tables from 1 MiB up, mostly of 8 ranks on a node, as a factor of the slower side. What a
  // smaller buffer takes inside the node is latency for the most part, which no ramp multiplies: there the share of the
  // rate falls with the buffer.
  const Bytes smallest(double{1 << 20} * std::max(1.0, static_cast<double>(placement.below.back()) / 8));
  const double part = std::min(1.0, buffer / smallest);
  const Seconds at_rate =
      part > 0 && part < 1 ? std::min(within, (inside_time(received * (kept / part)) - floor) * part) : within;
  const bool trees = reduces_by_trees(machine, kind, placement);
  Seconds slowest = within, latency;
  double hops = 0;
  for (std::size_t i = 1; i <= placement.below.size(); ++i) {
    const Level& level = machine.levels[i];
    const ScaleOutLaw law = scale_out_law(profile, level);
    latency = scale_out_time(law, Bytes(0), nodes_passed(kind, placement.nodes), 1, level.bandwidth_per_gpu);
    const auto below = static_cast<double>(placement.below[i - 1]);
    const BytesPerSecond ports = entry_rate(machine, i, kind, placement.below[i - 1]) / below;
    // A cap is that of one connection; an exchange has one to every other instance.
    const double connections = kind == CollectiveKind::all_to_all ? static_cast<double>(placement.nodes - 1) : 1;
    const BytesPerSecond rate = law.cap.value() > 0 ? std::min(ports, law.cap * connections) : ports;
    Seconds ports_time = received * through_own_port(kind, size, below) / (rate * law.efficiency);
    if (trees)
      ports_time = std::min(ports_time, std::max(at_rate / tree_share, buffer / (rate * (below * law.efficiency))));
    const Seconds paced = std::max(ports_time, std::min(at_rate, ports_time * keeping_pace));
    const Seconds time = std::max(within, paced * ramp_of(law, buffer / below));
    hops = law.ring_hops;
    // The answer leans on every law that it was chosen from: the most doubtful names its source, the widest its spread.
    out.source = inside > 1 || i > 1 ? std::max(out.source, law.source) : law.source;
    out.spread = {std::min(out.spread.p10, law.spread.p10), std::max(out.spread.p90, law.spread.p90)};
    const bool decides = ports_time >= at_rate && time >= slowest;
    slowest = std::max(slowest, time);
    if (!decides) continue;
    out.law = names().ports[static_cast<std::size_t>(level.fabric)].c_str();
    out.extrapolated = false;
    out.curve = nullptr;
  }
  // Gathers and scatters pass every rank in turn.
  if (kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter)
    latency = std::max(latency, hops * ring_latency(placement.ranks, placement.nodes));
  latency += floor;
  out.time = latency + slowest;
  out.bound = bound_of(out.time, latency);
  return out;
}

/// On two nodes NCCL's trees send each byte over the NICs once, so that all_reduce runs above the ports' rate and says
/// nothing about more nodes (NVIDIA/nccl-tests issue 290, NVIDIA/nccl issue 1031).
bool only_for_two_nodes(const CollectiveCurve& curve, const Machine& machine) {
  if (curve.kind != CollectiveKind::all_reduce || curve.nodes != 2 || machine.levels.size() < 2) return false;
  const double members = static_cast<double>(curve.ranks) / 2;
  return curve.bandwidth > machine.levels[1].bandwidth_per_gpu * members;
}

/// Measured across as many nodes, or with as many ranks on each; nullptr where this network was not measured.
const CollectiveCurve* find_across(
    const Profile& profile, const Machine& machine, CollectiveKind kind, std::int64_t ranks, std::int64_t nodes) {
  const CollectiveCurve* best = nullptr;
  double best_distance = 0;
  for (const CollectiveCurve& curve : profile.collectives) {
    if (curve.nodes <= 1 || curve.kind != kind || ranks * curve.nodes != curve.ranks * nodes) continue;
    const bool own = curve.network == machine.id;
    if (!own && !curve.network.empty()) continue;
    if (curve.nodes != nodes && only_for_two_nodes(curve, machine)) continue;
    // The nearest number of nodes; of equally near ones the machine's own table before one of no name.
    const double distance = std::abs(std::log2(static_cast<double>(nodes) / curve.nodes)) + (own ? 0 : 0.1);
    if (!best || distance < best_distance) best = &curve, best_distance = distance;
  }
  return best;
}

CollectiveTime time_across(const CollectiveCurve& curve, std::int64_t ranks, std::int64_t nodes, Bytes received) {
  CollectiveTime out;
  out.curve = &curve;
  out.law = names().across[static_cast<std::size_t>(curve.fabric)][static_cast<std::size_t>(curve.kind)].c_str();
  out.extrapolated = !curve.points.empty() && received > curve.points.back().received;
  out.spread = curve_spread(curve, received);
  out.source = curve.source;
  if (curve.nodes == nodes) {
    out.time = curve_time(curve, received);
  } else {
    out.time = over_nodes(curve, ranks, nodes, received / received_share(curve.kind, ranks));
    const double wider = std::pow(widening_per_doubling, std::abs(std::log2(static_cast<double>(nodes) / curve.nodes)));
    out.spread = {out.spread.p10 / wider, out.spread.p90 * wider};
    out.source = std::max(curve.source, Source::transferred);
  }
  out.bound = bound_of(out.time, floor_of(curve));
  return out;
}

/// Of NCCL's tree in the LL protocol, relative to another layout: base 6.8 us, 0.6 us per hop on NVLink and 5 us per
/// level across nodes, up and down (NVIDIA/nccl v2.28.9-1 src/graph/tuning.cc).
double tree_latency(double per_node, double nodes) { return 6.8 + 2 * ((per_node - 1) * 0.6 + std::log2(nodes) * 5.0); }

}  // namespace

const char* to_text(CollectiveBound bound) { return bound == CollectiveBound::latency ? "latency" : "bandwidth"; }

ScaleOutLaw scale_out_law(const Profile& profile, const Level& level) {
  if (const ScaleOutLaw* law = find_scale_out(profile, level)) return *law;
  return usual_scale_out(level.fabric, level.transport);
}

Seconds over_nodes(const CollectiveCurve& curve, std::int64_t ranks, std::int64_t nodes, Bytes buffer) {
  const double n = static_cast<double>(ranks), n0 = curve.ranks;
  const double share = received_share(curve.kind, curve.ranks);
  const Seconds same = curve_time(curve, buffer * share), latency = std::min(same, floor_of(curve));
  using enum CollectiveKind;
  if (curve.kind != all_reduce && curve.kind != all_gather && curve.kind != reduce_scatter)
    return latency + (same - latency) * (received_share(curve.kind, ranks) / share);
  const Seconds ring = curve_time(curve, buffer * (n0 / n) * share) * ((n - 1) / (n0 - 1));
  if (curve.kind != all_reduce) return ring;
  const double per_node = n / static_cast<double>(nodes);
  const Seconds tree =
      same + latency * (tree_latency(per_node, static_cast<double>(nodes)) / tree_latency(per_node, curve.nodes) - 1);
  // Small buffers go over trees, large ones as on rings; between them, by the share of latency.
  const double small = latency / same;
  return Seconds(std::pow(tree.value(), small) * std::pow(ring.value(), 1 - small));
}

CollectiveTime collective_time(const Machine& machine, const Profile& profile, CollectiveKind kind, Bytes received,
    const GroupPlacement& placement) {
  if (placement.below.empty()) return inside_node(machine, profile, kind, placement.ranks, received);
  assert(placement.below.size() < machine.levels.size());
  const std::int64_t hosts = placement.hosts > 0 ? placement.hosts : placement.nodes;
  if (const CollectiveCurve* curve = find_across(profile, machine, kind, placement.ranks, hosts))
    return time_across(*curve, placement.ranks, hosts, received);
  return through_ports(machine, profile, kind, received, placement);
}

Expected<CollectiveTime> collective_time(const Machine& machine, const Profile& profile, const CollectiveQuery& query) {
  if (machine.levels.empty())
    return fail(machine.id, "no machine in the catalogue has this GPU, so that no fabric is known",
        "--machine with a machine, or a file");
  const Level& node = machine.levels.front();
  const bool servers = node.name != "rack";  // else its nodes are trays, and ranks fill the rack
  const std::int64_t per_node = query.ranks / query.nodes;
  const std::int64_t inside = servers ? per_node : std::min(query.ranks, node.gpus);
  const std::int64_t instances = servers ? query.nodes : (query.ranks + inside - 1) / inside;
  if (inside > node.gpus)
    return fail(machine.id, fmt::format("{} GPUs on one {} that has {}", inside, node.name, node.gpus),
        fmt::format("--nodes {}", (query.ranks + node.gpus - 1) / node.gpus));
  const Bytes received = received_of(query);
  if (instances == 1)
    return collective_time(machine, profile, query.kind, received, GroupPlacement{query.ranks, 1, query.nodes, {}});
  std::array<std::int64_t, 64> below{};
  std::size_t levels = 0;
  std::int64_t held = inside;
  // Instances of the innermost level fill those of the next one by one.
  while (held < query.ranks && levels < below.size()) {
    below[levels++] = held;
    if (levels >= machine.levels.size())
      return fail(machine.id, fmt::format("{} GPUs on {} nodes are more than it holds", query.ranks, query.nodes),
          fmt::format("it has {}", machine.max_gpus()));
    held = std::min(query.ranks, inside * (machine.levels[levels].gpus / node.gpus));
  }
  return collective_time(machine, profile, query.kind, received,
      GroupPlacement{query.ranks, instances, query.nodes, {below.data(), levels}});
}

}  // namespace stepcast
