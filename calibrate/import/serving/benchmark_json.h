// One JSON object that a benchmark of a serving engine wrote, by the tool whose keys it has.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "calibrate/import/serving/benchmark_output.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// Errors: an object of no such tool; failed requests; numbers that are none.
Expected<BenchmarkOutput> benchmark_of_json(const nlohmann::json& object, const std::string& where);

}  // namespace stepcast::calibrate
