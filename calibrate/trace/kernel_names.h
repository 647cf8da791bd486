// The names that libraries give their kernels, as rows of data: what is searched for in a name, and what work it is.
// The first row that matches decides.
#pragma once

#include <string_view>

#include "calibrate/trace/work_kind.h"

namespace stepcast::calibrate {

/// Of a kernel's name as the profiler wrote it, demangled or not. A kernel that no row knows is unplaced.
WorkKind work_kind_of(std::string_view kernel);

}  // namespace stepcast::calibrate
