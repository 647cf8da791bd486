// Which loop each operator splits on each atom of the mesh: the `par` statements resolved.
// docs/design.md, A1 rules 3-5 (choice of loop, compound).
#pragma once

#include <cstdint>
#include <vector>

#include "dataflow/notation/mapping.h"
#include "dataflow/place/mesh.h"
#include "dataflow/place/placement.h"
#include "model/base/error.h"
#include "model/network/network.h"

namespace stepcast::dataflow {

/// Splits of all operators of all blocks, over a mesh fine enough for them.
struct Splits {
  Mesh mesh;
  std::vector<std::vector<OperatorSplit>> blocks;  ///< by block, operator
};

/// Resolves every `par` statement. Errors: unknown dim, axis or tag; a loop extent that does not divide, with the legal
/// sizes.
Expected<Splits> resolve_splits(const Network& network, const std::vector<MeshLine>& meshes,
    const std::vector<Statement>& statements, std::int64_t gpus);

}  // namespace stepcast::dataflow
