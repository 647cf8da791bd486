// Reads a launch that the command line hands in: --megatron run.sh and its kin, --define, --release, and words behind
// --.
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

}  // namespace stepcast
