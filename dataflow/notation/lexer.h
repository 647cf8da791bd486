// Text of the notation -> tokens. Every byte ends up in a token, in white space or in a comment, so the parser alone
// decides what is an error.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace stepcast::dataflow {

enum class TokenKind : std::uint8_t {
  name,    ///< letter or _ first; dots join parts: attn.core
  number,  ///< digits only
  word,    ///< digits first, then letters: 1f1b, 25MB, 16x16
  symbol,  ///< one character, += or <=
  newline,
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;     ///< part of the text that was read; "" at the end
  int line = 1, column = 1;  ///< 1-based, in bytes
};

/// What names are made of. They may hold digits, but not begin with one.
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The tokens of `text`, which must outlive them; the last one is always `end`. `#` comments run to the line's end.
std::vector<Token> tokenize(std::string_view text);

}  // namespace stepcast::dataflow
