// stepcast infer: one phase of serving, forecast.
#pragma once

#include <span>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::infer {

Expected<void> infer_command(const Arguments& arguments, Console& console);
std::span<const Flag> infer_flags();
/// Of them, those that say on which machine an engine runs, and how it is split.
std::vector<Flag> engine_flags();

}  // namespace stepcast::infer
