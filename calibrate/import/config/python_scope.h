// What a Python function has given names so far, and which names hold parts of the same value: what is set by one of
// them would have to be seen by the other.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "calibrate/import/config/python_text.h"

namespace stepcast::calibrate {

struct PythonScope {
  PythonNames names;
  /// By names whose value is, or may be, a part of what other names hold: these.
  std::map<std::string, std::set<std::string>, std::less<>> held_by;
  /// By names that hold lists: others that hold, or may hold, the same (python_lists.h).
  std::map<std::string, std::set<std::string>, std::less<>> lists;
};

/// The name gets another value, and holds nothing of what it held.
void forget_name(PythonScope& scope, std::string_view name);
/// The name holds none of the lists that it held.
void forget_list(PythonScope& scope, const std::string& name);
/// What is held by a configuration that has changed is not known by its other names any more.
void change_config(PythonScope& scope, const std::string& name, const PythonStatement& by);
/// The names of calls that a text mentions, and those that hold these.
std::set<std::string> mentioned_configs(const PythonScope& scope, std::string_view text);

/// "config.training" and "config": what may be assigned to.
bool is_python_path(std::string_view text);
/// "reshape" of "reshape(cfg, 4)": what a text calls as a whole; "" of other texts.
std::string_view called_function(std::string_view text);
/// "Trainer.Config": a class keeps what it is told, and changes none of it.
bool is_python_class(std::string_view function);
/// Is the name handed on whole, "f(1, cfg)"?
bool hands_whole(std::string_view text, std::string_view name);
/// How many values are in it, itself among them.
std::size_t count_parts(const PythonValue& value);

}  // namespace stepcast::calibrate
