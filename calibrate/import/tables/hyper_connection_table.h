// Reads rows of engines' hyper-connections: github.com/ai-dynamo/aiconfigurator's mhc_module_perf.
#pragma once

#include <string>

#include "calibrate/rows/hyper_connection_timing.h"
#include "model/base/error.h"
#include "model/base/json_reader.h"

namespace stepcast::calibrate {

/// What these tables call a row.
bool names_hyper_connection(const std::string& op_name);

/// Errors name the key: a GPU that the catalogue lacks, a size or a time that is not above 0, a number of Sinkhorn's
/// rounds that no law speaks of.
Expected<HyperConnectionTiming> read_hyper_connection_row(
    JsonObject& row, const std::string& op_name, const std::string& where);

}  // namespace stepcast::calibrate
