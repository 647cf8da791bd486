// Clocks of GPUs that somebody sampled while a job ran: nvidia-smi --query-gpu=... --format=csv, amd-smi monitor --csv.
// Their times are not those of a trace: what counts is the median while the GPU worked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "calibrate/trace/rank_trace.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// By the GPU's number on its host. Samples at which it was idle, where the table has its utilization, and those that
/// are not known ("[N/A]") are left out. Errors: no column of clocks, a clock that is no number, no sample of a GPU at
/// work.
Expected<std::map<std::int64_t, std::vector<ClockSample>>> read_clock_table(const std::string& path);

}  // namespace stepcast::calibrate
