// Reads what flags say of a run: a launch (--megatron run.sh and its kin, --define, --release, and words behind --),
// what stands beside it, and the run flags that go over it.
#pragma once

#include <optional>

#include "studies/cli/arguments.h"
#include "studies/launch/read/launch_request.h"

namespace stepcast::launch {

/// Nothing where no flag names a launch. Errors: two launches, --define or --release without one, words behind --
/// without one.
Expected<std::optional<LaunchSource>> launch_source(const Arguments& arguments);

/// What stands beside a launch: the network of the command's word, --gpus.
Expected<LaunchHints> launch_hints(const Arguments& arguments);

/// What the flags say, over what is there; those that are not run flags are left to the command.
Expected<void> take_flags(Request& request, const Arguments& arguments);

}  // namespace stepcast::launch
