// What a mapping is called: Megatron's classes and flags, Pope et al.'s layouts, the Eyeriss taxonomy. Names follow
// from the part that a split loop plays in its operator (free of the input, of the weight, or of both) and from the
// homes; no letter means anything. Where no name exists the row says so and why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/chip/chip.h"
#include "dataflow/translate/cluster/placements.h"
#include "model/base/error.h"

namespace stepcast::dataflow {

/// The part of a loop in O[m,n] += I[m,k] * W[k,n], wherever it stands and whatever it is called.
enum class LoopRole : std::uint8_t {
  none,     ///< not split
  rows,     ///< m: indexes input and output, not the weight
  columns,  ///< n: indexes weight and output, not the input
  reduced,  ///< k: the output lacks it
  batch,    ///< b: indexes all three
};

/// "m", "n", "k", "b" or "-".
const char* to_text(LoopRole role);

/// Input, weight and output of an operator by the part they play; null where it has none.
struct OperatorParts {
  const OperandPlacement* input = nullptr;
  const OperandPlacement* weight = nullptr;  ///< a weight, or the second operand of a product
  const OperandPlacement* output = nullptr;
};
OperatorParts parts_of(const OperatorPlacement& op);
LoopRole role_of(const OperatorPlacement& op, const std::string& loop);

struct NameRow {
  std::string vocabulary;  ///< "Megatron", "Pope et al.", "2-D products", "Eyeriss"
  std::string op, axis;    ///< axis "" = all of them
  std::string split;       ///< "n (columns)"
  std::string name;        ///< "" = none
  std::string why;         ///< what decided; why there is none
};

/// One row per operator and axis that splits it or keeps its weight.
std::vector<NameRow> megatron_names(const PlacementView& view);

/// Layouts of Pope et al. 2022 (arXiv 2211.05102), one row per operator with a weight, over all axes.
std::vector<NameRow> pope_names(const PlacementView& view);

/// SUMMA, Cannon, 2.5-D: one row per product of two operands that two axes split.
std::vector<NameRow> product_names(const PlacementView& view);

/// Chen et al. 2016 (Eyeriss, ISCA 2016): weight-, output-, input-, row-stationary or no local reuse.
NameRow taxonomy_name(const ChipProgram& chip);

std::vector<NameRow> cluster_names(const PlacementView& view);

/// The rows as lines of text.
std::string names_text(const std::vector<NameRow>& rows);

/// Lines "ColumnParallelLinear m:4096 n:14336 k:4096 tp:8 sequence_parallel": one layer's extents, its axis and
/// options.
Expected<MappingProgram> read_megatron(const std::string& text, const std::string& file);

}  // namespace stepcast::dataflow
