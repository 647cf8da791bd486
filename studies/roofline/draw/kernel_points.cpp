#include "studies/roofline/draw/kernel_points.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/page/html_text.h"
#include "studies/roofline/draw/picture_parts.h"
#include "studies/roofline/draw/pictures.h"
#include "studies/roofline/figures/roof_checks.h"

namespace stepcast::roofline {
namespace {

constexpr double loose_radius = 3;

std::string point_title(const OperatorPoint& point) {
  std::string text = fmt::format("{}, {} of {}\n{}{}", point.name, pass_text(point.pass), point.block, point.shape,
                         point.shape.empty() ? "" : ", ") +
                     to_text(point.precision);
  if (point.flops.value() > 0)
    text += fmt::format("\n{} of HBM, {} of L2; {}", flops_per_byte_text(point.intensity(MemoryLevel::hbm)),
        flops_per_byte_text(point.intensity(MemoryLevel::l2)), format_flops(point.rate));
  else text += "\n" + format_rate(point.bandwidth) + " of HBM";
  text += fmt::format(", {} of the roof, limited by {}\n{:.6g} x {} a step: {} of it\n{}{}{}",
      format_percent(point.share_of_roof), point.bound, point.calls, format_seconds(point.time),
      format_percent(point.share), to_text(point.source), point.law.empty() ? "" : ": ", point.law);
  if (point.measured)
    text += fmt::format("\nmeasured {} ({}): {}", format_seconds(point.measured->time),
        html_plural(static_cast<std::size_t>(std::max(0, point.measured->rows)), "row", "rows"),
        point.measured->source);
  if (!point.outside.empty()) text += "\n" + point.outside;
  if (!point.warning.empty()) text += "\n" + point.warning;
  return text;
}

/// What the heap under a mark holds besides.
std::string others_here(const RooflineReport& report, const std::vector<PlaneMark>& marks, std::size_t i) {
  std::vector<std::string_view> names;
  for (std::size_t other = 0; other < marks.size(); ++other)
    if (other != i && marks[other].in_strip == marks[i].in_strip && marks[other].hides(marks[i]))
      names.push_back(report.points[other].name);
  return same_place_text(names);
}

/// Where what was timed stands. A point beyond the frame has its measurement in the same place.
std::optional<PlaneMark> timed_mark(const Plane& plane, const OperatorPoint& point, const PlaneMark& mark) {
  if (!point.measured) return std::nullopt;
  const double share = point.time.value() > 0 ? point.share * (point.measured->time / point.time) : point.share;
  PlaneMark timed{place_on(plane, point.intensity(MemoryLevel::hbm), point.measured->rate), mark_radius(share)};
  if (mark.place.outside()) timed.place = mark.place;
  else move_inside(plane, timed);
  return timed;
}

/// The filled mark, and a line to it from the forecast.
std::string measured_mark(const Plane& plane, const OperatorPoint& point, const PlaneMark& mark) {
  const std::optional<PlaneMark> timed = timed_mark(plane, point, mark);
  if (!timed) return {};
  const std::string dx = svg_number(timed->place.x - mark.place.x), dy = svg_number(timed->place.y - mark.place.y);
  const std::string arrow = mark.place.outside() ? "" : edge_arrow(timed->place, timed->radius);
  return fmt::format("<line class=\"between\" x1=\"0\" y1=\"0\" x2=\"{0}\" y2=\"{1}\"/><g class=\"mark measured\" "
                     "transform=\"translate({0} {1})\"><path d=\"{2}\"/>{3}</g>",
      dx, dy, mark_outline(point_pass(point.pass), timed->radius), arrow);
}

/// From the place by HBM bytes to that by L2 bytes, as far as the frame shows it.
std::string joined_line(const Plane& plane, std::size_t i, const OperatorPoint& point, const PlaneMark& mark) {
  if (mark.place.outside() || !(point.l2.value() > 0)) return {};
  const PlanePlace l2 = place_on(plane, point.intensity(MemoryLevel::l2), point.rate);
  const std::string x = svg_number(l2.x), y = svg_number(mark.place.y);
  const std::string end = l2.outside() ? ""
                                       : fmt::format("<path class=\"joined-end\" data-point=\"{}\" d=\"M{} {}v8\"/>", i,
                                             x, svg_number(mark.place.y - 4));
  return fmt::format(
      "<g class=\"kind-{}\"><line class=\"joined\" data-point=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>{}</g>\n",
      to_text(point.kind), i, svg_number(mark.place.x), y, x, y, end);
}

std::string loose_title(const LoosePoint& point) {
  std::string text = fmt::format("{} {}, {}\nmeasured {}, {}", point.kind, point.shape, to_text(point.precision),
      format_seconds(point.time), point.source);
  if (point.flops.value() > 0)
    text += fmt::format("\n{}, {}, {} of the roof", flops_per_byte_text(point.flops_per_byte), format_flops(point.rate),
        format_percent(point.share_of_roof));
  if (!point.outside.empty()) text += "\n" + point.outside;
  if (!point.warning.empty()) text += "\n" + point.warning;
  return text;
}

}  // namespace

void take_marks(
    const RooflineReport& report, const Plane& plane, const std::vector<PlaneMark>& marks, LabelRoom& room) {
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (!marks[i].in_strip) room.take(marks[i].box());
    if (const auto timed = timed_mark(plane, report.points[i], marks[i])) room.take(timed->box());
  }
}

std::string operator_marks(const RooflineReport& report, const Plane& plane, const std::vector<PlaneMark>& marks) {
  std::string lines, points;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const OperatorPoint& point = report.points[i];
    const PlanePlace& place = marks[i].place;
    lines += joined_line(plane, i, point, marks[i]);
    points +=
        fmt::format("<g class=\"point kind-{} pass-{}{}{}\" data-point=\"{}\" transform=\"translate({} {})\">",
            to_text(point.kind), to_text(point_pass(point.pass)), place.outside() ? " outside" : "",
            marks[i].in_strip ? " in-strip" : "", i, svg_number(place.x), svg_number(place.y)) +
        picture_title(point_title(point) + others_here(report, marks, i)) +
        fmt::format("<path class=\"mark forecast\" d=\"{}\"/>", mark_outline(point_pass(point.pass), marks[i].radius)) +
        measured_mark(plane, point, marks[i]) + edge_arrow(place, marks[i].radius) + "</g>\n";
  }
  return lines + points;
}

std::string loose_marks(const RooflineReport& report, const Plane& plane) {
  std::string text;
  for (std::size_t i = 0; i < report.loose.size(); ++i) {
    const LoosePoint& point = report.loose[i];
    PlaneMark mark{place_on(plane, point.flops_per_byte, point.rate), loose_radius};
    move_inside(plane, mark);
    text += fmt::format("<g class=\"loose{}\" data-loose=\"{}\" transform=\"translate({} {})\">",
                mark.place.outside() ? " outside" : "", i, svg_number(mark.place.x), svg_number(mark.place.y)) +
            picture_title(loose_title(point)) + fmt::format("<circle class=\"mark\" r=\"{:g}\"/>", loose_radius) +
            edge_arrow(mark.place, loose_radius) + "</g>\n";
  }
  return text;
}

}  // namespace stepcast::roofline
