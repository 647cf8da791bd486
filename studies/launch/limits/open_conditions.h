// Conditions of a script that hang on what nothing sets: do they decide what is trained?
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "calibrate/import/scripts/launch_line.h"
#include "studies/launch/facts/framework.h"

namespace stepcast::launch {

/// The launch of the same script, read again with variables of these names empty in its conditions; nothing where there
/// is none then.
using LaunchAgain = std::function<std::optional<LaunchLine>(const std::set<std::string>& empty)>;

/// Where conditions of the script hang on variables that nothing sets, and arguments of its launch on the conditions:
/// which variables, which arguments, and how to tell them. "" where nothing that a forecast asks for hangs on them.
std::string open_conditions(const LaunchLine& line, const Framework& framework, const LaunchAgain& again);

}  // namespace stepcast::launch
