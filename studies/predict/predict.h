// stepcast predict forecasts one training step.
#pragma once

#include <span>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::predict {

Expected<void> predict_command(const Arguments& arguments, Console& console);
std::span<const Flag> predict_flags();

}  // namespace stepcast::predict
