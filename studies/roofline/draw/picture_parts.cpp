#include "studies/roofline/draw/picture_parts.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "studies/print/page/html_text.h"
#include "studies/roofline/draw/pictures.h"

namespace stepcast::roofline {
namespace {

constexpr double smallest_mark = 4, mark_of_whole_step = 46;

}  // namespace

double mark_radius(double share) {
  return share > 0 ? std::max(smallest_mark, mark_of_whole_step * std::sqrt(std::min(share, 1.0))) : smallest_mark;
}

std::string picture_element(std::string_view id, Sheet sheet, double height, const std::string& label,
    const std::string& attributes, const std::string& body) {
  const bool is_wide = sheet == Sheet::wide;
  const double width = sheet_width(sheet);
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"{}{}\" class=\"picture {}\" width=\"{:.0f}\" "
                     "height=\"{:.0f}\" "
                     "viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\" {}>\n",
             id, is_wide ? "" : "-narrow", is_wide ? "wide" : "narrow", width, height, width, height,
             svg_escaped(svg_shortened(label, 600)), attributes) +
         "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n" + body + "</svg>\n";
}

PictureHeading picture_heading(Sheet sheet, const std::string& title, const std::string& about) {
  constexpr double title_font = 14, line = 16, gap = 10;
  const double left = sheet_margin(sheet), room = sheet_width(sheet) - 2 * left;
  const bool is_one = svg_text_width(title, title_font) + gap + svg_text_width(about, picture_font) <= room;
  PictureHeading heading{
      fmt::format("<text class=\"heading\" x=\"{}\" y=\"{}\">{}", svg_number(left), line, svg_escaped(title)) +
          (is_one ? fmt::format("<tspan class=\"about\" dx=\"{}\">{}</tspan>", gap, svg_escaped(about)) : "") +
          "</text>\n",
      22};
  if (is_one) return heading;
  for (const std::string& words : svg_lines(about, room, picture_font, 5))
    heading.text += picture_text(left, (heading.bottom += line) - 6, "about", words);
  return heading;
}

Plane sheet_plane(Sheet sheet, const Frame& frame, const PictureHeading& heading) {
  const double top = heading.bottom + 12;
  if (sheet == Sheet::wide) return Plane{.frame = frame, .top = top, .width = 646};
  return Plane{.frame = frame, .left = 64, .top = top, .width = 280, .height = 340};
}

std::string picture_text(double x, double y, std::string_view classes, std::string_view text) {
  return fmt::format(
      "<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", classes, svg_number(x), svg_number(y), svg_escaped(text));
}

std::string picture_title(const std::string& text) {
  return text.empty() ? "" : "<title>" + svg_escaped(text) + "</title>";
}

const char* pass_text(Pass pass) {
  constexpr const char* names[] = {"forward", "recompute", "input gradient", "weight gradient", "step"};
  return names[static_cast<int>(pass)];
}

std::string same_place_text(const std::vector<std::string_view>& names) {
  constexpr std::size_t listed = 6, longest = 60;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), listed); ++i)
    text += (i == 0 ? "\nat the same place: " : ", ") + svg_shortened(names[i], longest);
  return names.size() > listed ? text + fmt::format(" and {} more", names.size() - listed) : text;
}

PlanePlace place_on(const Plane& plane, double flops_per_byte, FlopsPerSecond rate) {
  constexpr double rounding = 1e-6;
  PlanePlace place{plane.left, plane.bottom(), -1, 1};
  if (flops_per_byte > 0) place.x = plane.x(flops_per_byte), place.right = 0;
  if (rate.value() > 0) place.y = plane.y(rate.value()), place.down = 0;
  if (place.x < plane.left - rounding) place.x = plane.left, place.right = -1;
  if (!(place.x <= plane.right() + rounding)) place.x = plane.right(), place.right = 1;
  if (place.y < plane.top - rounding) place.y = plane.top, place.down = -1;
  if (!(place.y <= plane.bottom() + rounding)) place.y = plane.bottom(), place.down = 1;
  return place;
}

void move_inside(const Plane& plane, PlaneMark& mark) {
  const double room = mark.radius + arrow_room;
  if (mark.place.right != 0) mark.place.x = mark.place.right < 0 ? plane.left + room : plane.right() - room;
  if (mark.place.down != 0) mark.place.y = mark.place.down < 0 ? plane.top + room : plane.bottom() - room;
}

