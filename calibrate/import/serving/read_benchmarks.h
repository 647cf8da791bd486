// Reads what benchmarks of serving engines wrote, by the keys of each tool.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/serving/benchmark_output.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// One or several runs. Errors name file and line: text that is cut off or of no such tool, figures that are no numbers
/// or not above 0, runs in which requests failed (their figures are of another load), and a run without any figure.
Expected<std::vector<BenchmarkOutput>> read_benchmark_output(const std::string& text, const std::string& where);

}  // namespace stepcast::calibrate
