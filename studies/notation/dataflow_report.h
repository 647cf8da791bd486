// A program of the notation, worked out: every operator on the architecture, and the whole on the mesh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataflow/notation/mapping.h"
#include "model/base/error.h"
#include "studies/notation/dataflow_chip.h"
#include "studies/notation/dataflow_cluster.h"

namespace stepcast::notation {

struct DataflowReport {
  std::vector<ChipReport> chips;  ///< operators that level lines map
  std::optional<ClusterReport> cluster;
  bool one = false;                ///< one operator was meant: its figures stand at the top level
  std::vector<std::string> notes;  ///< of the options
};

struct DataflowOptions {
  std::string op;                    ///< empty: all operators
  Windows windows = Windows::exact;  ///< how sliding windows are counted
  std::vector<std::string> notes;    ///< about where the program came from, shown with the figures
};

/// `file` goes into errors about the whole program.
/// Errors: neither mesh nor arch; an unknown operator, with the nearest name; whatever is illegal in the mapping.
Expected<DataflowReport> dataflow_report(
    const MappingProgram& program, const DataflowOptions& options, const std::string& file);

/// One document. One operator: its fields at the top level; several: a list `operators`. What the mesh makes of the
/// program (collectives with a pass, placements with a copy, memory, skew) stands at the top level.
std::string dataflow_json(const DataflowReport& report);
std::string dataflow_text(const DataflowReport& report);

}  // namespace stepcast::notation
