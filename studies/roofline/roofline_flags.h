// What `stepcast roofline` takes beside the flags of a run.
#pragma once

#include <span>

#include "studies/cli/flags.h"

namespace stepcast {

std::span<const Flag> roofline_flags();

}  // namespace stepcast
