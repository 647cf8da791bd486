// The run that a command line asks for: a network or a scenario file, or a launch that a flag hands in (--megatron run.sh and its
// kin, --define, --release, and words behind --), with the run flags over it.
#pragma once

#include <optional>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/launch/read/launch_request.h"

namespace stepcast {

/// Nothing where no flag names a launch. Errors: two launches, --define or --release without one, words behind -- without one.
Expected<std::optional<LaunchSource>> launch_source(const Arguments& arguments);

/// What stands beside a launch: the network of the command's word, --gpus.
Expected<LaunchHints> launch_hints(const Arguments& arguments);

/// The launch read and understood; the command's own flags are not yet put over it. A scenario file beside it is an error.
Expected<Request> read_launch_request(const LaunchSource& source, const Arguments& arguments);

/// `word` names a network or a scenario file; flags override the file.
Expected<Request> read_request(const std::string& word, const Arguments& arguments);
/// Of the command's first word, or of a launch that a flag names (launch/facts/framework.h), with the word for what it leaves open.
/// Error: neither.
Expected<Request> read_request(const Arguments& arguments);
/// What the flags say, over what is there; those that are not run flags are left to the command.
Expected<void> take_flags(Request& request, const Arguments& arguments);

}  // namespace stepcast
