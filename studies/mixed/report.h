// The answer of predict for machines of several kinds, as a page and as JSON.
#pragma once

#include <string>

#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/mixed/mixed_run.h"

namespace stepcast::mixed {

/// The network on its machines, then the split and the batch.
std::string mixed_title(const MixedRun& run, const Console& console);
std::string mixed_text(const MixedRun& run, const std::vector<AroundPart>& around, const Console& console);
/// Base units.
std::string mixed_json(const MixedRun& run, const std::vector<AroundPart>& around);

/// predict where --machine names GPUs of machines. Errors: flags whose answers are of one machine (--explain,
/// --timeline, ...), and those of forecast_mixed() and around_kinds().
Expected<void> mixed_command(const Arguments& arguments, Console& console);

}  // namespace stepcast::mixed
