// The links behind a machine's levels, and the proof that they carry what the levels claim.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "model/machine/machine.h"
#include "model/base/quantity_text.h"

namespace stepcast {
namespace {

/// Vertices are added in this order: GPUs of one innermost instance, then per level its NICs and its switch.
struct FabricBuilder {
  const Machine& machine;
  FabricGraph graph;
  std::vector<int> gpus, switches;  ///< vertex numbers; switches by level, -1 where the GPUs are joined directly

  int add(VertexKind kind, std::string name) {
    graph.vertices.push_back({kind, std::move(name)});
    return static_cast<int>(graph.vertices.size()) - 1;
  }
  void link(int from, int to, BytesPerSecond bandwidth, Seconds latency) {
    graph.links.push_back({from, to, bandwidth, latency});
  }

  void innermost(const Level& level) {
    for (std::int64_t i = 0; i < level.gpus; ++i) gpus.push_back(add(VertexKind::gpu, fmt::format("gpu{}", i)));
    const BytesPerSecond own = level.port_bandwidth * level.ports;
    if (level.fabric == FabricKind::nvlink_mesh) return mesh(level, own);
    switches.push_back(add(VertexKind::switch_, level.name));
    for (const int gpu : gpus) link(gpu, switches.back(), own, level.latency);
  }

  /// Every GPU spreads its links evenly over its neighbours.
  void mesh(const Level& level, BytesPerSecond own) {
    switches.push_back(-1);
    for (std::size_t a = 0; a < gpus.size(); ++a)
      for (std::size_t b = a + 1; b < gpus.size(); ++b)
        link(gpus[a], gpus[b], own / static_cast<double>(gpus.size() - 1), level.latency);
  }

  /// NICs stand beside the GPUs in equal shares and reach the GPU over its host link (PCIe or C2C).
  void nics(const Level& level) {
    const int out = add(VertexKind::switch_, level.name);
    const auto count = static_cast<std::int64_t>(gpus.size());
    std::vector<int> nic(static_cast<std::size_t>(level.ports));
    for (std::size_t i = 0; i < nic.size(); ++i) {
      nic[i] = add(VertexKind::nic, fmt::format("nic{}", i));
      link(nic[i], out, level.port_bandwidth, level.latency);
    }
    const std::int64_t pairs = std::max<std::int64_t>(count, level.ports);
    for (std::int64_t i = 0; i < pairs; ++i)
      link(gpus[static_cast<std::size_t>(i * count / pairs)], nic[static_cast<std::size_t>(i * level.ports / pairs)],
          machine.host_link, Seconds(0));
    switches.push_back(out);
  }

  void uplink(const Level& level) {
    const int out = add(VertexKind::switch_, level.name);
    link(switches.back(), out, level.port_bandwidth * level.ports, level.latency);
    switches.push_back(out);
  }

  void build() {
    innermost(machine.levels.front());
    if (machine.levels.size() > 1) nics(machine.levels[1]);
    for (std::size_t i = 2; i < machine.levels.size(); ++i) uplink(machine.levels[i]);
  }
};

/// The largest flow through pipes, by Dinic's algorithm (Soviet Math. Doklady 11, 1970).
struct FabricFlow {
  struct Pipe {
    int to;
    double room;
    std::size_t back;  ///< of the pipes of `to`: the way back
  };
  std::vector<std::vector<Pipe>> pipes;
  std::vector<int> depth;  ///< steps from the source, -1 where nothing more comes
  std::vector<std::size_t> next;

  explicit FabricFlow(std::size_t vertices) : pipes(vertices) {}

  void add(int from, int to, double forth, double back) {
    pipes[from].push_back({to, forth, pipes[to].size()});
    pipes[to].push_back({from, back, pipes[from].size() - 1});
  }

  bool reaches(int source, int sink) {
    depth.assign(pipes.size(), -1), next.assign(pipes.size(), 0);
    depth[source] = 0;
    std::vector<int> seen{source};
    for (std::size_t i = 0; i < seen.size(); ++i)
      for (const Pipe& pipe : pipes[seen[i]])
        if (pipe.room > 0 && depth[pipe.to] < 0) depth[pipe.to] = depth[seen[i]] + 1, seen.push_back(pipe.to);
    return depth[sink] >= 0;
  }

  double push(int at, int sink, double most) {
    if (at == sink) return most;
    for (std::size_t& i = next[at]; i < pipes[at].size(); ++i) {
      Pipe& pipe = pipes[at][i];
      if (pipe.room <= 0 || depth[pipe.to] != depth[at] + 1) continue;
      const double pushed = push(pipe.to, sink, std::min(most, pipe.room));
      if (pushed <= 0) continue;
      pipe.room -= pushed, pipes[pipe.to][pipe.back].room += pushed;
      return pushed;
    }
    return 0;
  }

