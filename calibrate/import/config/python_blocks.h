// Which statements of Python belong to which branch of an "if", and what a function's parameters are.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/config/python_text.h"

namespace stepcast::calibrate {

struct PythonBranch {
  std::string condition;           ///< "" of else
  std::size_t begin = 0, end = 0;  ///< statements of its body
};

/// "if a:", "elif b:", "else:": a line that opens a branch.
bool opens_branch(const PythonStatement& statement);

/// Those of the "if" at `at`; the last one's end is where what follows begins. None where a branch has no body below
/// it.
std::vector<PythonBranch> python_branches(const std::vector<PythonStatement>& statements, std::size_t at);

struct PythonParameter {
  std::string name;      ///< "*", "*args" and "**rest" with their stars
  std::string fallback;  ///< what it is where a call leaves it out; "" = it must be told
};

/// Of "def f(size: int = 4, *, kind='a') -> Config:".
std::vector<PythonParameter> python_parameters(std::string_view definition);

/// What a call hands to each parameter; nothing where stars or names that the function does not have stand in it.
std::optional<PythonNames> handed_values(const std::vector<PythonParameter>& parameters, const PythonValue& call);

}  // namespace stepcast::calibrate
