// Traces as tables, a line for each kernel or copy: Nsight Systems' reports of them (nsys stats --report cuda_gpu_trace
// --format csv), rocprofv3's (--kernel-trace, --memory-copy-trace) and rocprof's of before (results.csv).
#pragma once

#include <string_view>
#include <vector>

#include "calibrate/import/timings_file.h"
#include "calibrate/trace/rank_trace.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// By the columns of the first line.
bool is_trace_table(std::string_view head);

/// One trace per GPU. Lines pass by one at a time. Errors: a row that is short, a time that is no number or ends before
/// it starts, no rows.
Expected<std::vector<RankTrace>> read_trace_table(TimingsStream& stream);

}  // namespace stepcast::calibrate
