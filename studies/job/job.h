// stepcast job: a whole training job, forecast.
#pragma once

#include <span>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::job {

Expected<void> job_command(const Arguments& arguments, Console& console);
std::span<const Flag> job_flags();

}  // namespace stepcast::job
