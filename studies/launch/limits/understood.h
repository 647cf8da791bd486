// Whether all of a launch is understood: true or refused. An argument that no table knows may change the network, the
// plan or the batch, and one whose row says "refused" does.
#pragma once

#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

/// Arguments that the framework's table does not know, in words: "run.sh:12 --wibble (not known of any release of
/// Megatron-LM)".
std::vector<std::string> unknown_arguments(const Launch& launch);

/// Those whose row says that no forecast is of a run with them, with the reason.
std::vector<std::string> refused_arguments(const Launch& launch);

/// Errors: a program that trains another kind of network or none, and arguments that nobody knows, all at once; with
/// `lenient` they are warnings. Arguments that make another network or plan than any that is forecast are errors in any
/// case. Files that are named and not there are warnings.
Expected<std::vector<std::string>> understood(const Launch& launch, bool lenient);

}  // namespace stepcast::launch
