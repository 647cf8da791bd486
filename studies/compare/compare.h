// stepcast compare: a measured step beside its forecast, two traces side by side, or what a trace holds.
#pragma once

#include <span>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::comparison {

Expected<void> compare_command(const Arguments& arguments, Console& console);
std::span<const Flag> compare_flags();

}  // namespace stepcast::comparison
