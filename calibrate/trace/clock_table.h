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

struct ClockTable {
  std::string file;
  /// By the GPU's number on its host; 0 where the table does not number them.
  std::map<std::int64_t, std::vector<ClockSample>> gpus;
  bool numbered = true;  ///< else one GPU alone was sampled, and nobody knows its number
};

/// Samples at which a GPU was idle, where the table has its utilization, and those that are not known ("[N/A]") are
/// left out. Errors: no column of clocks; none of the GPU's number, unless another one says that there is one GPU; a
/// clock that is no number; no sample of a GPU at work; more than is read as one text.
Expected<ClockTable> read_clock_table(const std::string& path);

}  // namespace stepcast::calibrate
