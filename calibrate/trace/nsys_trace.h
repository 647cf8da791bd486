// Nsight Systems' export to SQLite (nsys export --type sqlite): kernels, copies and fills of every GPU of the report.
// Tables as the schemas 3.x have them; columns that are missing are no error where others say the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/trace/rank_trace.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// By the first bytes of the file.
bool is_sqlite(std::string_view head);
/// One trace per GPU. Errors: a damaged database, no table of kernels, no kernels.
Expected<std::vector<RankTrace>> read_nsys_database(const std::string& path);

}  // namespace stepcast::calibrate
