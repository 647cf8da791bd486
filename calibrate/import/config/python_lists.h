// Lists and dictionaries of a Python function, which change in place: one that has two names changes under both.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/config/python_scope.h"

namespace stepcast::calibrate {

/// A list or a dictionary, written out.
bool is_list(const PythonValue& value);
/// May the statement change the list that the name has, or give it away to what may? "cfg.modules = mods" and
/// "other = mods" do not: they give it one more name.
bool may_change_list(std::string_view statement, std::string_view name);

/// Names that hold the lists that the text mentions, or may hold them.
std::set<std::string> given_lists(const PythonScope& scope, std::string_view text);
/// `target` was given these: it is another name of the same lists from here on.
void share_lists(PythonScope& scope, std::string_view target, const std::set<std::string>& given);

struct ChangedList {
  std::string path;     ///< "mods" or "cfg.model.modules"
  bool called = false;  ///< by a method of its own; else it is handed on
};
/// Lists that a text may change: it names a method of them that does, or hands them to a function that is no class.
std::vector<ChangedList> changed_lists(const PythonScope& scope, std::string_view text);

/// Stands a list at the path?
bool names_list(const PythonScope& scope, std::string_view path);
/// Has the list at the path other names?
bool is_shared_list(const PythonScope& scope, std::string_view path);

}  // namespace stepcast::calibrate
