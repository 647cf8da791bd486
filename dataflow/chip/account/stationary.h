// Which tensor stays where, and what the units beside each other need of each: the words people use for a mapping.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/chip/chip.h"

namespace stepcast::dataflow {

/// How a tensor lies on one axis of units: indexed by the loop split there Shard, else an input Replicate, an output
/// Partial.
struct AxisPlacement {
  int level = -1, axis = -1, tensor = -1;
  enum class Kind : std::uint8_t { replicate, shard, partial } kind = Kind::replicate;
  int dim = -1;  ///< the loop split there
  std::int64_t parts = 1;
};

/// The next level inside that keeps any tensor; -1 = the multiply-adds.
int next_store(const ChipProgram& chip, int level);
/// The nearest level outside `level` that keeps the tensor; -1 = none does.
int keeper_outside(const ChipProgram& chip, int level, int tensor);

/// Does some index of the tensor run over the dim?
bool indexes(const ChipTensor& tensor, int dim);

/// Tensors kept at `inner` which the innermost loop in time outside it does not index: they stay while it runs.
std::vector<int> stationary_tensors(const ChipProgram& chip, int inner);

/// "weight", "input", "output"; the tensor's own name where several have that use.
std::string role_of(const ChipProgram& chip, int tensor);

/// "weight-stationary at pe"; "nothing stays at rf".
std::string stay_text(const ChipProgram& chip, int inner, const std::vector<int>& stationary);
/// The units between the two levels: "input multicast over y, output summed over x"; "" where there are none.
std::string space_text(const ChipProgram& chip, int outer, int inner);

/// Per axis of units that is used, loop split there, and tensor.
std::vector<AxisPlacement> axis_placements(const ChipProgram& chip);
/// "Shard(k)", "Replicate", "Partial".
std::string to_text(const AxisPlacement& placement, const ChipProgram& chip);

}  // namespace stepcast::dataflow
