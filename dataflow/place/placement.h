// Where tensors are: per atom Replicate, Shard(dim), flat shard or Partial; and the loop each operator splits there.
// docs/design.md, rules 3 to 8 (choice of loop, compound, placement of an access).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/notation/mapping.h"
#include "dataflow/place/mesh.h"
#include "model/network/network.h"

namespace stepcast::dataflow {

/// >= 0: Shard of that tensor dim (position in the tensor).
using Slot = std::int8_t;
inline constexpr Slot replicated = -1, partial_sum = -2, flat_shard = -3;

struct Placement {
  std::array<Slot, max_atoms> at;
  Placement() { at.fill(replicated); }
  friend bool operator==(const Placement&, const Placement&) = default;
};

/// What one operator does on each atom.
struct OperatorSplit {
  std::array<std::int16_t, max_atoms> loop;       ///< dim id, or -1 = not split
  std::array<std::int16_t, max_atoms> statement;  ///< which statement won, or -1
  OperatorSplit() {
    loop.fill(-1);
    statement.fill(-1);
  }
};

/// Placement that an access must have (inputs) or gets (output, Partial where a split loop is missing).
Placement placement_of(const Access& access, const OperatorSplit& split, const Mesh& mesh, bool output);

/// Elements of `tensor` that one rank holds; flat shards are padded to equal parts.
double local_elements(const Network& network, int tensor, const Placement& place, const Mesh& mesh);

/// Extent of a loop on one rank.
double local_extent(const Network& network, int loop, const OperatorSplit& split, const Mesh& mesh);

/// "R", "S(h)", "P" per atom group: "h@x, P@tp".
std::string to_text(const Placement& place, const Network& network, int tensor, const Mesh& mesh);

/// True when an `at` scope holds for the operator (an empty scope always does).
bool in_scope(const std::vector<std::string>& scope, const Operator& op);

/// Bytes per element of a wire type ("fp8", "mxfp8", ...), or 0 when unknown.
double wire_bytes(const std::string& type);

/// "file:line:column".
std::string where_of(const Statement& statement);

}  // namespace stepcast::dataflow
