// Reads tables of engines' scan kernels and the convolutions in front of them: github.com/ai-dynamo/aiconfigurator's
// gdn_perf, kda_perf and mamba2_perf; and of their hyper-connections, mhc_module_perf; one JSON object a line,
// `latency` in milliseconds.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/rows/scan_timing.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// Scans over prompts ("context"), convolutions of prompts and of words ("generation"), of which there may be none;
/// rows of other phases are counted. Errors name file and line: a row that is no object, a scan that is not known, a
/// GPU that the catalogue lacks, a size or a time that is not above 0.
Expected<ScanTimings> read_scan_table(std::string_view text, const std::string& where);

}  // namespace stepcast::calibrate
