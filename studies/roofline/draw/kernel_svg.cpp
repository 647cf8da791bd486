// The kernel roofline: roofs, ridges, marks and their key.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/page/html_text.h"
#include "studies/roofline/draw/kernel_labels.h"
#include "studies/roofline/draw/kernel_places.h"
#include "studies/roofline/draw/kernel_points.h"
#include "studies/roofline/draw/picture_parts.h"
#include "studies/roofline/draw/pictures.h"
#include "studies/roofline/draw/plane_roofs.h"
#include "studies/roofline/figures/roof_checks.h"

namespace stepcast::roofline {
namespace {

constexpr double foot_of_plane = 52;  ///< numbers and name of the x axis
constexpr double key_radius = 6;

/// "quiet" roofs are of other types than the plan's: thin, without labels at their ridges.
const char* loudness(Precision precision, const RooflineReport& report) {
  return precision == report.precision ? "main" : "quiet";
}

std::vector<DrawnRoof> drawn_compute_roofs(const RooflineReport& report) {
  std::vector<DrawnRoof> drawn;
  for (std::size_t i = 0; i < report.roofs.compute.size(); ++i) {
    const ComputeRoof& roof = report.roofs.compute[i];
    drawn.push_back(
        {roof.rate.value(), fmt::format("compute {} {}", to_text(roof.basis), loudness(roof.precision, report)),
            fmt::format("data-roof=\"{}\"", i),
            fmt::format("{} {} {}", to_text(roof.precision), format_flops(roof.rate), basis_text(roof)),
            fmt::format("{} multiply-adds: {}\n{}", to_text(roof.precision), format_flops(roof.rate), roof.from)});
  }
  return drawn;
}

std::vector<DrawnRoof> drawn_memory_roofs(const RooflineReport& report) {
  std::vector<DrawnRoof> drawn;
  for (std::size_t i = 0; i < report.roofs.memory.size(); ++i) {
    const MemoryRoof& roof = report.roofs.memory[i];
    drawn.push_back(
        {roof.rate.value(), fmt::format("memory {}{}", to_text(roof.basis), roof.level == MemoryLevel::l2 ? " l2" : ""),
            fmt::format("data-roof=\"{}\"", i),
            fmt::format("{} {} {}", to_text(roof.level), format_rate(roof.rate), to_text(roof.basis)),
            fmt::format("{}: {}\n{}", to_text(roof.level), format_rate(roof.rate), roof.from)});
  }
  return drawn;
}

template <typename Roof> double highest_rate(const std::vector<Roof>& roofs) {
  double most = 0;
  for (const Roof& roof : roofs)
    if constexpr (std::is_same_v<Roof, DrawnRoof>) most = std::max(most, roof.rate);
    else most = std::max(most, roof.rate.value());
  return most;
}

/// Above and left of a ridge nothing is attainable, so that its label finds room there.
std::string ridge_label(const PlanePlace& place, const std::string& label, LabelRoom& room) {
  const double width = svg_text_width(label, picture_font);
  double up = 7;
  const auto box = [&] { return SvgBox{place.x - 6 - width, place.y - up - 12, place.x + 8, place.y - up + 4}; };
  while (up < 150 && !room.take_if_free(box())) up += 15;
  const std::string leader =
      up > 7 ? fmt::format("<path class=\"leader\" d=\"M-2 -4L-5 {}\"/>", svg_number(-up + 2)) : "";
  return leader + fmt::format("<text class=\"ridge-label end\" x=\"-6\" y=\"{}\">{}</text>", svg_number(-up),
                      svg_escaped(label));
}

/// "HBM ridge, datasheet: 295 FLOP/B"; a narrow sheet leaves the rest to the note beside it.
std::string ridge_words(const Ridge& ridge, Sheet sheet) {
  const std::string about = sheet == Sheet::wide ? fmt::format(" ridge, {}", to_text(ridge.basis)) : "";
  return fmt::format("{}{}: {}", to_text(ridge.level), about, flops_per_byte_text(ridge.flops_per_byte));
}

std::string ridge_mark(const RooflineReport& report, Sheet sheet, std::size_t i, const Plane& plane, LabelRoom& room) {
  const Ridge& ridge = report.roofs.ridges[i];
  const PlanePlace place = place_on(plane, ridge.flops_per_byte, ridge.rate);
  const std::string words = ridge_words(ridge, Sheet::wide);
  return fmt::format("<g class=\"ridge {}{}\" data-ridge=\"{}\" transform=\"translate({} {})\">",
             loudness(ridge.precision, report), place.outside() ? " outside" : "", i, svg_number(place.x),
             svg_number(place.y)) +
         picture_title(fmt::format("{}\n{}: {}", words, to_text(ridge.precision), format_flops(ridge.rate))) +
         fmt::format("<path class=\"drop\" d=\"M0 0V{}\"/><circle r=\"3.5\"/>", svg_number(plane.bottom() - place.y)) +
         edge_arrow(place, 3.5) + ridge_label(place, ridge_words(ridge, sheet), room) + "</g>\n";
}

/// Their labels then climb to the right, and no line to one crosses another.
std::vector<std::size_t> ridges_from_left(const Roofs& roofs) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < roofs.ridges.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
      [&](std::size_t a, std::size_t b) { return roofs.ridges[a].flops_per_byte < roofs.ridges[b].flops_per_byte; });
  return order;
}

