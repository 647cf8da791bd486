// Traces in SQLite: Nsight Systems' export (nsys export --type sqlite; tables as the schemas 3.x have them) and rocpd,
// which rocprofv3 writes by default since ROCm 7 (views of schema 3). Tables that are missing are no error where others
// say the same.
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
Expected<std::vector<RankTrace>> read_sql_trace(const std::string& path);

}  // namespace stepcast::calibrate
