// Characters of text that other programs wrote, which may not be UTF-8; what is written here always is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace stepcast {

/// Bytes of the character that the text begins with, by its first byte and those that follow; 0 where it is not UTF-8.
inline std::size_t utf8_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto first = byte(0);
  const std::size_t size = first < 0x80                    ? 1
                           : first >= 0xc2 && first < 0xe0 ? 2
                           : first >= 0xe0 && first < 0xf0 ? 3
                           : first >= 0xf0 && first < 0xf5 ? 4
                                                           : 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Longer than needed, surrogates, beyond the last plane.
  const bool never = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
                     (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90);
  return never ? 0 : size;
}

/// The number of the character that `character` is in UTF-8; utf8_size() has looked at it.
inline char32_t utf8_number(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  char32_t number = first & (0x7fU >> character.size());
  for (const char next : character.substr(1)) number = number << 6 | (static_cast<unsigned char>(next) & 0x3fU);
  return number;
}

/// May a character reach a terminal or a page as it is? Those that steer instead of showing may not: controls (line
/// ends and tabs are for the caller to allow) and marks that change lines or the direction of writing (Unicode 15,
/// general categories Cc and Zl, and the bidirectional controls of UAX 9).
inline bool steers(char32_t number) {
  struct Range {
    char32_t first, last;
  };
  if (number >= ' ' && number < 0x7f) return false;  // nearly all of what is asked
  constexpr Range ranges[] = {{0, 0x1f}, {0x7f, 0x9f}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
  return std::any_of(std::begin(ranges), std::end(ranges),
      [&](const Range& range) { return number >= range.first && number <= range.last; });
}

/// Does a byte go on with the character in front of it?
inline bool utf8_continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// The first whole characters, in at most `most` bytes.
inline std::string_view utf8_head(std::string_view text, std::size_t most) {
  std::size_t end = std::min(most, text.size());
  while (end > 0 && end < text.size() && utf8_continues(text[end])) --end;
  return text.substr(0, end);
}

/// The last whole characters, in at most `most` bytes.
inline std::string_view utf8_tail(std::string_view text, std::size_t most) {
  std::size_t begin = text.size() - std::min(most, text.size());
  while (begin > 0 && begin < text.size() && utf8_continues(text[begin])) ++begin;
  return text.substr(begin);
}

}  // namespace stepcast