std::string edge_arrow(const PlanePlace& place, double radius) {
  if (!place.outside()) return {};
  const double turn = std::atan2(place.down, place.right) * 180 / std::numbers::pi;
  return fmt::format("<path class=\"arrow\" transform=\"rotate({})\" d=\"M{} -4l7 4l-7 4Z\"/>", svg_number(turn),
      svg_number(radius + 2));
}

std::vector<SvgBox> boxes_along(double from_x, double from_y, double to_x, double to_y) {
  constexpr double step = 6, half = 2;
  const double steps = std::max(1.0, std::ceil(std::hypot(to_x - from_x, to_y - from_y) / step));
  std::vector<SvgBox> boxes;
  if (!std::isfinite(steps) || steps > 1000) return boxes;
  for (double i = 0; i <= steps; ++i) {
    const double x = from_x + (to_x - from_x) * i / steps, y = from_y + (to_y - from_y) * i / steps;
    boxes.push_back({x - half, y - half, x + half, y + half});
  }
  return boxes;
}

std::string mark_label(std::string_view words, const PlanePlace& mark, double radius, LabelRoom& room) {
  const double width = svg_text_width(words, picture_font), height = 15;
  const SvgBox own{mark.x - radius, mark.y - radius, mark.x + radius, mark.y + radius};
  const auto place = room.place(mark.x, mark.y, radius, width, height, own);
  if (!place) return {};
  const double left = place->x - (place->from_end ? width : 0), middle = place->y - 4;
  const double near_x = std::clamp(0.0, left, left + width), far = std::hypot(near_x, middle);
  std::string text;
  if (far > radius + 12)
    text = fmt::format("<path class=\"leader\" d=\"M{} {}L{} {}\"/>", svg_number(near_x * radius / far),
        svg_number(middle * radius / far), svg_number(near_x), svg_number(middle));
  return text + fmt::format("<rect class=\"ground\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/><text "
                            "class=\"label{}\" x=\"{}\" y=\"{}\">{}</text>",
                    svg_number(left - 2), svg_number(place->y - 11), svg_number(width + 3), svg_number(height - 1),
                    place->from_end ? " end" : "", svg_number(place->x), svg_number(place->y), svg_escaped(words));
}

std::string mark_outline(PointPass pass, double radius) {
  const double area = std::numbers::pi * radius * radius;
  if (pass == PointPass::backward) {
    const std::string side = svg_number(std::sqrt(area)), half = svg_number(-std::sqrt(area) / 2);
    return fmt::format("M{0} {0}h{1}v{1}h-{1}Z", half, side);
  }
  if (pass == PointPass::recompute) {  // equilateral, around its centre
    const double side = std::sqrt(4 * area / std::numbers::sqrt3), high = side * std::numbers::sqrt3 / 2;
    return fmt::format("M0 {}L{} {}H{}Z", svg_number(-2 * high / 3), svg_number(side / 2), svg_number(high / 3),
        svg_number(-side / 2));
  }
  if (pass == PointPass::step) {
    const std::string half = svg_number(std::sqrt(area / 2)), minus = svg_number(-std::sqrt(area / 2));
    return fmt::format("M0 {1}L{0} 0L0 {0}L{1} 0Z", half, minus);
  }
  const std::string r = svg_number(radius), across = svg_number(2 * radius);
  return fmt::format("M-{0} 0a{0} {0} 0 1 0 {1} 0a{0} {0} 0 1 0 -{1} 0Z", r, across);
}

void PictureLegend::entry(const std::string& swatch, double width, std::string_view words) {
  const double whole = width + 6 + svg_text_width(words, picture_font) + 16;
  if (x_ > left_ && x_ + whole > right_) new_line();
  text_ += fmt::format("<g transform=\"translate({} {})\">{}</g>", svg_number(x_ + width / 2),
               svg_number(y_ + row_ / 2), swatch) +
           picture_text(x_ + width + 6, y_ + row_ / 2 + 4, "key-text", words);
  x_ += whole;
}

void PictureLegend::new_line(double extra) {
  if (x_ > left_) y_ += row_ + extra;
  x_ = left_;
}

}  // namespace stepcast::roofline