std::string key_mark(PointPass pass, const char* classes) {
  return fmt::format("<path class=\"mark {}\" d=\"{}\"/>", classes, mark_outline(pass, key_radius));
}

void add_kinds(PictureLegend& legend, const RooflineReport& report) {
  for (const PointKind kind : point_kinds()) {
    const bool present = std::any_of(
        report.points.begin(), report.points.end(), [&](const OperatorPoint& point) { return point.kind == kind; });
    if (present)
      legend.entry(
          fmt::format("<g class=\"kind-{}\"><rect class=\"swatch\" x=\"-6\" y=\"-6\" width=\"12\" height=\"12\"/></g>",
              to_text(kind)),
          12, point_kind_name(kind));
  }
}

void add_shapes(PictureLegend& legend, const RooflineReport& report) {
  for (const PointPass pass : {PointPass::forward, PointPass::backward, PointPass::recompute, PointPass::step}) {
    const bool present = std::any_of(report.points.begin(), report.points.end(),
        [&](const OperatorPoint& point) { return point_pass(point.pass) == pass; });
    if (present) legend.entry(key_mark(pass, "forecast"), 14, pass == PointPass::step ? "once a step" : to_text(pass));
  }
}

void add_sources(PictureLegend& legend, const RooflineReport& report) {
  legend.entry(key_mark(PointPass::forward, "forecast"), 14, "hollow: forecast");
  const auto& points = report.points;
  if (std::any_of(points.begin(), points.end(), [](const OperatorPoint& point) { return point.measured.has_value(); }))
    legend.entry("<g class=\"mark measured\"><path d=\"" + mark_outline(PointPass::forward, key_radius) + "\"/></g>",
        14, "filled: measured");
  if (!report.loose.empty())
    legend.entry("<g class=\"loose\"><circle class=\"mark\" r=\"3\"/></g>", 8, "other measured kernels");
  if (std::any_of(points.begin(), points.end(), [](const OperatorPoint& point) { return point.l2.value() > 0; }))
    legend.entry("<path class=\"joined\" d=\"M-12 0H10M-12 -4v8\"/>", 24, "the same by bytes of L2");
}

/// Those of the types that the run multiplies in.
std::vector<DrawnRoof> roofs_of_run(const RooflineReport& report) {
  const std::vector<DrawnRoof> all = drawn_compute_roofs(report);
  std::vector<DrawnRoof> own;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Precision type = report.roofs.compute[i].precision;
    if (type == report.precision ||
        std::any_of(report.points.begin(), report.points.end(),
            [&](const OperatorPoint& point) { return point.precision == type && point.flops.value() > 0; }))
      own.push_back(all[i]);
  }
  return own;
}

std::string kernel_legend(const RooflineReport& report, Sheet sheet, double& bottom) {
  PictureLegend legend(sheet, bottom);
  if (sheet == Sheet::narrow) add_roofs(legend, roofs_of_run(report));
  add_kinds(legend, report);
  legend.new_line();
  add_shapes(legend, report);
  add_sources(legend, report);
  legend.new_line(8);
  legend.entry("<path class=\"roof datasheet main\" d=\"M-13 0H13\"/>", 26, "datasheet");
  legend.entry("<path class=\"roof burst main\" d=\"M-13 0H13\"/>", 26, "measured or fitted");
  if (has_assumed(report.roofs.memory))
    legend.entry("<path class=\"roof assumed main\" d=\"M-13 0H13\"/>", 26, "assumed");
  if (sheet == Sheet::narrow) legend.new_line(8);
  for (const double share : {0.01, 0.05, 0.2})
    legend.entry(fmt::format("<circle class=\"area-key\" r=\"{}\"/>", svg_number(mark_radius(share))),
        2 * mark_radius(share), fmt::format("{:.0f} %{}", 100 * share, share == 0.2 ? " of the step" : ""));
  bottom = legend.bottom() + 20;
  return legend.text();
}

