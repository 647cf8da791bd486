// Lists and dictionaries of a Python function, which change in place: one that has two names changes under both.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/config/python_scope.h"

namespace stepcast::calibrate {

/// `target` was given what the text says: the names of lists in it are names of the same lists from here on.
void share_lists(PythonScope& scope, std::string_view target, std::string_view text);

/// Paths of lists that a text may change, "mods" or "cfg.model.modules": it calls a method of them that does, or hands
/// them to a function that is no class.
std::vector<std::string> changed_lists(const PythonScope& scope, std::string_view text);

/// Stands a list at the path?
bool names_list(const PythonScope& scope, std::string_view path);
/// Has the list at the path other names?
bool is_shared_list(const PythonScope& scope, std::string_view path);

}  // namespace stepcast::calibrate
