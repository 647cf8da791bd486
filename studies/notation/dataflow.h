// stepcast dataflow explains a program of the notation, counts what it moves, searches it or translates it.
#pragma once

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"

namespace stepcast::notation {

Expected<void> dataflow_command(const Arguments& arguments, Console& console);

}  // namespace stepcast::notation
