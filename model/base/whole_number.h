// Whole numbers as users write them.
#pragma once

#include <cstdint>
#include <string>

#include "model/base/error.h"

namespace stepcast {

/// A whole number in decimal digits from `least` to `most`.
Expected<std::int64_t> parse_count(
    const std::string& text, const std::string& where, std::int64_t least, std::int64_t most);

}  // namespace stepcast
