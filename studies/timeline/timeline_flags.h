// What `stepcast timeline` takes beside the flags of a run.
#pragma once

#include <span>

#include "studies/cli/flags.h"

namespace stepcast {

std::span<const Flag> timeline_flags();

}  // namespace stepcast
