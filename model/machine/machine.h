// What it runs on: GPUs and the fabrics that join them.
//
// A machine is a graph of GPUs, switches and NICs. Ranks number its GPUs in order, so that a group of ranks has a
// known span: how many of its members share each level. Bandwidths are per direction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/base/large_value.h"
#include "model/base/units.h"

namespace stepcast {

enum class Precision : std::uint8_t { fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4 };
Expected<Precision> parse_precision(const std::string& name, const std::string& where);
const char* to_text(Precision precision);

struct Gpu {
  LARGE_VALUE(Gpu);
  std::string id, name, architecture, source;
  std::vector<std::string> aliases;
  int multiprocessors = 0;
  FlopsPerSecond peak[7];  ///< dense, by Precision; 0 = the chip lacks it
  Bytes memory;
  BytesPerSecond memory_bandwidth;
  Bytes l2;
  BytesPerSecond scale_up_bandwidth;  ///< NVLink or equivalent per GPU and direction; 0 = none
  double power_w = 0;
  bool fp8_any_layout = false;          ///< fp8 products read operands transposed or not; without, both copies are kept
  std::vector<std::string> unverified;  ///< fields nobody could check against the vendor
};

enum class FabricKind : std::uint8_t { nvswitch, nvlink_mesh, pcie, infiniband, ethernet };

/// How NCCL drives the adapters of a network: its own verbs, or what a cloud or a machine puts in their place.
enum class Transport : std::uint8_t {
  rdma,     ///< InfiniBand or RoCE verbs, with GPUDirect
  efa,      ///< AWS, aws-ofi-nccl
  fastrak,  ///< Google, GPUDirect-TCPXO
  tcpx,     ///< Google, GPUDirect-TCPX
  cxi,      ///< HPE Slingshot, aws-ofi-nccl over libfabric
  sockets,  ///< TCP of the host, without GPUDirect
};

/// One tier of the hierarchy, innermost first: `gpus` GPUs share one instance of it.
struct Level {
  std::string name;  ///< "node", "rack", "cluster": printed as the span of a collective
  FabricKind fabric = FabricKind::nvswitch;
  std::int64_t gpus = 1;                  ///< GPUs under one instance
  BytesPerSecond bandwidth_per_gpu;       ///< what one GPU can send into this tier while all its neighbours do too
  BytesPerSecond port_bandwidth;          ///< one link or NIC; bandwidth_per_gpu x GPUs below = ports x this
  int ports = 0;                          ///< NICs (or links) of one instance of the tier below into this one
  Seconds latency;                        ///< one hop
  bool in_network_reduction = false;      ///< NVLS / SHARP
  Transport transport = Transport::rdma;  ///< across nodes
};

enum class VertexKind : std::uint8_t { gpu, switch_, nic };
// clang-format off
struct FabricVertex { VertexKind kind; std::string name; };
struct FabricLink { int from = 0, to = 0; BytesPerSecond bandwidth; Seconds latency; };
// clang-format on

/// Vertices and links of one outermost-but-one instance (a node or rack) and its way out.
struct FabricGraph {
  std::vector<FabricVertex> vertices;
  std::vector<FabricLink> links;  ///< each stands for both directions
};

struct Machine {
  LARGE_VALUE(Machine);
  std::string id, name, source;
  std::vector<std::string> aliases;
  Gpu gpu;
  std::vector<Level> levels;  ///< innermost first; the last spans the machine
  Bytes host_memory;
  BytesPerSecond host_link;  ///< PCIe or C2C between host and one GPU
  [[nodiscard]] std::int64_t max_gpus() const { return levels.back().gpus; }
};

/// What a job sees that has `gpus` GPUs of each node: as many nodes, each with its part of the adapters. Machines whose
/// first level is wider than a host (racks of trays) stay as they are. Errors: more than a node has.
Expected<Machine> with_node_gpus(Machine machine, std::int64_t gpus, const std::string& where);

/// The graph behind `levels` (check_fabric sees that it is connected, and that the widest path between two GPUs of one
/// tier carries what the tier claims).
FabricGraph fabric_graph(const Machine& machine);
Expected<void> check_fabric(const Machine& machine);

Expected<Gpu> read_gpu(const std::string& text, const std::string& where);
/// `gpus` resolves the machine's "gpu" id.
Expected<Machine> read_machine(const std::string& text, const std::string& where, const std::vector<Gpu>& gpus);
std::string write_gpu(const Gpu& gpu);
std::string write_machine(const Machine& machine);

}  // namespace stepcast
