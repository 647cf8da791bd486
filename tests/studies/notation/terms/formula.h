// Evaluates the formulas of terms, which a person reads as text and a test computes: numbers, names, + - * / and
// parentheses.
#pragma once

#include <map>
#include <string>

#include "model/base/error.h"
#include "studies/notation/terms/term.h"

namespace stepcast::notation {

/// Errors: where the text stops making sense, unknown names (with the near ones), division by zero.
Expected<double> formula_value(const std::string& formula, const std::map<std::string, double>& values);

/// What the names in the volumes of a term's program stand for: axes (their sizes), tensors (bytes of the whole one)
/// and their gradients (4 bytes per element for weights). Empty without a program on a mesh.
std::map<std::string, double> formula_values(const Term& term);

}  // namespace stepcast::notation
