// Tools that scripts put behind a "|" to pick a part of a text: cut, tr, awk, sed, wc and others, as far as launches
// use them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast::calibrate {

/// What the tool `words[0]` makes of `input`; nothing where it, or what it is told, is not known here.
std::optional<std::string> text_tool(const std::vector<std::string>& words, const std::string& input);

}  // namespace stepcast::calibrate
