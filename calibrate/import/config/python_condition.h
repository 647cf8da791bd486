// Conditions of Python over literals: "a > 1 and b is None".
#pragma once

#include <optional>
#include <string_view>

#include "calibrate/import/config/python_text.h"

namespace stepcast::calibrate {

/// Whether it holds where `names` are known; nothing where that hangs on what is not known.
std::optional<bool> python_condition(std::string_view text, const PythonNames& names);

/// Does it ask alone, and change nothing? It sets no name, and calls no function but those that look at a value.
bool only_asks(std::string_view condition);

}  // namespace stepcast::calibrate
