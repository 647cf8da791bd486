#include "studies/print/page/svg_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "studies/print/page/html_text.h"

namespace stepcast::print {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view ellipsis = "\xE2\x80\xA6";     // U+2026

/// Bytes of the character that `text` begins with; 0 where that is not UTF-8 or nothing that XML 1.0 holds (section
/// 2.2).
std::size_t svg_character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\n' || first == '\t' ? (first == 0x7F ? 0 : 1) : 0;
  const std::size_t size = first >= 0xF0 && first <= 0xF4  ? 4
                           : first >= 0xE0 && first < 0xF0 ? 3
                           : first >= 0xC2 && first < 0xE0 ? 2
                                                           : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  const unsigned second = byte(1);
  if (first == 0xE0 && second < 0xA0) return 0;                                        // written longer than need be
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;  // likewise; beyond Unicode
  if (first == 0xED && second > 0x9F) return 0;                                        // surrogates
  if (first == 0xEF && second == 0xBF && byte(2) >= 0xBE) return 0;                    // no characters
  return size;
}

/// Share of the font's size that a character takes, rounded up from common sans-serif faces.
double svg_character_width(unsigned char first) {
  constexpr std::string_view narrow = "iljI.,:;'|! ()[]ftr/", wide = "mwMW@%";
  if (first >= 0xE2) return 1;  // dashes and dots as wide as an m, and scripts of square signs
  if (narrow.find(static_cast<char>(first)) != std::string_view::npos) return 0.36;
  if (wide.find(static_cast<char>(first)) != std::string_view::npos) return 0.92;
  return (first >= 'A' && first <= 'Z') ? 0.7 : 0.6;
}

/// Neighbours that would overlap, as one: they stand `gap` apart around the mean of what they want.
struct SpreadBlock {
  double sum = 0;  ///< of what each wants of the first one's place
  int count = 0;
  [[nodiscard]] double place() const { return sum / count; }
};

}  // namespace

std::string svg_escaped(std::string_view text) {
  std::string clean;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = svg_character_size(text.substr(at));
    clean += size == 0 ? replacement : text.substr(at, size);
    at += std::max<std::size_t>(size, 1);
  }
  return html_escaped(clean);
}

std::string svg_shortened(std::string_view text, std::size_t most) {
  std::size_t count = 0, cut = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    if (count + 1 == most) cut = at;
    at += std::max<std::size_t>(svg_character_size(text.substr(at)), 1);
  }
  if (count <= most || most == 0) return std::string(text);
  return std::string(text.substr(0, cut)) + std::string(ellipsis);
}

double svg_text_width(std::string_view text, double font_size) {
  double width = 0;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if ((byte & 0xC0U) != 0x80U) width += svg_character_width(byte);
  }
  return width * font_size;
}

std::vector<std::string> svg_lines(std::string_view text, double width, double font_size, std::size_t most) {
  const auto letters = static_cast<std::size_t>(std::max(4.0, width / (0.7 * font_size)));
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = svg_shortened(text.substr(at, end - at), letters);
    at = end + 1;
    if (!lines.empty() && svg_text_width(lines.back() + ' ' + word, font_size) <= width) {
      lines.back() += ' ' + word;
    } else if (lines.size() < most) {
      lines.push_back(word);
    } else {
      lines.back() += std::string(" ") + std::string(ellipsis);
      break;
    }
  }
  return lines;
}

std::string svg_number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::vector<double> spread_apart(std::span<const double> wanted, double gap, double low, double high) {
  const auto count = static_cast<double>(wanted.size());
  if (count > 1) gap = std::min(gap, (high - low) / (count - 1));
  std::vector<SpreadBlock> blocks;
  for (const double want : wanted) {
    blocks.push_back({want, 1});
    while (blocks.size() > 1) {
      const SpreadBlock& before = blocks[blocks.size() - 2];
      const SpreadBlock& last = blocks.back();
      const double next = before.place() + gap * before.count;
      if (last.place() >= next) break;
      const SpreadBlock both{before.sum + last.sum - gap * before.count * last.count, before.count + last.count};
      blocks.pop_back();
      blocks.back() = both;
    }
  }
  std::vector<double> places;
  for (const SpreadBlock& block : blocks)
    for (int i = 0; i < block.count; ++i) places.push_back(block.place() + gap * i);
  // The ends push those beyond them back, which keeps the gaps.
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = std::max(places[i], low + gap * static_cast<double>(i));
  for (std::size_t i = places.size(); i-- > 0;)
    places[i] = std::min(places[i], high - gap * static_cast<double>(places.size() - 1 - i));
  return places;
}

bool LabelRoom::is_free(const SvgBox& box, const SvgBox& own) const {
  if (!box.inside(frame_)) return false;
  return std::none_of(taken_.begin(), taken_.end(), [&](const SvgBox& other) {
    const bool is_own =
        other.left == own.left && other.right == own.right && other.top == own.top && other.bottom == own.bottom;
    return !is_own && box.overlaps(other);
  });
}

bool LabelRoom::all_free(std::span<const SvgBox> boxes) const {
  const SvgBox nobody{1, 1, 0, 0};
  return std::all_of(boxes.begin(), boxes.end(), [&](const SvgBox& box) { return is_free(box, nobody); });
}

bool LabelRoom::take_if_free(const SvgBox& box) {
  const SvgBox nobody{1, 1, 0, 0};
  if (!is_free(box, nobody)) return false;
  take(box);
  return true;
}

std::optional<LabelPlace> LabelRoom::place(
    double x, double y, double radius, double width, double height, const SvgBox& own) {
  // Beside the mark first, then above and below, then farther away in wider and wider turns.
  struct Try {
    double dx, dy;
    bool from_end;
  };
  for (const double far : {0.0, 10.0, 20.0, 32.0, 46.0}) {
    const double side = radius + 5 + far / 3, up = radius + 5 + far, low = radius + height + 1 + far,
                 slant = 0.7 * radius + 3 + far;
    const Try tries[] = {{side, 0.35 * height - far, false}, {-side, 0.35 * height - far, true}, {slant, -slant, false},
        {-slant, -slant, true}, {slant, slant + height / 2, false}, {-slant, slant + height / 2, true},
        {-width / 2, -up, false}, {-width / 2, low, false}, {side, 0.35 * height + far, false},
        {-side, 0.35 * height + far, true}};
    for (const Try& one : tries) {
      const double left = x + one.dx - (one.from_end ? width : 0), base = y + one.dy;
      const SvgBox box{left, base - 0.8 * height, left + width, base + 0.2 * height};
      if (!is_free(box, own)) continue;
      take(box);
      return LabelPlace{one.dx, one.dy, one.from_end};
    }
  }
  return std::nullopt;
}

}  // namespace stepcast::print
