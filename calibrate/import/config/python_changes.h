// What a statement of Python does to the names of its function: what it sets, and which configurations a call may
// change.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/import/config/python_scope.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// "else: x = 4" on one line, or "a = b = 4": more than one thing is done.
bool does_more(std::string_view target, std::string_view value);
/// "config.training.steps" of "config.training.steps = 7" and "x" of "x: int = 1".
std::string_view assigned_target(std::string_view text);

/// A call that stands alone changes what it is handed or belongs to; one that names no configuration changes none.
bool take_call(const PythonStatement& statement, PythonScope& scope);
/// "n = reshape(cfg)" may change the configuration that it is handed, and a class keeps it.
void take_inner_call(const PythonStatement& statement, std::string_view value, PythonScope& scope);

/// "config.training.steps": the keyword of a call in a call. Error, at `place`: a part in too many parts.
Expected<void> set_part(std::string_view target, PythonValue value, const std::string& place, PythonNames& names);

}  // namespace stepcast::calibrate