/// The ground under the roofs' lines.
std::vector<SvgBox> ground_of_roofs(
    const Plane& plane, const std::vector<DrawnRoof>& flat, const std::vector<DrawnRoof>& slopes) {
  const double fastest = highest_rate(slopes), highest = highest_rate(flat);
  std::vector<SvgBox> boxes;
  const auto add = [&](double from_x, double from_y, double to_x, double to_y) {
    const auto line = boxes_along(plane.x(from_x), plane.y(from_y), plane.x(to_x), plane.y(to_y));
    boxes.insert(boxes.end(), line.begin(), line.end());
  };
  const double left = std::pow(10.0, plane.frame.x_low), right = std::pow(10.0, plane.frame.x_high);
  for (const DrawnRoof& roof : flat)
    if (roof.rate > 0 && fastest > 0) add(std::max(left, roof.rate / fastest), roof.rate, right, roof.rate);
  for (const DrawnRoof& roof : slopes)
    if (roof.rate > 0 && highest > 0) add(left, left * roof.rate, highest / roof.rate, highest);
  return boxes;
}

PictureHeading kernel_heading(const RooflineReport& report, Sheet sheet) {
  return picture_heading(sheet, "Kernel roofline",
      fmt::format("{} in {}, per GPU: {} on {}, {}", report.gpu, to_text(report.precision), report.network,
          html_plural(static_cast<std::size_t>(std::max<std::int64_t>(0, report.gpus)), "GPU", "GPUs"), report.split));
}

}  // namespace

Plane kernel_plane(const RooflineReport& report, Sheet sheet) {
  return sheet_plane(sheet, report.roofs.frame, kernel_heading(report, sheet));
}

std::string kernel_roofline_svg(const RooflineReport& report, Sheet sheet) {
  const Plane plane = kernel_plane(report, sheet);
  const KernelPlaces places = kernel_places(report, sheet, plane, foot_of_plane),
                     by_l2 = kernel_places(report, sheet, plane, foot_of_plane, MemoryLevel::l2);
  LabelRoom room({plane.left, plane.top, plane.right(), plane.bottom()}), l2_room = room;
  take_marks(report, plane, places.marks, room);
  take_marks(report, plane, by_l2.marks, l2_room);
  const std::vector<DrawnRoof> slopes = drawn_memory_roofs(report);
  const double highest = highest_rate(report.roofs.compute);
  const std::vector<SvgBox> lines = ground_of_roofs(plane, roofs_of_run(report), slopes);
  const std::string sloped = slope_roofs(plane, slopes, highest, room);
  std::string ridges;
  // Only one type's ridges show their labels at a time, so that each type's stand clear of each other.
  std::map<Precision, LabelRoom> quiet_rooms;
  for (const std::size_t i : ridges_from_left(report.roofs)) {
    const Precision precision = report.roofs.ridges[i].precision;
    LabelRoom& own =
        precision == report.precision ? room : quiet_rooms.try_emplace(precision, room.frame()).first->second;
    ridges += ridge_mark(report, sheet, i, plane, own);
  }
  double bottom = places.bottom + 8;
  const std::string legend = kernel_legend(report, sheet, bottom);
  const std::string body = kernel_heading(report, sheet).text + plane_grid(plane, "FLOP per byte", "FLOP/s") +
                           loose_marks(report, plane) +
                           flat_roofs(sheet, plane, drawn_compute_roofs(report), highest_rate(report.roofs.memory)) +
                           sloped + ridges + places.strip + operator_marks(report, plane, places.marks) +
                           kernel_labels(report, sheet, MemoryLevel::hbm, places.marks, room, lines) +
                           kernel_labels(report, sheet, MemoryLevel::l2, by_l2.marks, l2_room, lines) + legend;
  return picture_element("kernel-roofline", sheet, bottom,
      fmt::format("Kernel roofline of {} on {}: {} operators of {}", report.network, report.gpu, report.points.size(),
          report.machine),
      plane_attributes(plane), body);
}

}  // namespace stepcast::roofline
