// Small helpers for text that every folder needs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace stepcast {

/// Without blanks, tabs and line ends around it.
std::string_view stripped(std::string_view text);
std::string lower_case(std::string_view text);
/// "a, b, c and 4 more".
std::string some_of(std::span<const std::string> names, std::size_t most);

/// FNV-1a in 64 bits, of the letters of a text or of other whole numbers.
template <typename Parts> constexpr std::uint64_t fnv1a(const Parts& parts) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const auto part : parts)
    hash = (hash ^ static_cast<std::make_unsigned_t<std::remove_const_t<decltype(part)>>>(part)) * 0x100000001b3;
  return hash;
}

}  // namespace stepcast
