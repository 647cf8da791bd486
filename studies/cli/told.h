// What the command line told, in the JSON that it asked for: so a file says by itself which question it answers.
#pragma once

#include <string>

#include "studies/cli/arguments.h"

namespace stepcast::cli {

/// The document with a last member "told": each flag as it was typed, but --json. `document` is one object.
std::string with_told(std::string document, const Arguments& arguments);

}  // namespace stepcast::cli
