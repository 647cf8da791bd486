// The network roofline: what compute could reach if one collective were the only limit.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/page/html_text.h"
#include "studies/roofline/draw/picture_parts.h"
#include "studies/roofline/draw/pictures.h"
#include "studies/roofline/draw/plane_roofs.h"
#include "studies/roofline/figures/roof_checks.h"

namespace stepcast::roofline {
namespace {

constexpr std::size_t labelled_collectives = 6, longest_collective = 30;
constexpr double smallest_ring = 5, bent_steps = 40, network_foot = 52;

/// Colours by what is split; the machine's words for it, and what a reader calls it.
struct AxisColor {
  const char *axis, *name;
};
constexpr AxisColor axis_colors[] = {{"tp", "tensor parallel"}, {"cp", "context parallel"}, {"dp", "data parallel"},
    {"ep", "expert parallel"}, {"pp", "pipeline"}, {"stage", "between stages"}};
const char* axis_class(const std::string& axis) {
  for (const AxisColor& color : axis_colors)
    if (axis == color.axis) return color.axis;
  return "other";
}

double share_of_step(const RooflineReport& report, Seconds time) {
  return report.step_time.value() > 0 && time.value() > 0 ? time / report.step_time : 0;
}

std::vector<PlaneMark> network_rings(const RooflineReport& report, const Plane& plane) {
  std::vector<PlaneMark> rings;
  for (const LinkPoint& point : report.links.points) {
    PlaneMark ring{place_on(plane, point.flops_per_byte, point.rate),
        std::max(smallest_ring, mark_radius(share_of_step(report, point.time)))};
    move_inside(plane, ring);
    rings.push_back(ring);
  }
  return rings;
}

/// Collectives that lie on `i` or below it, itself not counted.
std::vector<std::size_t> collectives_at(const std::vector<PlaneMark>& rings, std::size_t i) {
  std::vector<std::size_t> same;
  for (std::size_t other = 0; other < rings.size(); ++other)
    if (other != i && rings[other].hides(rings[i])) same.push_back(other);
  return same;
}

std::string collective_title(const RooflineReport& report, const LinkPoint& point) {
  std::string text =
      fmt::format("{}, {}, {} of {} over {}\n{:.6g} x {} received by each\n{}; {}\n", point.name, pass_text(point.pass),
          point.kind, html_plural(static_cast<std::size_t>(std::max<std::int64_t>(0, point.group_size)), "GPU", "GPUs"),
          point.link, point.calls, format_bytes_decimal(point.bytes), flops_per_byte_text(point.flops_per_byte),
          format_flops(point.rate)) +
      fmt::format("{} a step, {} of it; {} exposed\n{}, {} of the link, limited by {}\n{}{}{}",
          format_seconds(point.time), format_percent(share_of_step(report, point.time)),
          format_percent(point.exposed_share()), format_rate(point.bus), format_percent(point.share_of_roof),
          point.bound, to_text(point.source), point.law.empty() ? "" : ": ", point.law);
  text += point.limits ? "\nbelow the compute roof: the step waits unless other work hides it"
                       : "\nabove the compute roof: the GPU computes longer than this takes";
  for (const std::string* more : {&point.because, &point.outside, &point.warning})
    if (!more->empty()) text += "\n" + *more;
  return text;
}

std::string collective_label(
    const RooflineReport& report, Sheet sheet, const std::vector<PlaneMark>& rings, std::size_t i, LabelRoom& room) {
  const std::vector<std::size_t> same = collectives_at(rings, i);
  // said at the longest one
  if (std::any_of(same.begin(), same.end(), [&](std::size_t other) { return other < i; })) return {};
  Seconds time = report.links.points[i].time;
  for (const std::size_t other : same) time += report.links.points[other].time;
  const char* const form = sheet == Sheet::wide ? " and {} more here" : " +{}";
  const std::string more = same.empty() ? "" : fmt::format(fmt::runtime(form), same.size());
  const std::string label = svg_shortened(report.links.points[i].name, sheet == Sheet::wide ? longest_collective : 20) +
                            more + ": " + format_seconds(time);
  return mark_label(label, rings[i].place, rings[i].radius, room);
}

std::string collective_mark(
    const RooflineReport& report, const std::vector<PlaneMark>& rings, std::size_t i, const std::string& label) {
  const LinkPoint& point = report.links.points[i];
  const PlanePlace& place = rings[i].place;
  const double radius = rings[i].radius;
  std::vector<std::string_view> same;
  for (const std::size_t other : collectives_at(rings, i)) same.push_back(report.links.points[other].name);
  const std::string title = collective_title(report, point) + same_place_text(same);
  const double exposed = std::clamp(point.exposed_share(), 0.0, 1.0);
  return fmt::format("<g class=\"link-point axis-{}{}{}\" data-link=\"{}\" transform=\"translate({} {})\">",
             axis_class(point.axis), point.limits ? " limits" : "", place.outside() ? " outside" : "", i,
             svg_number(place.x), svg_number(place.y)) +
         picture_title(title) +
         fmt::format("<circle class=\"ring\" r=\"{}\"/><circle class=\"exposed\" r=\"{}\"/>", svg_number(radius),
             svg_number(radius * std::sqrt(exposed))) +
         edge_arrow(place, radius) + label + "</g>\n";
}

/// A narrow sheet names the link and its rate; the line's dashes say what that rests on.
std::string link_roof_label(const LinkRoof& roof, Sheet sheet) {
  if (sheet == Sheet::narrow) return svg_shortened(roof.link, 16) + " " + format_rate(roof.rate);
  return fmt::format("{} {} {}", svg_shortened(roof.name, 28), format_rate(roof.rate), to_text(roof.basis));
}

std::vector<DrawnRoof> drawn_link_roofs(const NetworkRoofline& links, Sheet sheet) {
  std::vector<DrawnRoof> drawn;
  for (std::size_t i = 0; i < links.roofs.size(); ++i) {
    const LinkRoof& roof = links.roofs[i];
    drawn.push_back({roof.rate.value(), fmt::format("link {}", to_text(roof.basis)), fmt::format("data-roof=\"{}\"", i),
        link_roof_label(roof, sheet), fmt::format("{}: {}\n{}", roof.name, format_rate(roof.rate), roof.from)});
  }
  return drawn;
}

BytesPerSecond roof_rate_of(const NetworkRoofline& links, const std::string& link) {
  for (const LinkRoof& roof : links.roofs)
    if (roof.link == link) return roof.rate;
  return {};
}

/// 1/y = c + 1 / (x * rate), c: seconds of latency per FLOP. From where it enters the frame to where it leaves it.
std::string bent_curve(const RooflineReport& report, std::size_t i, const Plane& plane, bool quiet) {
  const LinkPoint& point = report.links.points[i];
  const double rate = roof_rate_of(report.links, point.link).value(), flops = (point.rate * point.time).value();
  if (!(rate > 0) || !(flops > 0) || !(point.latency.value() > 0)) return {};
  const double c = point.calls * point.latency.value() / flops;
  const auto x_at = [&](int power) {
    const double left = std::pow(10.0, -power) - c;
    return left > 0 ? 1 / (rate * left) : INFINITY;
  };
  const double from = std::max(std::pow(10.0, plane.frame.x_low), x_at(plane.frame.y_low));
  const double to = std::min(std::pow(10.0, plane.frame.x_high), x_at(plane.frame.y_high));
  if (!(from < to)) return {};
  std::string path;
  for (int step = 0; step <= static_cast<int>(bent_steps); ++step) {
    const double x = from * std::pow(to / from, step / bent_steps);
    path += fmt::format("{}{} {}", step == 0 ? "M" : "L", svg_number(plane.x(x)),
        svg_number(plane.y(bent_roof(x, BytesPerSecond(rate), point.calls, point.latency, Flops(flops)).value())));
  }
  return fmt::format("<path class=\"bent axis-{}{}\" data-link=\"{}\" d=\"{}\"/>\n", axis_class(point.axis),
      quiet ? " quiet" : "", i, path);
}

DrawnRoof drawn_peak(const RooflineReport& report) {
  const std::string words = fmt::format("{} {}", to_text(report.precision), format_flops(report.links.peak));
  return {report.links.peak.value(), "compute datasheet main", "", words + " datasheet", words};
}

/// The compute roof, and what it means to be on either side.
std::string compute_roof(const RooflineReport& report, Sheet sheet, const Plane& plane) {
  const double peak = report.links.peak.value();
  if (!(peak > 0)) return {};
  const PlanePlace place = place_on(plane, std::pow(10.0, plane.frame.x_low), report.links.peak);
  if (place.outside()) return {};
  const double x = plane.right() + 18;
  const std::string drawn =
      fmt::format("<rect class=\"waiting\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", svg_number(plane.left),
          svg_number(place.y), svg_number(plane.width), svg_number(plane.bottom() - place.y)) +
      flat_roofs(sheet, plane, {drawn_peak(report)}, 0);
  if (sheet == Sheet::narrow) return drawn;
  return drawn + picture_text(x, place.y - 18, "soft", "above: compute takes longer") +
         picture_text(x, place.y + 26, "soft", "below: the step waits") +
         picture_text(x, place.y + 41, "soft", "where nothing hides it");
}

/// What stands beside the plane of a wide sheet.
void add_peak(PictureLegend& legend, const RooflineReport& report) {
  if (!(report.links.peak.value() > 0)) return;
  add_roofs(legend, {drawn_peak(report)});
  legend.entry("", 0, "above: compute takes longer;");
  legend.new_line();
  legend.entry("", 0, "below: the step waits where nothing hides the move");
  legend.new_line();
}

std::string network_legend(const RooflineReport& report, Sheet sheet, double& bottom) {
  PictureLegend legend(sheet, bottom);
  if (sheet == Sheet::narrow) add_peak(legend, report);
  const auto& points = report.links.points;
  const auto is_there = [&](const char* name) {
    return std::any_of(points.begin(), points.end(),
        [&](const LinkPoint& point) { return std::string_view(axis_class(point.axis)) == name; });
  };
  const auto swatch = [](const char* name) {
    return fmt::format(
        "<g class=\"axis-{}\"><rect class=\"swatch\" x=\"-6\" y=\"-6\" width=\"12\" height=\"12\"/></g>", name);
  };
  for (const AxisColor& color : axis_colors)
    if (is_there(color.axis)) legend.entry(swatch(color.axis), 12, color.name);
  if (is_there("other")) legend.entry(swatch("other"), 12, "other");
  legend.new_line();
  legend.entry("<g class=\"limits\"><circle class=\"ring\" r=\"9\"/><circle class=\"exposed\" r=\"5.5\"/></g>", 20,
      sheet == Sheet::wide ? "ring: time in the step by area; disc inside: the part of it that is exposed"
                           : "ring: time in the step; disc: what is exposed");
  legend.entry("<circle class=\"ring\" r=\"7\"/>", 16, "above the compute roof");
  legend.new_line(4);
  legend.entry("<path class=\"roof datasheet link\" d=\"M-13 0H13\"/>", 26, "datasheet");
  legend.entry("<path class=\"roof burst link\" d=\"M-13 0H13\"/>", 26, "measured");
  if (has_assumed(report.links.roofs))
    legend.entry("<path class=\"roof assumed link\" d=\"M-13 0H13\"/>", 26, "assumed");
  legend.entry("<path class=\"bent\" d=\"M-13 6C-6 -4 0 -5 13 -5\"/>", 26, "with the latency of the calls");
  if (sheet == Sheet::narrow) legend.new_line(6);
  for (const double share : {0.01, 0.1}) {
    const double radius = std::max(smallest_ring, mark_radius(share));
    legend.entry(fmt::format("<circle class=\"area-key\" r=\"{}\"/>", svg_number(radius)), 2 * radius,
        fmt::format("{:.0f} %{}", 100 * share, share == 0.1 ? " of the step" : ""));
  }
  bottom = legend.bottom() + 14;
  return legend.text();
}

PictureHeading network_heading(const RooflineReport& report, Sheet sheet) {
  return picture_heading(sheet, "Network roofline",
      fmt::format(
          "what compute could reach if one collective were the only limit: {} on {}", report.network, report.machine));
}

}  // namespace

Plane network_plane(const RooflineReport& report, Sheet sheet) {
  return sheet_plane(sheet, report.links.frame, network_heading(report, sheet));
}

std::string network_roofline_svg(const RooflineReport& report, Sheet sheet) {
  const Plane plane = network_plane(report, sheet);
  const std::vector<PlaneMark> rings = network_rings(report, plane);
  LabelRoom room({plane.left, plane.top, plane.right(), plane.bottom()});
  for (const PlaneMark& ring : rings) room.take(ring.box());
  const std::string slopes =
      slope_roofs(plane, drawn_link_roofs(report.links, sheet), std::pow(10.0, plane.frame.y_high), room);
  std::string curves, marks;
  std::size_t labels = 0;
  for (std::size_t i = 0; i < rings.size(); ++i) {
    const std::string label = labels < labelled_collectives ? collective_label(report, sheet, rings, i, room) : "";
    labels += label.empty() ? 0 : 1;
    curves += bent_curve(report, i, plane, label.empty());
    marks += collective_mark(report, rings, i, label);
  }
  double bottom = plane.bottom() + network_foot;
  const std::string legend = network_legend(report, sheet, bottom);
  const std::string nothing = rings.empty() ? picture_text(plane.left + plane.width / 2, plane.top + plane.height / 2,
                                                  "mid strong", "this run sends nothing between GPUs")
                                            : "";
  const std::string body = network_heading(report, sheet).text +
                           plane_grid(plane, "FLOP of the step per byte received", "FLOP/s") +
                           compute_roof(report, sheet, plane) + slopes + curves + marks + nothing + legend;
  return picture_element("network-roofline", sheet, bottom,
      fmt::format("Network roofline of {} on {}: {} collectives", report.network, report.machine, rings.size()),
      plane_attributes(plane), body);
}

}  // namespace stepcast::roofline
