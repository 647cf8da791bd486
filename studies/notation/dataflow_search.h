// stepcast dataflow --search lets the mapper fill the free parts of a program.
#pragma once

#include "dataflow/translate/foreign.h"
#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"

namespace stepcast::notation {

/// Finds the best mapping, prints it with how sure that is, and what the dataflow command says about it.
/// With --translate it prints the mapping in those words only.
Expected<void> search_program(const Imported& read, const Arguments& arguments, Console& console);

/// --budget, --seed and --threads without --search.
Expected<void> check_search_flags(const Arguments& arguments);

}  // namespace stepcast::notation
