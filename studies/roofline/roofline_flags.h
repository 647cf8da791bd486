// stepcast roofline shows operators and collectives under the roofs of GPU and links; its flags stand beside those of a
// run.
#pragma once

#include <span>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::roofline {

Expected<void> roofline_command(const Arguments& arguments, Console& console);
std::span<const Flag> roofline_flags();

}  // namespace stepcast::roofline
