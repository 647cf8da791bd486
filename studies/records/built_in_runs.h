// The records of published runs that the program carries.
#pragma once

#include <vector>

#include "model/base/error.h"
#include "studies/records/run_record.h"

namespace stepcast::records {

/// All of them, in their files' order. Errors: a wrong record, which is a broken build.
Expected<std::vector<Run>> built_in_runs();

}  // namespace stepcast::records
