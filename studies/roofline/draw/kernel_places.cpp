#include "studies/roofline/draw/kernel_places.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "studies/print/page/html_text.h"
#include "studies/roofline/draw/pictures.h"

namespace stepcast::roofline {
namespace {

constexpr std::size_t longest_name = 26;
constexpr std::string_view strip_words = "no FLOPs counted, or left of and below the frame";
constexpr double strip_head = 18, mark_gap = 4, strip_gap = 16, least_row = 22;

/// The operators of one name in the strip: a place for each shape of mark, then the name.
struct StripCell {
  std::string_view name;
  PointKind kind = PointKind::other;
  double share = 0;
  std::vector<std::size_t> points;
  std::array<double, 4> radius{};  ///< of the largest mark of each pass; 0: none
  [[nodiscard]] std::string words() const {
    const auto marks =
        static_cast<std::size_t>(std::count_if(radius.begin(), radius.end(), [](double r) { return r > 0; }));
    return counted_name(name, points.size() > marks ? points.size() : 1) + " " + html_percent(share);
  }
  [[nodiscard]] double marks_width() const {
    double width = 0;
    for (const double r : radius) width += r > 0 ? 2 * r + mark_gap : 0;
    return width;
  }
};

double& radius_of(StripCell& cell, Pass pass) { return cell.radius[static_cast<std::size_t>(point_pass(pass))]; }

/// Heaviest first, as the points are.
std::vector<StripCell> strip_cells(const RooflineReport& report, const std::vector<PlaneMark>& marks) {
  std::vector<StripCell> cells;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (!marks[i].in_strip) continue;
    const OperatorPoint& point = report.points[i];
    const std::string_view name = name_without_pass(point.name);
    auto cell = std::find_if(
        cells.begin(), cells.end(), [&](const StripCell& one) { return one.name == name && one.kind == point.kind; });
    if (cell == cells.end()) cell = cells.insert(cells.end(), {name, point.kind, 0, {}, {}});
    cell->share += point.share;
    cell->points.push_back(i);
    double& radius = radius_of(*cell, point.pass);
    radius = std::max(radius, marks[i].radius);
  }
  return cells;
}

class Strip {
 public:
  Strip(const RooflineReport& report, Sheet sheet, double top, std::vector<PlaneMark>& marks)
      : report_(report), marks_(marks), left_(sheet_margin(sheet)), right_(sheet_width(sheet) - left_), top_(top),
        cells_(strip_cells(report, marks)) {
    for (const StripCell& cell : cells_)
      for (const double r : cell.radius) row_ = std::max(row_, 2 * r + 6);
    x_ = left_ + 8, y_ = top + strip_head + row_ / 2;
    for (StripCell& cell : cells_) place(cell);
  }

  [[nodiscard]] double bottom() const { return cells_.empty() ? top_ : y_ + row_ / 2 + 4; }
  [[nodiscard]] std::string text() const {
    if (cells_.empty()) return {};
    return fmt::format("<rect class=\"corner\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", svg_number(left_),
               svg_number(top_), svg_number(right_ - left_), svg_number(bottom() - top_)) +
           picture_text(left_ + 8, top_ + 14, "soft", strip_words) + names_;
  }

 private:
  void place(StripCell& cell) {
    const std::string words = cell.words();
    const double width = cell.marks_width() + svg_text_width(words, picture_font);
    if (x_ > left_ + 8 && x_ + width > right_) x_ = left_ + 8, y_ += row_;
    double at = x_;
    for (std::size_t pass = 0; pass < cell.radius.size(); ++pass) {
      const double radius = cell.radius[pass];
      if (!(radius > 0)) continue;
      for (const std::size_t i : cell.points)
        if (static_cast<std::size_t>(point_pass(report_.points[i].pass)) == pass)
          marks_[i].place.x = at + radius, marks_[i].place.y = y_;
      at += 2 * radius + mark_gap;
    }
    names_ += fmt::format("<text class=\"label strip-name\" {} x=\"{}\" y=\"{}\">{}</text>\n",
        points_attribute(cell.points), svg_number(at), svg_number(y_ + 4), svg_escaped(words));
    x_ += width + strip_gap;
  }

  const RooflineReport& report_;
  std::vector<PlaneMark>& marks_;
  double left_, right_, top_, row_ = least_row, x_ = 0, y_ = 0;
  std::vector<StripCell> cells_;
  std::string names_;
};

}  // namespace

std::string counted_name(std::string_view name, std::size_t count) {
  const std::string text = svg_shortened(name, longest_name);
  return count > 1 ? text + " \u00d7" + html_count(static_cast<double>(count)) : text;
}

std::string points_attribute(const std::vector<std::size_t>& points) {
  return fmt::format("data-points=\"{}\"", fmt::join(points, " "));
}

KernelPlaces kernel_places(
    const RooflineReport& report, Sheet sheet, const Plane& plane, double foot, MemoryLevel level) {
  KernelPlaces places;
  for (const OperatorPoint& point : report.points) {
    PlaneMark mark{place_on(plane, point.intensity(level), point.rate), mark_radius(point.share)};
    mark.in_strip = mark.place.right < 0 && mark.place.down > 0;
    move_inside(plane, mark);
    places.marks.push_back(mark);
  }
  const Strip strip(report, sheet, plane.bottom() + foot, places.marks);
  places.strip = strip.text();
  places.bottom = strip.bottom();
  return places;
}

}  // namespace stepcast::roofline
