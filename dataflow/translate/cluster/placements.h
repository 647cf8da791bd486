// Where every tensor of every operator lies on the mesh, for writers of other projects' placement languages (DTensor,
// PartitionSpec, Shardy), and the way back: from placements to the loop that each axis splits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dataflow/chip/chip.h"
#include "dataflow/notation/mapping.h"
#include "dataflow/place/placement.h"
#include "model/base/error.h"
#include "model/network/network.h"

namespace stepcast::dataflow {

/// A mesh axis, or a part of one where a compound split or a second mesh line cuts it. An axis of size 1 is a part too.
struct MeshPart {
  std::string axis;  ///< of the first mesh line
  std::string name;  ///< the axis, or "axis_1" (fastest), "axis_2", ... where it is cut
  std::int64_t size = 1;
  std::int64_t outside = 1;  ///< product of the slower parts of the same axis
  int atom = -1;             ///< in Mesh::atoms; -1 = one rank
  bool whole = true;
};

/// One tensor of an operator. Slots go by part: replicated, partial_sum, flat_shard or the tensor dim that is cut.
struct OperandPlacement {
  int tensor = -1;
  std::string name;
  std::vector<std::string> loops;  ///< that walk the tensor's dims
  bool output = false, weight = false;
  std::vector<Slot> used;  ///< as the operator needs it (inputs) or makes it (output)
  std::vector<Slot> home;  ///< where it is kept
};

struct OperatorPlacement {
  std::string name;  ///< "mlp.up"
  std::string text;  ///< the operator's line
  Monoid monoid = Monoid::sum;
  std::vector<std::string> split;          ///< by part: the loop, or ""
  std::vector<OperandPlacement> operands;  ///< inputs in order, the output last
};

struct PlacementView {
  Network network;
  Mesh mesh;
  std::vector<MeshPart> parts;  ///< fastest first
  std::vector<OperatorPlacement> operators;
  std::vector<Statement> statements;  ///< expanded
};

/// Errors: no mesh line, no operator, and all that place() refuses.
Expected<PlacementView> placement_view(const MappingProgram& program);

/// The units of a chip's levels as a mesh. Errors: indices that are sums of loops, parts that do not divide.
Expected<PlacementView> placement_view(const ChipProgram& chip);

/// How a language writes the placements of a view.
struct PlacementWords {
  std::string_view comment, flat;         ///< "#"; why it has no flat shards
  std::string_view words = "placements";  ///< what its sentences are called
  /// Lines behind the operator's own; "" where it is empty.
  std::function<std::string(const OperatorPlacement&)> head = {};
  std::function<std::string(const OperandPlacement&, const std::vector<Slot>&, Monoid)> spell;
  /// A remark behind a tensor's line, and lines behind all tensors.
  std::function<std::string(const OperatorPlacement&, const OperandPlacement&)> note = {};
  std::function<std::string(const OperatorPlacement&)> foot = {};
};
/// "dim m:8 k:8", each operator with a line per tensor ("W = STORED -> USED"), and what the language does not say:
/// homes in flat shards, statements that no placement holds (order in time, manners of moves, gradients, ...).
std::string placement_lines(const PlacementView& view, const PlacementWords& language);

/// The home differs from the use, or is a sum left unfinished, and is no flat shard: it has to be written.
bool says_home(const OperandPlacement& operand);

/// "x, y": parts whose slot is `slot`, slowest first, each as `spell` writes it.
std::string parts_text(
    const PlacementView& view, const std::vector<Slot>& slots, Slot slot, std::string (*spell)(const MeshPart&));

/// A language that says placements, as a reader needs it. All functions take trimmed text.
struct PlacementSyntax {
  std::string_view name, comment;  ///< "DTensor", "#"
  /// The format's own mesh line as one of ours ("mesh x:4 y:2"), "" when the line is none.
  std::string (*mesh)(const std::string& line);
  /// The format's own operator line as lines of ours (dims and operator), "" when the line is none.
  std::string (*rule)(const std::string& line);
  /// One tensor's placement by axis of the mesh line. `error.where` is filled in by the caller.
  Expected<std::vector<Slot>> (*place)(const std::string& text, const MeshLine& mesh, std::size_t dims, Monoid monoid);
};

/// Lines: a mesh, operators (and their dims), and behind each operator "TENSOR = PLACEMENT" or "TENSOR = STORED ->
/// USED" (output: MADE -> STORED) for each of its tensors. Gives the `par` statement of each axis and operator and the
/// homes. Errors name the axis, the tensors and what would be consistent.
Expected<MappingProgram> read_placements(
    const std::string& text, const std::string& file, const PlacementSyntax& syntax);

// The languages. Each writer's text is read back by its reader with the same placements.
std::string dtensor_text(const PlacementView& view);
std::string jax_text(const PlacementView& view);
std::string shardy_text(const PlacementView& view);
Expected<MappingProgram> read_dtensor(const std::string& text, const std::string& file);
Expected<MappingProgram> read_jax(const std::string& text, const std::string& file);
Expected<MappingProgram> read_shardy(const std::string& text, const std::string& file);

/// "O = torch.einsum('mk,kn->mn', I, W)", "O = jnp.einsum(...)" as an operator line of ours, or "".
std::string einsum_rule(const std::string& line);

/// Sets the slots of the named axes, the slowest first; each axis may stand once.
Expected<void> cut_by_axes(
    const std::vector<std::string>& names, Slot slot, const MeshLine& mesh, std::vector<Slot>& slots);

/// The parts between commas that no bracket or quote encloses, trimmed.
std::vector<std::string> split_list(std::string_view text);

}  // namespace stepcast::dataflow
