// The flags of commands that forecast a run many times: all that say what the run is, as predict takes them, and the
// command's own instead of predict's output.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "studies/cli/flags.h"

namespace stepcast {

/// The run flags but for predict's output, then `own`. A flag of `own` with the name of a run flag takes its place.
std::vector<Flag> study_flags(std::initializer_list<Flag> own);

}  // namespace stepcast
