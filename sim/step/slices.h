// Steps whose sequences are cut into slices.
#pragma once

#include <vector>

#include "dataflow/program.h"

namespace stepcast::sim {

/// From the program of a sequence as long as one slice, those of `slices` slices: the attention of slice i also sees
/// the keys of the i slices before it. The attention must be one kernel that sees all keys of its rank's own positions.
std::vector<Program> slice_programs(const Program& first, int slices);

}  // namespace stepcast::sim
