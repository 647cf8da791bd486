// The flags that say what a run is, made of its fields (run/fields.h) and of the launches that may say it instead.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "studies/cli/flags.h"

namespace stepcast::launch {

/// What `stepcast predict` takes.
std::span<const Flag> run_flags();

/// The flag names a launch, or says how one is read.
bool is_launch_flag(std::string_view name);

/// For commands that forecast a run many times: the run flags but for predict's output, then `own`. A flag of `own`
/// with the name of a run flag takes its place.
std::vector<Flag> study_flags(std::initializer_list<Flag> own);

}  // namespace stepcast::launch
