// stepcast infer: one phase of serving, forecast.
#pragma once

#include <span>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::infer {

Expected<void> infer_command(const Arguments& arguments, Console& console);
std::span<const Flag> infer_flags();

}  // namespace stepcast::infer
