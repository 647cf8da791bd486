// stepcast timeline shows a step in time; its flags stand beside those of a run.
#pragma once

#include <span>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::timeline {

Expected<void> timeline_command(const Arguments& arguments, Console& console);
std::span<const Flag> timeline_flags();

}  // namespace stepcast::timeline
