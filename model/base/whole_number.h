// Numbers as users and files write them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "model/base/error.h"

namespace stepcast {

/// The number that is all of the text.
template <typename Number> std::optional<Number> parsed_number(std::string_view text) {
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// A whole number in decimal digits from `least` to `most`.
Expected<std::int64_t> parse_count(
    const std::string& text, const std::string& where, std::int64_t least, std::int64_t most);

}  // namespace stepcast
