// Texts in drawings: how wide they will be, where they find room, what XML can hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast::print {

/// Escapes texts and quoted attributes of XML. Control characters and broken UTF-8, which XML cannot hold, become
/// U+FFFD.
std::string svg_escaped(std::string_view text);

/// Keeps at most `most` characters, the last an ellipsis where some are left out. Escape afterwards.
std::string svg_shortened(std::string_view text, std::size_t most);

/// Pixels that `text` takes in a sans-serif font of this size: an estimate, on the wide side.
double svg_text_width(std::string_view text, double font_size);

/// `text` in lines of at most this width, broken at spaces; what `most` lines do not hold ends in an ellipsis.
std::vector<std::string> svg_lines(std::string_view text, double width, double font_size, std::size_t most = 12);

/// Pages hold each picture twice: for wide screens and paper, and for phones; their style shows the one that fits.
enum class Sheet : std::uint8_t { wide, narrow };
constexpr double narrow_sheet = 366;  ///< pixels: what a phone of 390 leaves between its margins

/// Coordinates as short as a hundredth of a pixel needs: "12", "12.5", "12.34".
std::string svg_number(double value);

/// Places between low and high in the order of `wanted` (ascending), at least `gap` apart and as near as can be to what
/// is wanted; where they are too many they share the room evenly.
std::vector<double> spread_apart(std::span<const double> wanted, double gap, double low, double high);

struct SvgBox {
  double left = 0, top = 0, right = 0, bottom = 0;
  [[nodiscard]] bool overlaps(const SvgBox& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  [[nodiscard]] bool inside(const SvgBox& outer) const {
    return left >= outer.left && right <= outer.right && top >= outer.top && bottom <= outer.bottom;
  }
};

/// Where a label stands beside its mark: the text's baseline, relative to the mark.
struct LabelPlace {
  double x = 0, y = 0;
  bool from_end = false;  ///< text-anchor: end
};

/// Room for labels: nothing that was put down is written over.
class LabelRoom {
 public:
  explicit LabelRoom(SvgBox frame) : frame_(frame) {}
  [[nodiscard]] const SvgBox& frame() const { return frame_; }
  void take(const SvgBox& box) { taken_.push_back(box); }
  [[nodiscard]] bool all_free(std::span<const SvgBox> boxes) const;
  /// Whether there was room, which is taken then.
  bool take_if_free(const SvgBox& box);
  /// A free place beside a mark of `radius` at x, y, which is taken then; none where everything near is full. The boxes
  /// of `own` (the mark itself) do not count.
  std::optional<LabelPlace> place(double x, double y, double radius, double width, double height, const SvgBox& own);

 private:
  [[nodiscard]] bool is_free(const SvgBox& box, const SvgBox& own) const;
  SvgBox frame_;
  std::vector<SvgBox> taken_;
};

}  // namespace stepcast::print
