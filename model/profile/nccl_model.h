// What NCCL itself expects of its algorithms: the tuning model by which it chooses one, with no constant fitted here.
// Figures are those of NVIDIA/nccl src/graph/tuning.cc, topo.h and search.cc, tag v2.28.9-1. Held against published
// tables of A100, H100 and V100 it is right within 8 % at the largest sizes and within 10 to 30 % elsewhere; on
// Blackwell and on networks of clouds its latencies are too short by half. The law of last resort, and the shape of
// latency over nodes.
#pragma once

#include <cstdint>

#include "model/machine/machine.h"
#include "model/profile/query.h"

namespace stepcast {

enum class NcclAlgorithm : std::uint8_t { ring, tree, nvls, nvls_tree };
enum class NcclProtocol : std::uint8_t { ll, ll128, simple };
const char* to_text(NcclAlgorithm algorithm);
const char* to_text(NcclProtocol protocol);

/// What the ranks run over.
struct NcclLinks {
  int capability = 9;     ///< compute capability: 7 Volta and Turing, 8 Ampere and Ada, 9 Hopper, 10 Blackwell
  bool nvlink = true;     ///< else PCIe
  bool multicast = true;  ///< NVSwitch of Hopper and later: NVLS
  BytesPerSecond inside;  ///< one GPU into its node
  BytesPerSecond across;  ///< all ports of one node together; 0 = one node
};
NcclLinks nccl_links(const Machine& machine);

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  Seconds time, latency;  ///< `latency` is the part of `time` that does not depend on the size
};
/// The fastest by NCCL's own formula. Exchanges and sends, which NCCL does not tune, take one step of a ring.
NcclChoice nccl_choice(const NcclLinks& links, const CollectiveQuery& query);

}  // namespace stepcast
