#include "studies/roofline/draw/plane_roofs.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "studies/roofline/draw/pictures.h"

namespace stepcast::roofline {
namespace {

constexpr double roof_label_gap = 15;

/// The part of a slope that the frame shows; nothing where `from` is not below `to`.
struct SlopePart {
  double from = 0, to = 0;  ///< FLOP/B
  [[nodiscard]] bool visible() const { return from < to; }
};

SlopePart visible_part(const Frame& frame, double rate, double most) {
  if (!(rate > 0)) return {};
  const double top = std::min(most, std::pow(10.0, frame.y_high));
  return {std::max(std::pow(10.0, frame.x_low), std::pow(10.0, frame.y_low) / rate),
      std::min(std::pow(10.0, frame.x_high), top / rate)};
}

std::string roof_line(const DrawnRoof& roof, double x1, double y1, double x2, double y2, bool visible) {
  return fmt::format("<line class=\"roof {}{}\" {} x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\">{}</line>\n", roof.classes,
      visible ? "" : " outside", roof.attributes, svg_number(x1), svg_number(y1), svg_number(x2), svg_number(y2),
      picture_title(roof.title));
}

/// How a slope runs in pixels, and where its label begins: `along` pixels from where the frame shows it first.
struct SlopeWay {
  double x = 0, y = 0, across = 0, up = 0;
  SlopeWay(const Plane& plane, const DrawnRoof& roof, double from) : x(plane.x(from)), y(plane.y(from * roof.rate)) {
    const double rise = plane.height / (plane.frame.y_high - plane.frame.y_low),
                 run = plane.width / (plane.frame.x_high - plane.frame.x_low), length = std::hypot(rise, run);
    across = run / length, up = rise / length;
  }
  /// The ground of a label as small boxes along it.
  [[nodiscard]] std::vector<SvgBox> boxes(double along, double width, bool above) const {
    constexpr double step = 9;
    std::vector<SvgBox> boxes;
    for (double at = along; at <= along + width; at += step) {
      const double side = above ? -9 : 9, middle_x = x + at * across + side * up,
                   middle_y = y - at * up + side * across;
      boxes.push_back({middle_x - 6, middle_y - 6, middle_x + 6, middle_y + 6});
    }
    return boxes;
  }
};

/// The first place along the slope whose ground is free, which is taken then; `along` where there is none.
double free_along(const SlopeWay& way, double along, double width, bool above, double longest, LabelRoom& room) {
  double found = along;
  for (double at = along; at + width <= longest; at += 10) {
    if (!room.all_free(way.boxes(at, width, above))) continue;
    found = at;
    break;
  }
  for (const SvgBox& box : way.boxes(found, width, above)) room.take(box);
  return found;
}

std::string slope_label(const SlopeWay& way, const DrawnRoof& roof, double along, bool above) {
  return fmt::format(
      "<g class=\"roof-label {}\" {} transform=\"translate({} {}) rotate({})\"><text y=\"{}\">{}</text></g>\n",
      roof.classes, roof.attributes, svg_number(way.x + along * way.across), svg_number(way.y - along * way.up),
      svg_number(-std::atan2(way.up, way.across) * 180 / std::numbers::pi), above ? "-5" : "13",
      svg_escaped(roof.label));
}

std::string flat_label(const Plane& plane, const DrawnRoof& roof, double y, double label_y) {
  const double right = plane.right();
  return fmt::format("<g class=\"roof-label {}\" {}><path class=\"leader\" d=\"M{} {}L{} {}\"/><text x=\"{}\" "
                     "y=\"{}\">{}</text></g>\n",
      roof.classes, roof.attributes, svg_number(right + 2), svg_number(y), svg_number(right + 15), svg_number(label_y),
      svg_number(right + 18), svg_number(label_y + 4), svg_escaped(roof.label));
}

}  // namespace

std::string slope_roofs(const Plane& plane, const std::vector<DrawnRoof>& roofs, double most, LabelRoom& room) {
  std::string lines, labels;
  double along_above = 14, along_below = 14;
  double last = 0;
  std::vector<DrawnRoof> fastest_first = roofs;
  std::stable_sort(fastest_first.begin(), fastest_first.end(),
      [](const DrawnRoof& a, const DrawnRoof& b) { return a.rate > b.rate; });
  for (const DrawnRoof& roof : fastest_first) {
    const SlopePart part = visible_part(plane.frame, roof.rate, most);
    if (!part.visible()) {
      lines += roof_line(roof, plane.left, plane.bottom(), plane.left, plane.bottom(), false);
      continue;
    }
    lines += roof_line(
        roof, plane.x(part.from), plane.y(part.from * roof.rate), plane.x(part.to), plane.y(part.to * roof.rate), true);
    // Slopes that leave no room for two lines of text between them share what is beside them; others start anew.
    const bool near = last > 0 && std::abs(plane.y(roof.rate) - plane.y(last)) < 34;
    if (!near) along_above = along_below = 14;
    const bool above = along_above <= along_below;
    double& along = above ? along_above : along_below;
    const SlopeWay way(plane, roof, part.from);
    const double width = svg_text_width(roof.label, picture_font);
    along = free_along(way, along, width, above, (plane.x(part.to) - way.x) / way.across, room);
    labels += slope_label(way, roof, along, above);
    along += width + 14;
    last = roof.rate;
  }
  return lines + labels;
}

std::string flat_roofs(Sheet sheet, const Plane& plane, const std::vector<DrawnRoof>& roofs, double fastest) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < roofs.size(); ++i) order.push_back(i);
  std::stable_sort(
      order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return roofs[a].rate > roofs[b].rate; });
  std::vector<double> wanted;
  for (const std::size_t i : order)
    wanted.push_back(
        std::clamp(roofs[i].rate > 0 ? plane.y(roofs[i].rate) : plane.bottom(), plane.top, plane.bottom()));
  const std::vector<double> places = spread_apart(wanted, roof_label_gap, plane.top + 4, plane.bottom() - 4);
  std::string lines, labels;
  for (std::size_t n = 0; n < order.size(); ++n) {
    const DrawnRoof& roof = roofs[order[n]];
    const double meets = fastest > 0 ? roof.rate / fastest : 0;
    const PlanePlace start = place_on(plane, meets, FlopsPerSecond(roof.rate));
    lines += roof_line(roof, start.x, start.y, plane.right(), start.y, start.down == 0 && start.right < 1);
    if (sheet == Sheet::wide) labels += flat_label(plane, roof, wanted[n], places[n]);
  }
  return lines + labels;
}

void add_roofs(PictureLegend& legend, const std::vector<DrawnRoof>& roofs) {
  for (const DrawnRoof& roof : roofs)
    legend.entry(fmt::format("<path class=\"roof {}\" d=\"M-13 0H13\"/>", roof.classes), 26, roof.label),
        legend.new_line();
}

}  // namespace stepcast::roofline
