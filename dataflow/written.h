// Operators written in the notation as a Network: one block, so that any einsum program can be placed and counted.
#pragma once

#include "dataflow/mapping.h"
#include "model/error.h"
#include "model/network.h"

namespace stepcast {

/// Extents come from `dim` lines. A tensor that no operator writes and whose name starts with W is a weight; other
/// unwritten tensors are inputs with a gradient. Elements are 2 bytes.
/// Errors: a loop without extent, a tensor accessed with different numbers of dims, operators in a cycle.
Expected<Network> network_of(const MappingProgram& program);

}  // namespace stepcast
