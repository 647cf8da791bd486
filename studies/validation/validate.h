// stepcast validate holds forecasts against measured runs.
#pragma once

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"

namespace stepcast::validation {

Expected<void> validate_command(const Arguments& arguments, Console& console);

}  // namespace stepcast::validation
