// Finds the program of `stepcast dataflow` in its source. What is done with it then is the same for all sources.
#pragma once

#include "dataflow/translate/foreign.h"
#include "model/base/error.h"
#include "studies/cli/arguments.h"

namespace stepcast {

/// The program that the words of the command line name, what was left out on the way, and how its windows count.
Expected<Imported> read_program(const Arguments& arguments);

}  // namespace stepcast
