// Reads what stands around the rows of nccl-tests' text: versions, options and devices.
#pragma once

#include <string>

#include "calibrate/import/nccl/nccl_row.h"
#include "calibrate/import/nccl/nccl_run.h"

namespace stepcast::calibrate::nccl {

/// Takes what a piece of the output says about the run: "# nThread 1 nGpus 8 ...", "#  Rank  0 ... on host device  0
/// ...",
/// "# nccl-tests version ...", "# Collective test starting: ...", "NCCL version 2.26.6+cuda12.8", the footer.
/// `begins` becomes true for what stands before a table: where rows were read already, another run begins.
void read_about(const Words& words, Run& run, bool& begins);
/// The run's date, from a time stamp among the words.
void read_date(const Words& words, Run& run);
/// nccl-library=22606 and JSON's nccl_version.
void take_library_version(std::int64_t code, Run& run);

}  // namespace stepcast::calibrate::nccl
