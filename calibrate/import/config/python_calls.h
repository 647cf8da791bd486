// Finds calls of a function in a statement of Python, by their brackets.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast::calibrate {

/// "(4, gpus=8)" of each "configure(4, gpus=8)" in a text, with its place.
struct FoundCall {
  std::size_t begin = 0, end = 0;  ///< of the brackets, with blanks in front of them
  std::string brackets;
};
std::vector<FoundCall> calls_in(std::string_view text, std::string_view function);

/// "run.run(configure)" of "run.run(configure(4))", where that is how it is called.
std::string without_calls(std::string text, const std::string& function, const std::string& brackets);

}  // namespace stepcast::calibrate
