// Rows of foreign_formats() for languages of placements and of names, and for the notation itself.
#pragma once

#include <vector>

#include "dataflow/translate/foreign.h"

namespace stepcast::dataflow {

/// DTensor, PartitionSpec and Shardy out and in; Megatron's names out and a layer's line in; layouts of Pope et al. and
/// the Eyeriss taxonomy out; the notation, printed. Placements of a program without a mesh are those of its chip's
/// units.
std::vector<ForeignFormat> cluster_formats();

}  // namespace stepcast::dataflow
