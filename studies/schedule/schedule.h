// stepcast schedule shows what one pipeline schedule, or each of them, does with given times.
#pragma once

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"

namespace stepcast::schedule {

Expected<void> schedule_command(const Arguments& arguments, Console& console);

}  // namespace stepcast::schedule
