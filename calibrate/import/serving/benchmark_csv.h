// GenAI-Perf's and AIPerf's tables: a line of names and statistics, then "Metric,Value" lines.
#pragma once

#include <string>

#include "calibrate/import/serving/benchmark_output.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// Errors: lines with fewer cells than the header, and cells that are no numbers, by line and column.
Expected<BenchmarkOutput> benchmark_of_csv(const std::string& text, const std::string& where);

}  // namespace stepcast::calibrate
