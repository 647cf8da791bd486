// stepcast predict forecasts one training step.
#pragma once

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"

namespace stepcast::predict {

Expected<void> predict_command(const Arguments& arguments, Console& console);

}  // namespace stepcast::predict
