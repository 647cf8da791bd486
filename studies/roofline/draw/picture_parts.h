// What the pictures of a roofline report are put together from: the picture's element, places in a plane, marks, roofs
// with their labels, legends.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "studies/print/page/svg_text.h"
#include "studies/roofline/figures/operator_points.h"
#include "studies/roofline/draw/plane.h"

namespace stepcast::roofline {

inline constexpr double picture_font = 12;
constexpr double sheet_width(Sheet sheet) { return sheet == Sheet::wide ? 960 : narrow_sheet; }
constexpr double sheet_margin(Sheet sheet) { return sheet == Sheet::wide ? 16 : 6; }

/// <svg> as wide as its sheet; `label` is what a screen reader says, `attributes` are written as they are. The id of a
/// narrow one ends in "-narrow".
std::string picture_element(std::string_view id, Sheet sheet, double height, const std::string& label,
    const std::string& attributes, const std::string& body);
/// On top of a picture: `title` strong, then `about`, below it where one line does not hold both.
struct PictureHeading {
  std::string text;
  double bottom = 0;
};
PictureHeading picture_heading(Sheet sheet, const std::string& title, const std::string& about);
/// A plane below a heading, with room for numbers and for labels beside it.
Plane sheet_plane(Sheet sheet, const Frame& frame, const PictureHeading& heading);
std::string picture_text(double x, double y, std::string_view classes, std::string_view text);
std::string picture_title(const std::string& text);  ///< <title>, which browsers show beside the pointer

const char* pass_text(Pass pass);  ///< for people: "input gradient"

/// "\nat the same place: A, B and 3 more"; "" without names. Each of a heap names the others, so that few are listed
/// and cut short.
std::string same_place_text(const std::vector<std::string_view>& names);

/// A place in a plane. What lies beyond stands at the edge, and `right`, `down` (-1, 0, 1) say where it would be.
struct PlanePlace {
  double x = 0, y = 0;
  int right = 0, down = 0;
  [[nodiscard]] bool outside() const { return right != 0 || down != 0; }
};
PlanePlace place_on(const Plane& plane, double flops_per_byte, FlopsPerSecond rate);
inline constexpr double arrow_room = 10;  ///< between a mark beyond the frame and the edge

/// A mark of a plane, before anything is drawn.
struct PlaneMark {
  PlanePlace place;
  double radius = 0;
  bool in_strip = false;  ///< not in the plane but in the strip below it
  [[nodiscard]] SvgBox box() const { return {place.x - radius, place.y - radius, place.x + radius, place.y + radius}; }
  [[nodiscard]] double distance(const PlaneMark& other) const {
    return std::hypot(place.x - other.place.x, place.y - other.place.y);
  }
  /// Can a reader not tell the two apart?
  [[nodiscard]] bool hides(const PlaneMark& other) const {
    return distance(other) < std::max(1.0, 0.6 * (radius + other.radius));
  }
};
/// A mark beyond the frame stands within it, as far from the edge as its arrow is long.
void move_inside(const Plane& plane, PlaneMark& mark);
std::string edge_arrow(const PlanePlace& place, double radius);  ///< beside a mark at 0 0; "" for places inside

/// The ground of a thin line as small boxes along it.
std::vector<SvgBox> boxes_along(double from_x, double from_y, double to_x, double to_y);

/// The name beside a mark at 0 0 of `radius`, on a ground that hides lines, with a line to it where it stands apart; ""
/// where `room` has no place.
std::string mark_label(std::string_view words, const PlanePlace& mark, double radius, LabelRoom& room);

/// The outline of a mark around 0 0, of the area of a circle of `radius`: forward circle, backward square, recompute
/// triangle, step diamond.
std::string mark_outline(PointPass pass, double radius);

/// Entries in lines below each other.
class PictureLegend {
 public:
  PictureLegend(Sheet sheet, double top)
      : left_(sheet_margin(sheet)), right_(sheet_width(sheet) - left_), x_(left_), y_(top), top_(top) {}
  /// `swatch` is drawn around 0 0, `width` wide.
  void entry(const std::string& swatch, double width, std::string_view words);
  void new_line(double extra = 0);  ///< `extra` pixels more above it, for tall swatches
  [[nodiscard]] std::string text() const { return "<g class=\"legend\">\n" + text_ + "</g>\n"; }
  [[nodiscard]] double bottom() const { return text_.empty() ? top_ : y_ + row_; }

 private:
  static constexpr double row_ = 20;
  double left_, right_, x_, y_, top_;
  std::string text_;
};

}  // namespace stepcast::roofline
