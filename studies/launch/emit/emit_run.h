// --emit TARGET on a command that has found its run writes the launch instead of the report.
#pragma once

#include <string>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/run/scenario.h"

namespace stepcast::launch {

/// The text goes to stdout. Lines on stderr name what the framework cannot say ("stepcast: megatron cannot say: ..."),
/// and the flags that have to stand beside the file when it is read back. Where the arguments name a launch, what it
/// says beside the step is written again.
Expected<void> emit_run(const Arguments& arguments, const Scenario& scenario, Console& console);

}  // namespace stepcast::launch
