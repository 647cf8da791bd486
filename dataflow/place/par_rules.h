// The `par` statements of a mapping, checked against a network and a mesh.
#pragma once

#include <vector>

#include "dataflow/notation/mapping.h"
#include "dataflow/place/mesh.h"
#include "model/base/error.h"
#include "model/network/network.h"

namespace stepcast::dataflow {

/// One `par` statement: the atoms that it claims, and the dims that it splits there.
struct ParRule {
  const ParStatement* par;
  const Statement* statement;
  int index;
  AtomMask atoms;
  std::vector<int> dims;  ///< ids; -1 for a factor the network lacks
};

/// Marks the atoms of the axis that carries the layers: no tensor may lie on them. Error: no such axis.
Expected<void> mark_stage_atoms(Mesh& mesh, const std::vector<Statement>& statements);

/// In text order. Errors, also of statements that are no rules: unknown names, axes and wire types; a dim on the axis
/// that carries the layers, in listed parts, or with an extent that the pieces of its layout do not divide.
Expected<std::vector<ParRule>> par_rules(
    const Network& network, const Mesh& mesh, const std::vector<Statement>& statements);

/// The statements as somebody could have written them for this network: without what aliases say of loops and tensors
/// that only other networks have.
std::vector<Statement> statements_for(const Network& network, const std::vector<Statement>& statements);

}  // namespace stepcast::dataflow
