// Measurements as a file: contexts once, then one table per kind of query with its columns named, a row per line. What
// `stepcast calibrate import` and `measure` write and `fit` reads; every file reads back the same.
//
//   { "stepcast_measurements": 1,
//     "contexts": [{"gpu": "h100-sxm", "software": "trtllm 1.3.0rc20", "launch_mode": "graph", ...}],
//     "gemm": {"columns": ["context", "time_s", "m", "n", "k", "precision"],
//              "rows": [[0, 1.2e-05, 128, 4096, 4096, "bf16"]]},
//     "collective": {...}, "notes": [...] }
//
// Columns that hold their default in every row are left out.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/rows/measurement.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

Expected<Measurements> read_measurements(std::string_view text, const std::string& where);
std::string write_measurements(const Measurements& measurements);

}  // namespace stepcast::calibrate