  double most(int source, int sink) {
    double sum = 0;
    while (reaches(source, sink))
      while (const double pushed = push(source, sink, std::numeric_limits<double>::infinity())) sum += pushed;
    return sum;
  }
};

/// What `sources` can send to `sink` together. In whole MB/s, so that the rests end at exactly zero.
double carried(const FabricGraph& graph, const std::vector<int>& sources, int sink) {
  const auto source = static_cast<int>(graph.vertices.size());
  FabricFlow flow(graph.vertices.size() + 1);
  const auto units = [](BytesPerSecond rate) { return std::round(rate.value() / 1e6); };
  for (const FabricLink& link : graph.links) flow.add(link.from, link.to, units(link.bandwidth), units(link.bandwidth));
  for (const int from : sources) flow.add(source, from, 1e12, 0);
  return 1e6 * flow.most(source, sink);
}

bool connected(const FabricGraph& graph) {
  FabricFlow flow(graph.vertices.size());
  for (const FabricLink& link : graph.links) flow.add(link.from, link.to, 1, 1);
  flow.reaches(0, 0);
  return std::ranges::find(flow.depth, -1) == flow.depth.end();
}

/// GPUs that share the ports into level i: one at the innermost, then a whole instance of the level below.
std::int64_t gpus_below(const Machine& machine, std::size_t i) { return i == 0 ? 1 : machine.levels[i - 1].gpus; }

/// Bytes per second that all GPUs below level i can send into it at once, per GPU.
double carried_per_gpu(const FabricBuilder& fabric, std::size_t i) {
  const auto gpus = static_cast<double>(fabric.gpus.size());
  if (i == 0 && fabric.switches[0] < 0) return carried(fabric.graph, {fabric.gpus.front()}, fabric.gpus.back());
  if (i <= 1) return carried(fabric.graph, fabric.gpus, fabric.switches[i]) / gpus;
  return carried(fabric.graph, {fabric.switches[i - 1]}, fabric.switches[i]) /
         static_cast<double>(gpus_below(fabric.machine, i));
}

/// Bandwidths are rounded on data sheets (7.88 GB/s of PCIe): half a percent is no contradiction.
constexpr double rounding = 1.005;

/// The links are all alike, so a giant instance proves nothing that a large one does not; it would only take long.
constexpr std::int64_t most_checked_gpus = 1024;
constexpr int most_checked_nics = 4096;

/// Sizes that the graph can be built for.
Expected<void> check_sizes(const Machine& machine) {
  const Level& inner = machine.levels.front();
  if (inner.gpus > most_checked_gpus)
    return fail("/levels/0/gpus", fmt::format("{} GPUs share the innermost level", inner.gpus),
        fmt::format("at most {}; put more into outer levels", most_checked_gpus));
  if (inner.fabric == FabricKind::nvlink_mesh && inner.gpus < 2)
    return fail("/levels/0/gpus", "a mesh of one GPU has no links", "at least 2, or another fabric");
  if (machine.levels.size() > 1 && machine.levels[1].ports > most_checked_nics)
    return fail("/levels/1/ports", fmt::format("{} NICs leave one '{}'", machine.levels[1].ports, inner.name),
        fmt::format("at most {}", most_checked_nics));
  return {};
}

Expected<void> check_level(const FabricBuilder& fabric, std::size_t i) {
  const Machine& machine = fabric.machine;
  const Level& level = machine.levels[i];
  const double claimed = level.bandwidth_per_gpu.value();
  const double links = carried_per_gpu(fabric, i);
  if (claimed <= links * rounding) return {};
  const double ports = level.ports * level.port_bandwidth.value() / static_cast<double>(gpus_below(machine, i));
  const bool host = i == 1 && ports > links * rounding;
  const std::string path = host ? fmt::format("the host link of {}", format_rate(machine.host_link))
                                : fmt::format("{} ports of {} for {} GPU(s)", level.ports,
                                      format_rate(level.port_bandwidth), gpus_below(machine, i));
  return fail(fmt::format("/levels/{}/bandwidth_per_gpu", i),
      fmt::format("level '{}' claims {} per GPU, but {} carry {}", level.name, format_rate(level.bandwidth_per_gpu),
          path, format_rate(BytesPerSecond(links))),
      "lower the claim, or give the ports that carry it");
}

}  // namespace

FabricGraph fabric_graph(const Machine& machine) {
  FabricBuilder fabric{machine, {}, {}, {}};
  fabric.build();
  return std::move(fabric.graph);
}

Expected<void> check_fabric(const Machine& machine) {
  TRY(check_sizes(machine));
  FabricBuilder fabric{machine, {}, {}, {}};
  fabric.build();
  if (!connected(fabric.graph))
    return fail("/levels", "the links do not join all GPUs", "give every level a port of the level below");
  for (std::size_t i = 0; i < machine.levels.size(); ++i) TRY(check_level(fabric, i));
  return {};
}

Expected<Machine> with_node_gpus(Machine machine, std::int64_t gpus, const std::string& where) {
  const Level& first = machine.levels.front();
  const std::int64_t whole = first.gpus;
  if (gpus < 1 || gpus > whole)
    return fail(where, fmt::format("{} GPUs of a {}, and one of {} has {}", gpus, first.name, machine.name, whole),
        fmt::format("from 1 to {}, or --machine with another one", whole));
  if (first.name == "rack") return machine;
  const bool joined = first.fabric == FabricKind::nvlink_mesh && whole > 1 && first.ports % (whole - 1) == 0;
  const int to_each = joined ? static_cast<int>(first.ports / (whole - 1)) : 0;
  for (Level& level : machine.levels) {
    level.gpus = level.gpus / whole * gpus;
    if (&level != &machine.levels.front()) level.ports = std::max(1, static_cast<int>(level.ports * gpus / whole));
  }
  // Where each GPU has as many links to each other, fewer GPUs have fewer links; those of DGX-1 and MI250X are uneven.
  Level& node = machine.levels.front();
  if (joined && gpus > 1) {
    node.ports = to_each * static_cast<int>(gpus - 1);
    node.bandwidth_per_gpu = node.port_bandwidth * static_cast<double>(node.ports);
  }
  return machine;
}

}  // namespace stepcast
