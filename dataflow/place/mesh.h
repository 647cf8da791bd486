// Mesh lines as atoms: the common refinement of all lines. Rules below work per atom; an axis is a list of atoms.
// docs/design.md, rule 1: collect the cut points of all lines, each must divide the next.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataflow/notation/mapping.h"
#include "dataflow/program.h"
#include "model/base/error.h"

namespace stepcast::dataflow {

inline constexpr int max_atoms = 24;
using AtomMask = std::uint32_t;

struct Atom {
  std::int64_t stride = 1, size = 1;
  bool stage = false;  ///< part of the axis that carries the layers: not a place for tensors
};

struct Mesh {
  std::vector<Atom> atoms;  ///< fastest first
  // clang-format off
  struct Axis { std::string name; std::int64_t size = 1, stride = 1; AtomMask atoms = 0; };
  // clang-format on
  std::vector<Axis> axes;  ///< of all lines
  std::int64_t ranks = 1;

  [[nodiscard]] const Axis* find(const std::string& name) const;
  [[nodiscard]] std::int64_t size_of(AtomMask mask) const;
  [[nodiscard]] std::vector<std::string> axis_names() const;
  /// Axes that make up the mask, slow to fast joined by '*'; a part of an axis is named "tp/2".
  [[nodiscard]] std::string label(AtomMask mask) const;
  [[nodiscard]] Group group(AtomMask mask) const;
  [[nodiscard]] Group group_without_label(AtomMask mask) const;
};

/// All lines must have the same product, which must be `gpus`; `extra_cuts` refine further (compound splits).
Expected<Mesh> make_mesh(std::span<const MeshLine> lines, std::int64_t gpus, std::span<const std::int64_t> extra_cuts);

}  // namespace stepcast::dataflow
