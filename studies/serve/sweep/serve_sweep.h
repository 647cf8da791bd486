// stepcast serve-sweep: engines, splits and loads side by side.
#pragma once

#include <span>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::serve::sweeping {

Expected<void> serve_sweep_command(const Arguments& arguments, Console& console);
std::span<const Flag> serve_sweep_flags();

}  // namespace stepcast::serve::sweeping
