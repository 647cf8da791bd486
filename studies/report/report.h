// stepcast report writes a forecast as a folder that can be sent to a colleague.
#pragma once

#include <span>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::report {

Expected<void> report_command(const Arguments& arguments, Console& console);
std::span<const Flag> report_flags();

}  // namespace stepcast::report
