// Whether an argument that no question asks for might change the step's time: known by words of its name ("overlap",
// "fp8", "offload"). Of those that a table knows, its reach says it better; this is for the rest.
#pragma once

#include <string_view>

namespace stepcast::launch {

/// Goes by the name, unless the value is off or what everybody's is.
bool may_change_step(std::string_view name, std::string_view value);

/// What the stacks have anyway: a fused softmax, a flash kernel.
bool is_usual_value(std::string_view name, std::string_view value);

/// "false", "none", "0", "1" of a size, "": what is counted or chosen stays idle.
bool is_off(std::string_view value);

/// "", "none", "null", "~", "auto".
bool says_none(std::string_view value);

/// A switch that is turned off: "false", "0", "no", "off".
bool is_switched_off(std::string_view value);

}  // namespace stepcast::launch
