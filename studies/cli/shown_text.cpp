#include "studies/cli/shown_text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "model/base/utf8.h"

namespace stepcast::cli {
namespace {

/// What Paint writes (studies/print/paint.h).
constexpr std::array<std::string_view, 7> own_sequences = {
    "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[1;31m", "\x1b[33m", "\x1b[36m"};
constexpr std::array<std::string_view, 3> line_ends_and_tab = {"\n", "\t", "\r\n"};
constexpr std::size_t longest_unit = 8;

/// The first of the texts that `text` begins with; "" = none.
template <class Texts> std::string_view beginning_with(const Texts& texts, std::string_view text) {
  const auto found = std::find_if(texts.begin(), texts.end(), [&](std::string_view t) { return text.starts_with(t); });
  return found == texts.end() ? std::string_view() : *found;
}

/// Bytes at the beginning of `text` that pass as they are; 0: the first one does not.
std::size_t passing_size(std::string_view text, bool color) {
  if (const auto allowed = beginning_with(line_ends_and_tab, text); !allowed.empty()) return allowed.size();
  if (const auto own = beginning_with(own_sequences, text); color && !own.empty()) return own.size();
  const std::size_t size = utf8_size(text);
  return size > 0 && steers(utf8_number(text.substr(0, size))) ? 0 : size;
}

/// Appends the first character as an escape; answers how many bytes it has.
std::size_t add_escaped(std::string& shown, std::string_view text) {
  const std::size_t size = utf8_size(text);
  if (size > 1) shown += fmt::format("\\u{:04x}", static_cast<unsigned>(utf8_number(text.substr(0, size))));
  else shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
  return std::max<std::size_t>(size, 1);
}

bool is_plain(char c) { return (c >= ' ' && c < 0x7f) || c == '\n'; }

/// Could more bytes change what becomes of the last ones? Then they begin here.
std::size_t unfinished_end(std::string_view text) {
  for (std::size_t back = std::min(longest_unit, text.size()); back > 0; --back) {
    const char first = text[text.size() - back];
    const auto byte = static_cast<unsigned char>(first);
    if (first == '\x1b' || (first == '\r' && back == 1)) return text.size() - back;
    if ((byte >= 0xc2 && back < 2) || (byte >= 0xe0 && back < 3) || (byte >= 0xf0 && back < 4))
      return text.size() - back;
  }
  return text.size();
}

}  // namespace

std::string shown_text(std::string_view text, bool color) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto* const other = std::find_if_not(text.begin(), text.end(), is_plain);
    const auto plain = static_cast<std::size_t>(other - text.begin());
    shown += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t size = passing_size(text, color);
    shown += text.substr(0, size);
    text.remove_prefix(size > 0 ? size : add_escaped(shown, text));
  }
  return shown;
}

std::streamsize ShownBuffer::xsputn(const char* text, std::streamsize size) {
  held_.append(text, static_cast<std::size_t>(size));
  const std::size_t end = unfinished_end(held_);
  const std::string ready = shown_text(std::string_view(held_).substr(0, end), color_);
  held_.erase(0, end);
  return put(ready) ? size : 0;
}

ShownBuffer::int_type ShownBuffer::overflow(int_type letter) {
  if (traits_type::eq_int_type(letter, traits_type::eof())) return traits_type::not_eof(letter);
  const char one = traits_type::to_char_type(letter);
  return xsputn(&one, 1) == 1 ? letter : traits_type::eof();
}

bool ShownBuffer::finish() {
  const std::string rest = shown_text(held_, color_);
  held_.clear();
  return rest.empty() || put(rest);
}

}  // namespace stepcast::cli
