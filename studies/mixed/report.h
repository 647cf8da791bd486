// The answer of predict for machines of several kinds, as a page and as JSON.
#pragma once

#include <string>

#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/mixed/mixed_run.h"

namespace stepcast::mixed {

std::string mixed_text(const MixedRun& run, const Console& console);
/// Base units.
std::string mixed_json(const MixedRun& run);

/// predict where --machine names GPUs of machines. Errors: flags whose answers are of one machine (--explain,
/// --timeline, ...), flags that say nothing of the run (--loader-time, --gc-time, ...), and those of forecast_mixed().
Expected<void> mixed_command(const Arguments& arguments, Console& console);

}  // namespace stepcast::mixed
