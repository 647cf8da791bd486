// The words of machine files, for reading, writing and reports.
#pragma once

#include "model/base/json_reader.h"
#include "model/machine/machine.h"

namespace stepcast {

inline constexpr Choice<FabricKind> fabric_names[] = {{"nvswitch", FabricKind::nvswitch},
    {"nvlink_mesh", FabricKind::nvlink_mesh}, {"pcie", FabricKind::pcie}, {"infiniband", FabricKind::infiniband},
    {"ethernet", FabricKind::ethernet}};
inline constexpr Choice<Transport> transport_names[] = {{"rdma", Transport::rdma}, {"efa", Transport::efa},
    {"fastrak", Transport::fastrak}, {"tcpx", Transport::tcpx}, {"cxi", Transport::cxi},
    {"sockets", Transport::sockets}};
inline constexpr Choice<Precision> precision_names[] = {{"fp32", Precision::fp32}, {"tf32", Precision::tf32},
    {"fp16", Precision::fp16}, {"bf16", Precision::bf16}, {"fp8", Precision::fp8}, {"mxfp8", Precision::mxfp8},
    {"nvfp4", Precision::nvfp4}};

}  // namespace stepcast
