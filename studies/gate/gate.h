// stepcast gate: does what was measured still hold what it should, and did this change make it slower?
#pragma once

#include <span>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::gate {

/// `check FILE`, `run FILE` or `manifest [FILE]`. A case that is slower, and a run that failed, is exit code 1.
Expected<void> gate_command(const Arguments& arguments, Console& console);
std::span<const Flag> gate_flags();

}  // namespace stepcast::gate
