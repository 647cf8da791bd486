// stepcast dataflow --translate TARGET says the program in another tool's words, or names its mapping as that tool
// does.
#pragma once

#include "dataflow/translate/foreign.h"
#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"

namespace stepcast::notation {

/// Targets are the rows of foreign_formats() that write. Notes go to the error stream, or into the JSON document.
Expected<void> translate_program(const Imported& read, const Arguments& arguments, Console& console);

}  // namespace stepcast::notation
