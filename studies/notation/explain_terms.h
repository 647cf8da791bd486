// Explains terms of the field: what they mean, their lines of the notation, their formulas.
#pragma once

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"

namespace stepcast::notation {

Expected<void> explain_term(const Arguments& arguments, Console& console);

}  // namespace stepcast::notation
