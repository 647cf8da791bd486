// stepcast timeline: one step in time, as a trace, a page or a picture. What it takes beside the flags of a run.
#pragma once

#include <span>

#include "model/error.h"
#include "studies/arguments.h"
#include "studies/console.h"
#include "studies/flags.h"

namespace stepcast {

std::span<const Flag> timeline_flags();
Expected<void> timeline_command(const Arguments& arguments, Console& console);

}  // namespace stepcast
