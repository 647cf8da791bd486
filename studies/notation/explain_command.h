// stepcast explain tells what a term of the field means, or every argument of a launch.
#pragma once

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"

namespace stepcast::notation {

Expected<void> explain_command(const Arguments& arguments, Console& console);

}  // namespace stepcast::notation
