// Operators written in the notation as a Network: one block, so that any einsum program can be placed and counted.
#pragma once

#include "dataflow/notation/mapping.h"
#include "model/base/error.h"
#include "model/network/network.h"

namespace stepcast::dataflow {

/// Extents come from `dim` lines. A tensor that no operator writes and whose name starts with W is a weight; other
/// unwritten tensors are inputs with a gradient. Elements are 2 bytes.
/// Kinds become those of built networks: select, route, functions with loops that stay whole, `softmax=` over queries,
/// keys and values as the fused core. Arch and level lines say nothing to the cluster placer and are left alone.
/// Errors: a loop without extent, a tensor accessed with different numbers of dims, operators in a cycle; what a mesh
/// cannot place: an index that is a sum, a window, padding, a scan without its loop.
Expected<Network> network_of(const MappingProgram& program);

}  // namespace stepcast::dataflow
