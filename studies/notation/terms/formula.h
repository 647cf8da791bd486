// Evaluates the formulas of terms, which a person reads as text and a test computes: numbers, names, + - * / and
// parentheses.
#pragma once

#include <map>
#include <string>

#include "model/base/error.h"

namespace stepcast {

/// Errors: where the text stops making sense, unknown names (with the near ones), division by zero.
Expected<double> formula_value(const std::string& formula, const std::map<std::string, double>& values);

}  // namespace stepcast
