// stepcast serve: an engine under load, forecast.
#pragma once

#include <span>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::serve {

Expected<void> serve_command(const Arguments& arguments, Console& console);
std::span<const Flag> serve_flags();

}  // namespace stepcast::serve
