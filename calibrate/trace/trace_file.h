// Any trace that this folder reads, told by its first bytes.
#pragma once

#include <string>
#include <vector>

#include "calibrate/trace/rank_trace.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// One trace per GPU of the file. Errors: what cannot be read, is of another kind (which, and what to export), breaks
/// off, or holds nothing of a GPU.
Expected<std::vector<RankTrace>> read_trace_file(const std::string& path);

}  // namespace stepcast::calibrate
