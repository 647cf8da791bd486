// The run that a command line asks for: a network or a scenario file, or a launch that a flag hands in (--megatron
// run.sh and its kin), with the run flags over it.
#pragma once

#include <string>

#include "studies/launch/read/launch_flags.h"

namespace stepcast::launch {

/// The launch read and understood; the command's own flags are not yet put over it. A scenario file beside it is an
/// error.
Expected<Request> read_launch_request(const LaunchSource& source, const Arguments& arguments);

/// `word` names a network or a scenario file; flags override the file.
Expected<Request> read_request(const std::string& word, const Arguments& arguments);
/// Of the command's first word, or of a launch that a flag names (launch/facts/framework.h), with the word for what it
/// leaves open. Error: neither.
Expected<Request> read_request(const Arguments& arguments);

}  // namespace stepcast::launch
