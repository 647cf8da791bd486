#include "studies/records/run_machine.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "model/base/text.h"
#include "model/catalog.h"

namespace stepcast::records {
namespace {

// clang-format off
/// Spellings of records against catalogue machines.
struct Spelling { std::string_view gpu, machine, remark; };
constexpr Spelling spellings[] = {
    {"V100-32GB", "dgx-1-v100", ""},         {"A100-40GB-SXM", "dgx-a100-40gb", ""},
    {"A100-80GB-SXM", "dgx-a100", ""},       {"H100-80GB-SXM", "dgx-h100", ""},
    {"H100-96GB-SXM-500W", "grand-teton-h100-96gb", ""},
    {"H800", "hgx-h800", ""},                {"H20", "hgx-h20", ""},
    {"H200", "hgx-h200", ""},                {"GH200-96GB", "alps-gh200", ""},
    {"B200", "dgx-b200", ""},                {"B300", "dgx-b300", ""},
    {"GB200", "gb200-nvl72", ""},            {"GB300", "gb300-nvl72", ""},
};
// clang-format on

bool called(const Gpu& gpu, const std::string& name) {
  const auto same = [&](const std::string& other) {
    return other.size() == name.size() && lower_case(other) == lower_case(name);
  };
  return same(gpu.id) || same(gpu.name) || std::any_of(gpu.aliases.begin(), gpu.aliases.end(), same);
}

/// With the node size nearest to the record's.
const Machine* machine_with(const std::string& gpu, std::int64_t gpus_per_node) {
  const Machine* best = nullptr;
  const auto distance = [&](const Machine& m) { return std::llabs(m.levels.front().gpus - gpus_per_node); };
  for (const Machine& machine : built_in().machines)
    if (called(machine.gpu, gpu) && (best == nullptr || distance(machine) < distance(*best))) best = &machine;
  return best;
}

bool says(const MaybeText& text, std::string_view word) { return text && text->find(word) != std::string::npos; }

FabricKind fabric_of(const RunHardware& hardware, FabricKind otherwise) {
  if (says(hardware.inter_node, "InfiniBand") || says(hardware.inter_node, "Omni-Path")) return FabricKind::infiniband;
  for (const char* word : {"RoCE", "RDMA", "Ethernet", "EFA", "Slingshot"})
    if (says(hardware.inter_node, word)) return FabricKind::ethernet;
  return otherwise;
}

/// By the words of a record, the first that occurs.
Transport transport_of(const RunHardware& hardware, Transport otherwise) {
  struct Words {
    std::string_view word;
    Transport transport;
  };
  static constexpr Words words[] = {{"socket", Transport::sockets}, {"EFA", Transport::efa},
      {"TCPXO", Transport::fastrak}, {"TCPX", Transport::tcpx}, {"lingshot", Transport::cxi},
      {"InfiniBand", Transport::rdma}, {"RoCE", Transport::rdma}};
  for (const Words& row : words)
    if (says(hardware.inter_node, row.word)) return row.transport;
  return otherwise;
}

/// NICs of a node, where the record counts them ("4 HCAs"); else one per GPU.
int ports_of(const RunHardware& hardware, std::int64_t gpus) {
  // PSM2 gives each process a context on one adapter in turn, whatever the communicator (Intel PSM2 programmer's guide,
  // HFI_SELECTION_ALG): every GPU has its share of the node to itself.
  if (says(hardware.inter_node, "Omni-Path")) return static_cast<int>(gpus);
  for (const char* word : {" links per node", " HCAs"}) {
    const std::size_t at = hardware.inter_node ? hardware.inter_node->find(word) : std::string::npos;
    if (at != std::string::npos && at > 0 && std::isdigit(static_cast<unsigned char>((*hardware.inter_node)[at - 1])))
      return (*hardware.inter_node)[at - 1] - '0';
  }
  return static_cast<int>(gpus);
}

/// What a machine was like, or was like for a while, by the day that ends a record's id ("-02-24", "-02-24-r2"): dates
/// of records are months. It is of what joins nodes, and runs within one node do not meet it.
struct MachineState {
  std::string_view source, gpu;  ///< beginnings
  std::string_view before;       ///< the month and day from which on the state is mended; "" = never
  double adapter_share;          ///< of the adapters' rate
  std::string_view remark;
  bool sockets = false;  ///< NCCL went through TCP, whatever adapters there are
};

// On Jean Zay the placement of A100s and adapters on PCIe and NUMA was mended on 2022-02-25, which the source says made
// runs 1 to 5 % faster (bigscience-workshop/bigscience, train/tr11-176B-ml/chronicles-prequel.md). The share is the one
// with which its 35 runs before that day and the 31 from it on want the same parameters; it counts as the third fitted
// number of that software. The script of nanotron's benchmark names no plugin for EFA (huggingface/bench_cluster
// bench_cluster/template/base_bench.slurm), and its nodes exchange 10 to 13 GB/s: 268 MB per micro-batch and direction
// between two stages cost 28 ms on 8 pairs of GPUs and 27 ms on 4, gradients and weights of 16 ranks 2 s for 6.2 GB.
constexpr MachineState machine_states[] = {
    {"bigscience-workshop/bigscience", "A100", "02-25", 0.35,
        "adapters behind the wrong PCIe root until 2022-02-25: 0.35 of their rate"},
    {"https://huggingface.co/nanotron/old_bench", "H100", "", 1, "nodes joined by TCP sockets", true}};

/// "02-24" of an id that ends in it or in "02-24-r2", "" of any other.
std::string_view day_of(std::string_view id) {
  constexpr const char* digits = "0123456789";
  const std::size_t again = id.rfind("-r");
  if (again != id.npos && again + 2 < id.size() && id.find_first_not_of(digits, again + 2) == id.npos)
    id.remove_suffix(id.size() - again);
  const std::string_view day = id.substr(id.size() - std::min<std::size_t>(id.size(), 6));
  const bool is_day = day.size() == 6 && day[0] == '-' && day.find_first_not_of(digits, 1) == 3 && day[3] == '-' &&
                      day.find_first_not_of(digits, 4) == day.npos;
  return is_day ? day.substr(1) : "";
}

const MachineState* state_of(const Run& run) {
  const std::string_view day = day_of(run.id);
  for (const MachineState& state : machine_states)
    if (run.source.starts_with(state.source) && run.hardware.gpu.starts_with(state.gpu) &&
        (state.before.empty() || (!day.empty() && day < state.before)))
      return &state;
  return nullptr;
}

void set_node(Level& node, const RunHardware& hardware) {
  if (hardware.nvlink_domain_gpus) node.gpus = *hardware.nvlink_domain_gpus;
  else if (hardware.gpus_per_node) node.gpus = *hardware.gpus_per_node;
  if (!hardware.intra_node_gb_per_s) return;
  node.bandwidth_per_gpu = BytesPerSecond(1e9 * *hardware.intra_node_gb_per_s);
  if (node.ports > 0) node.port_bandwidth = node.bandwidth_per_gpu / node.ports;
}

void set_network(Machine& machine, const RunHardware& hardware, std::int64_t gpus) {
  if (machine.levels.size() < 2) return;
  Level& cluster = machine.levels.back();
  const std::int64_t below = machine.levels[machine.levels.size() - 2].gpus;
  cluster.gpus = std::max({cluster.gpus, below, (gpus + below - 1) / below * below});
  cluster.fabric = fabric_of(hardware, cluster.fabric);
  cluster.transport = transport_of(hardware, cluster.transport);
  if (!hardware.inter_node_gbit_per_s) return;
  cluster.bandwidth_per_gpu = BytesPerSecond(1e9 / 8 * *hardware.inter_node_gbit_per_s);
  cluster.ports = ports_of(hardware, below);
  cluster.port_bandwidth = cluster.bandwidth_per_gpu * (static_cast<double>(below) / cluster.ports);
}

}  // namespace

Expected<RunMachine> machine_of(const Run& run) {
  const RunHardware& hardware = run.hardware;
  RunMachine machine;
  const auto spelled = std::find_if(
      std::begin(spellings), std::end(spellings), [&](const Spelling& row) { return row.gpu == hardware.gpu; });
  const Machine* nearest = nullptr;
  if (spelled != std::end(spellings)) {
    TRY(nearest, find_row(built_in().machines, std::string(spelled->machine), "machine"));
    if (!spelled->remark.empty()) machine.assumptions.emplace_back(spelled->remark);
  } else {
    nearest = machine_with(hardware.gpu, hardware.gpus_per_node.value_or(8));
  }
  if (nearest == nullptr)
    return fail("hardware/gpu", fmt::format("no machine with a GPU '{:.40}'", hardware.gpu), "stepcast list gpus");
  machine.row = *nearest;
  set_node(machine.row.levels.front(), hardware);
  set_network(machine.row, hardware, run.parallel.gpus);
  const bool crosses = run.parallel.gpus > machine.row.levels.front().gpus;
  if (const MachineState* state = state_of(run); state != nullptr && crosses) {
    Level& cluster = machine.row.levels.back();
    cluster.bandwidth_per_gpu = cluster.bandwidth_per_gpu * state->adapter_share;
    cluster.port_bandwidth = cluster.port_bandwidth * state->adapter_share;
    if (state->sockets) cluster.transport = Transport::sockets;
    machine.assumptions.emplace_back(state->remark);
  }
  if (crosses && !hardware.inter_node_gbit_per_s)
    machine.assumptions.push_back(fmt::format("network between nodes: {:.0f} Gbit/s per GPU, as in {}",
        machine.row.levels.back().bandwidth_per_gpu.value() * 8e-9, nearest->name));
  if (!hardware.gpus_per_node)
    machine.assumptions.push_back(
        fmt::format("{} GPUs per node, as in {}", machine.row.levels.front().gpus, nearest->name));
  return machine;
}

}  // namespace stepcast::records
