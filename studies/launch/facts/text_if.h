// Builds a sentence that only holds under a condition: rows of what is wrong or lost are written with it.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

namespace stepcast::launch {

/// "" where it does not hold. The arguments are evaluated either way.
template <typename... Args> std::string text_if(bool holds, fmt::format_string<Args...> text, Args&&... args) {
  return holds ? fmt::format(text, std::forward<Args>(args)...) : std::string();
}

}  // namespace stepcast::launch
