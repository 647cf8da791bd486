// The run that words and flags of a command line ask for, without a launch.
#pragma once

#include <string>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/run/request.h"

namespace stepcast {

/// `word` names a network or a scenario file; flags override the file.
Expected<Request> read_request(const std::string& word, const Arguments& arguments);
/// What the flags say, over what is there; those that are not run flags are left to the command.
Expected<void> take_flags(Request& request, const Arguments& arguments);

}  // namespace stepcast
