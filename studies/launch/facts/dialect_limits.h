// What configuration files of dialects can ask for and no forecast follows: an error, not a remark.
#pragma once

#include <span>
#include <string_view>

namespace stepcast::launch {

/// A setting that no forecast follows, unless its value is one of `harmless` (between blanks, lower case).
struct DialectLimit {
  std::string_view framework, name, harmless, why;
};
std::span<const DialectLimit> dialect_limits();

}  // namespace stepcast::launch
