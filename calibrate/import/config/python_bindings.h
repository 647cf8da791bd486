// What names stand for where a function of Python begins: constants of its file, and its parameters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibrate/import/config/python_text.h"
#include "calibrate/import/scripts/launch_arguments.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// What the file gives a name outside of functions, where it is literal and no other value may come behind it.
PythonNames constant_names(const std::vector<PythonStatement>& statements);

struct BindingSource {
  const std::map<std::string, std::string>& defined;  ///< by the user
  const std::string& where;                           ///< the file, for errors
};

/// Parameters by what the call hands over or the user defines, else by what the function has for them.
/// `call`: what another function hands over; null of the function that is asked for, whose own values that nobody told
/// are `fallbacks`. Error: a call with more than its parameters, or with what is no plain value.
Expected<void> bind_parameters(const PythonStatement& definition, const PythonValue* call, const BindingSource& source,
    PythonNames& names, std::vector<GivenArgument>& fallbacks);

}  // namespace stepcast::calibrate
