#include "model/profile/nccl_model.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace stepcast {
namespace {

constexpr double microsecond = 1e-6, gigabyte = 1e9;
using ByProtocol = std::array<double, 3>;  // LL, LL128, Simple

// Microseconds (baseLatencies and hwLatencies).
constexpr ByProtocol tree_base{6.8, 14.0, 8.4}, ring_base{6.6, 14.0, 8.4};
constexpr ByProtocol tree_nvlink{0.6, 1.25, 4.0}, tree_pcie{1.0, 1.9, 4.0}, tree_net{5.0, 8.5, 14.0};
constexpr ByProtocol ring_nvlink{0.6, 1.9, 3.4}, ring_pcie{1.0, 2.5, 5.7}, ring_net{2.7, 4.0, 14.0};
constexpr double nvls_hop = 25, nvls_net = 18, nvls_tree_net = 20.9;
/// After a network step the proxy posts the next; Simple posts three (net overhead of Intel hosts).
constexpr double post = 1;

/// What a generation's channels reach, GB/s; columns: one node, two, more (llMaxBws, perChMax...).
struct Generation {
  int capability;
  std::array<double, 3> ll_total, ring_ll128, tree_ll128, tree, nvls_tree;
  double nvls_share;  ///< of the switch's rate that multicast reaches
};
constexpr Generation generations[] = {{7, {39, 39, 20.4}, {20, 20, 20}, {20, 20, 20}, {26.5, 18.5, 10}, {0, 0, 0}, 0},
    {8, {87.7, 22.5, 19}, {20, 20, 20}, {20, 20, 20}, {24, 23.6, 17.8}, {0, 0, 0}, 0},
    {9, {141, 45, 35}, {36.7, 36.7, 36.7}, {36.7, 36.7, 29}, {38.7, 41.4, 36}, {0, 57.7, 45.5}, 0.85},
    {10, {282, 90, 70}, {73.4, 34.6, 73.4}, {55.6, 31.67, 20}, {70, 42.8, 24}, {0, 96, 43.8}, 0.74}};

const Generation& generation_of(int capability) {
  const auto* found = std::ranges::find_if(generations, [&](const auto& g) { return g.capability >= capability; });
  return found == std::end(generations) ? generations[std::size(generations) - 1] : *found;
}

/// The graphs that NCCL's search finds on DGX nodes use 0.8 of the links: A100 24 channels of 10 GB/s of 300, H100 24 x
/// 15 of 450, B200 24 x 30 of 900; NVLS 8 channels of 40 and 80. NICs are taken at 0.96 of their rate (24 of 25, 48 of
/// 50).
constexpr double graph_share = 0.8, nvls_graph_share = 320.0 / 450, port_share = 0.96, pcie_share = 0.8;
constexpr double ring_channels = 24, pcie_channels = 4, nvls_channels = 8;

struct Task {
  const NcclLinks& links;
  const Generation& generation;
  CollectiveKind kind;
  double bytes, ranks, nodes;
  [[nodiscard]] bool reduces_all() const { return kind == CollectiveKind::all_reduce; }
  [[nodiscard]] std::size_t column() const { return nodes <= 1 ? 0 : nodes <= 2 ? 1 : 2; }
  [[nodiscard]] double channels() const { return links.nvlink ? ring_channels : pcie_channels; }
  /// Of all channels together, GB/s.
  [[nodiscard]] double graph() const {
    const double inside = links.inside.value() / gigabyte * (links.nvlink ? graph_share : pcie_share);
    return nodes > 1 ? std::min(inside, links.across.value() / gigabyte * port_share) : inside;
  }
  /// Steps of a ring.
  [[nodiscard]] double steps() const {
    if (reduces_all()) return 2 * (ranks - 1);
    if (kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce) return ranks;
    return kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter ? ranks - 1 : 1;
  }
};

NcclChoice choice(NcclAlgorithm algorithm, std::size_t protocol, double latency_us, const Task& task, double gb_per_s) {
  const Seconds latency(latency_us * microsecond);
  return {
      algorithm, static_cast<NcclProtocol>(protocol), latency + Seconds(task.bytes / (gb_per_s * gigabyte)), latency};
}

NcclChoice ring(const Task& task, std::size_t protocol) {
  const double graph = task.graph();
  const std::size_t column = task.column();
  double rate = graph;
  if (protocol == 0) rate = std::min(task.generation.ll_total[column], 0.5 * graph);
  if (protocol == 1) rate = std::min(0.92 * graph, task.channels() * task.generation.ring_ll128[column]);
  const double steps = task.steps();
  const double outside = task.nodes > 1 ? (task.reduces_all() ? 2 : 1) * (task.nodes - 1) : 0;
  const double overhead = task.nodes > 1 ? (protocol == 2 ? 3 : 1) * post : 0;
  const double inside_hop = std::max(overhead, (task.links.nvlink ? ring_nvlink : ring_pcie)[protocol]);
  double latency = ring_base[protocol] + (steps - outside) * inside_hop + outside * ring_net[protocol];
  // Chunks of 64 bytes and more per channel and rank fill the network's pipeline.
  if (task.reduces_all() && protocol == 2 && task.nodes > 1 && task.bytes / (task.channels() * task.ranks) >= 64)
    latency *= 1.4;
  // To bytes of the buffer: every rank passes steps/ranks of it on; an exchange all but its own part.
  const double share =
      steps > 1 ? steps / task.ranks : received_share(task.kind, static_cast<std::int64_t>(task.ranks));
  return choice(NcclAlgorithm::ring, protocol, latency, task, rate / share);
}

/// How far trees fall behind at mid sizes: from 64 bytes up, a factor per doubling (treeCorrectionFactor).
double tree_correction(std::size_t protocol, double bytes) {
  constexpr std::array<std::array<double, 23>, 3> factors{
      {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
          {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
          {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};
  const double doublings = std::floor(std::log2(std::max(bytes, 64.0) / 64));
  return doublings < 23 ? factors[protocol][static_cast<std::size_t>(doublings)] : 1;
}

NcclChoice tree(const Task& task, std::size_t protocol) {
  const double graph = task.graph(), column_tree = task.generation.tree[task.column()];
  double rate = std::min(0.92 * graph, task.channels() * column_tree);
  if (protocol == 0) rate = std::min(rate / 3.8, task.generation.ll_total[task.column()]);
  if (protocol == 1)
    rate = std::min(
        rate * (task.nodes > 1 ? 120.0 / 128 : 7.0 / 9), task.channels() * task.generation.tree_ll128[task.column()]);
  const double per_node = task.ranks / task.nodes;
  const double latency =
      tree_base[protocol] + 2 * ((per_node - 1) * (task.links.nvlink ? tree_nvlink : tree_pcie)[protocol] +
                                    std::log2(task.nodes) * tree_net[protocol]);
  return choice(NcclAlgorithm::tree, protocol, latency, task, 0.5 * rate * tree_correction(protocol, task.bytes));
}

/// Multicast inside the node; across nodes a tree of switches, which on two nodes sends each byte over the NICs once.
NcclChoice nvls(const Task& task) {
  const double per_node = task.ranks / task.nodes;
  double inside = task.links.inside.value() / gigabyte * nvls_graph_share * task.generation.nvls_share *
                  (nvls_channels - 1) / nvls_channels;
  inside *= task.reduces_all() ? 2 : (per_node - 1) / per_node;
  const double to_buffer = task.ranks / task.steps();
  if (task.nodes <= 1) return choice(NcclAlgorithm::nvls, 2, nvls_hop, task, inside * to_buffer);
  const double across =
      task.links.across.value() / gigabyte * port_share * (task.nodes <= 2 && task.reduces_all() ? 2 : 1);
  if (!task.reduces_all())
    return choice(NcclAlgorithm::nvls, 2, nvls_hop + nvls_net, task, std::min(inside, across) * to_buffer);
  const double rate = std::min({inside, across, nvls_channels * task.generation.nvls_tree[task.column()]});
  return choice(
      NcclAlgorithm::nvls_tree, 2, nvls_hop + 2 * std::log2(task.nodes) * nvls_tree_net, task, rate * to_buffer);
}

}  // namespace

const char* to_text(NcclAlgorithm algorithm) {
  constexpr const char* names[] = {"ring", "tree", "NVLS", "NVLSTree"};
  return names[static_cast<std::size_t>(algorithm)];
}

const char* to_text(NcclProtocol protocol) {
  constexpr const char* names[] = {"LL", "LL128", "Simple"};
  return names[static_cast<std::size_t>(protocol)];
}

NcclLinks nccl_links(const Machine& machine) {
  struct Row {
    const char* architecture;
    int capability;
  };
  constexpr Row rows[] = {{"volta", 7}, {"turing", 7}, {"ampere", 8}, {"ada", 8}, {"hopper", 9}, {"blackwell", 10}};
  NcclLinks links;
  links.capability = 8;  // of chips that are not NVIDIA's: no multicast, moderate channels
  for (const Row& row : rows)
    if (machine.gpu.architecture == row.architecture) links.capability = row.capability;
  const Level& inner = machine.levels.front();
  links.nvlink = inner.fabric != FabricKind::pcie;
  links.multicast = inner.in_network_reduction && links.capability >= 9;
  links.inside = inner.bandwidth_per_gpu;
  if (machine.levels.size() > 1) links.across = machine.levels[1].bandwidth_per_gpu * static_cast<double>(inner.gpus);
  return links;
}

NcclChoice nccl_choice(const NcclLinks& links, const CollectiveQuery& query) {
  assert(query.ranks >= 2 && query.nodes >= 1 && links.inside.value() > 0);
  const Task task{links, generation_of(links.capability), query.kind, query.bytes.value(),
      static_cast<double>(query.ranks), static_cast<double>(query.nodes)};
  const bool tuned = query.kind != CollectiveKind::all_to_all && query.kind != CollectiveKind::send_recv;
  NcclChoice best = ring(task, 2);
  const auto consider = [&](const NcclChoice& other) {
    if (other.time < best.time) best = other;
  };
  for (const std::size_t protocol : {0, 1}) {
    if (protocol == 1 && !links.nvlink) continue;  // LL128 needs stores of 128 bytes that stay whole
    if (tuned) consider(ring(task, protocol));
  }
  if (task.reduces_all())
    for (const std::size_t protocol : {0, 1, 2})
      if (protocol != 1 || links.nvlink) consider(tree(task, protocol));
  const bool gathers = query.kind == CollectiveKind::all_gather || query.kind == CollectiveKind::reduce_scatter;
  // NCCL takes multicast from three GPUs of a node up.
  if (links.multicast && query.ranks / query.nodes > 2 && (task.reduces_all() || gathers)) consider(nvls(task));
  return best;
}

}  // namespace stepcast
