// The dataflow view: the heaviest operators at every boundary that their data cross, from the multiply-adds outwards.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/page/html_text.h"
#include "studies/roofline/draw/picture_parts.h"
#include "studies/roofline/draw/pictures.h"
#include "studies/roofline/figures/roof_checks.h"

namespace stepcast::roofline {
namespace {

constexpr std::size_t fewest_columns = 4;
constexpr std::size_t drawn_operators(Sheet sheet) { return sheet == Sheet::wide ? 6 : 3; }
constexpr double name_width = 168, head_height = 92, cell_gap = 6;

/// Outer sides of all operators' boundaries, innermost first; one that only some have stands behind what it follows
/// there.
std::vector<std::string> boundary_columns(const std::vector<OperatorBoundaries>& operators, std::size_t count) {
  std::vector<std::string> columns;
  for (std::size_t i = 0; i < count; ++i) {
    auto at = columns.begin();
    for (const BoundaryRow& row : operators[i].rows) {
      const auto found = std::find(columns.begin(), columns.end(), row.outer);
      at = (found == columns.end() ? columns.insert(at, row.outer) : found) + 1;
    }
  }
  return columns;
}

/// A cell per boundary: in columns beside the operator's name, or on a narrow sheet below it.
struct BoundaryGrid {
  std::vector<std::string> columns;
  Sheet sheet;
  double side = 16, cell_width = 0, cell_height = 118;
  BoundaryGrid(std::vector<std::string> names, Sheet on) : columns(std::move(names)), sheet(on) {
    // and one for the multiply-adds
    const auto count = static_cast<double>(std::max(columns.size() + 1, fewest_columns));
    cell_width = (sheet_width(sheet) - 2 * side - name_width) / count - cell_gap;
    if (!is_wide()) cell_width = sheet_width(sheet) - side - sheet_margin(sheet), cell_height = 102;
  }
  [[nodiscard]] bool is_wide() const { return sheet == Sheet::wide; }
  [[nodiscard]] double x(std::size_t column) const {
    return is_wide() ? side + name_width + static_cast<double>(column) * (cell_width + cell_gap) : side;
  }
  [[nodiscard]] double y(std::size_t column, double top) const {
    return is_wide() ? top : top + head_height + static_cast<double>(column) * (cell_height + cell_gap);
  }
  [[nodiscard]] double operator_height(const OperatorBoundaries& one) const {
    return is_wide() ? cell_height + 10 : y(one.rows.size() + 1, 0) + 12;
  }
  /// What a cell is of, where no heading says it.
  [[nodiscard]] std::string own_head(const std::string& words) const {
    return is_wide() ? "" : picture_text(cell_width - 8, 18, "end soft", words);
  }
  [[nodiscard]] std::size_t characters(double font) const {
    return static_cast<std::size_t>(std::max(4.0, (cell_width - 16) / (0.55 * font)));
  }
  [[nodiscard]] std::size_t column_of(const std::string& outer) const {
    return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), outer) - columns.begin()) + 1;
  }
};

double longest_time(const OperatorBoundaries& one) {
  double most = one.compute.value();
  for (const BoundaryRow& row : one.rows) most = std::max(most, row.time.value());
  return most;
}

/// A bar of the row's own scale, with a tick where the multiply-adds end.
std::string time_bar(
    const BoundaryGrid& grid, const OperatorBoundaries& one, Seconds time, RoofBasis basis = RoofBasis::datasheet) {
  const double most = longest_time(one), room = grid.cell_width - 16;
  if (!(most > 0)) return {};
  const double width = std::clamp(time.value() / most, 0.0, 1.0) * room,
               tick = 8 + std::clamp(one.compute.value() / most, 0.0, 1.0) * room;
  return fmt::format("<rect class=\"time-bar{}\" x=\"8\" y=\"54\" width=\"{}\" height=\"9\"/><path "
                     "class=\"compute-tick\" d=\"M{} 51v15\"/>",
      basis == RoofBasis::assumed ? " assumed" : "", svg_number(time.value() > 0 ? std::max(1.0, width) : 0),
      svg_number(tick));
}

std::string cell_frame(const BoundaryGrid& grid, std::size_t column, double y, const std::string& attributes,
    const std::string& title, const std::string& inside) {
  return fmt::format(
      "<g {} transform=\"translate({} {})\">{}<rect class=\"cell\" rx=\"4\" width=\"{}\" height=\"{}\"/>{}</g>\n",
      attributes, svg_number(grid.x(column)), svg_number(grid.y(column, y)), picture_title(title),
      svg_number(grid.cell_width), svg_number(grid.cell_height), inside);
}

/// "1.23 ms, 0.8 x compute".
std::string crossing_time(const OperatorBoundaries& one, Seconds time) {
  if (!(one.compute.value() > 0)) return format_seconds(time);
  const double times = time / one.compute;
  return format_seconds(time) + fmt::format(", {} x", times >= 100 ? html_count(times) : fmt::format("{:.2g}", times));
}

/// What stays inside, on two lines at most.
std::string stationary_lines(const BoundaryGrid& grid, const BoundaryRow& row) {
  if (row.stationary.empty()) return "";
  const std::string words = row.stationary == "none" ? "keeps nothing" : "keeps " + row.stationary;
  const std::size_t room = grid.characters(11),
                    broken = words.size() > room ? words.rfind(' ', room) : std::string::npos;
  if (broken == std::string::npos) return picture_text(8, 81, "small", svg_shortened(words, room));
  return picture_text(8, 81, "small", words.substr(0, broken)) +
         picture_text(8, 95, "small", svg_shortened(words.substr(broken + 1), room));
}

/// Where the outline alone would not say it.
std::string limit_word(const BoundaryGrid& grid) {
  return picture_text(grid.cell_width - 8, grid.cell_height - 7, "end limit-word strong small", "limits");
}

std::string crossing_title(const OperatorBoundaries& one, const BoundaryRow& row) {
  std::string text =
      fmt::format("{}: {} to {}\n{} in one call", one.name, row.outer, row.inner, format_bytes_decimal(row.bytes));
  if (row.rate.value() > 0)
    text += fmt::format(" at {} ({}): {}", format_rate(row.rate), to_text(row.basis), format_seconds(row.time));
  if (row.flops_per_byte > 0) text += "\n" + flops_per_byte_text(row.flops_per_byte);
  if (row.ridge > 0) text += fmt::format(", the ridge is at {}", flops_per_byte_text(row.ridge));
  if (!row.stationary.empty()) text += "\nstationary: " + row.stationary;
  if (!row.text.empty()) text += "\n" + row.text;
  return row.limits ? text + "\nthis boundary limits the operator" : text;
}

std::string crossing_cell(
    const BoundaryGrid& grid, const OperatorBoundaries& one, std::size_t operator_index, std::size_t i, double y) {
  const BoundaryRow& row = one.rows[i];
  const std::string crosses = row.bytes.value() > 0 ? format_bytes_decimal(row.bytes) : "nothing crosses";
  const bool timed = row.rate.value() > 0 || row.time.value() > 0;
  std::string inside = picture_text(8, 18, "strong", crosses) + grid.own_head(row.outer + " to " + row.inner) +
                       (row.limits ? limit_word(grid) : "") +
                       picture_text(8, 35, "", row.flops_per_byte > 0 ? flops_per_byte_text(row.flops_per_byte) : "");
  if (timed) inside += time_bar(grid, one, row.time, row.basis);
  inside += picture_text(8, 49, "small",
                timed                   ? crossing_time(one, row.time)
                : row.bytes.value() > 0 ? "rate not known"
                                        : "") +
            stationary_lines(grid, row);
  return cell_frame(grid, grid.is_wide() ? grid.column_of(row.outer) : i + 1, y,
      fmt::format("class=\"crossing{}\" data-operator=\"{}\" data-boundary=\"{}\"", row.limits ? " limits" : "",
          operator_index, i),
      crossing_title(one, row), inside);
}

std::string compute_cell(const BoundaryGrid& grid, const OperatorBoundaries& one, std::size_t i, double y) {
  const bool limits = one.limit == "compute";
  const std::string inside = picture_text(8, 18, "strong", format_flops(one.flops)) + grid.own_head("multiply-adds") +
                             (limits ? limit_word(grid) : "") + picture_text(8, 35, "", "at peak") +
                             picture_text(8, 49, "small", format_seconds(one.compute)) +
                             time_bar(grid, one, one.compute);
  return cell_frame(grid, 0, y,
      fmt::format("class=\"multiply-adds{}\" data-operator=\"{}\"", limits ? " limits" : "", i),
      fmt::format(
          "{}: {} at the datasheet's peak take {}", one.name, format_flops(one.flops), format_seconds(one.compute)),
      inside);
}

std::string operator_head(const BoundaryGrid& grid, const OperatorBoundaries& one, double y) {
  const auto line = [&](double dy, std::string_view classes, const std::string& text) {
    return picture_text(grid.side, y + dy, classes, svg_shortened(text, grid.is_wide() ? 25 : 50));
  };
  return "<g class=\"operator kind-" + std::string(to_text(one.kind)) + "\">" +
         picture_title(
             fmt::format("{}, {} of {}\n{}\n{}", one.name, pass_text(one.pass), one.block, one.shape, one.nest)) +
         fmt::format("<rect class=\"swatch\" x=\"{}\" y=\"{}\" width=\"4\" height=\"{}\"/>", svg_number(grid.side - 9),
             svg_number(y), svg_number(grid.is_wide() ? grid.cell_height : grid.operator_height(one) - 18)) +
         line(18, "strong", one.name) + line(35, "small", one.shape) +
         line(51, "small", fmt::format("{}, {}", pass_text(one.pass), one.block)) +
         line(67, "small", fmt::format("{} a call, {}", format_seconds(one.time), html_percent(one.share))) +
         line(83, "small", one.limit.empty() ? "" : "limited by " + one.limit) + "</g>\n";
}

std::string column_heads(
    const BoundaryGrid& grid, const std::vector<OperatorBoundaries>& operators, std::size_t count, double grid_top) {
  if (!grid.is_wide()) return {};
  std::string text = picture_text(grid.x(0) + 8, grid_top - 22, "strong", "multiply-adds") +
                     picture_text(grid.x(0) + 8, grid_top - 8, "small soft", "innermost");
  for (std::size_t c = 0; c < grid.columns.size(); ++c) {
    std::string inner;
    for (std::size_t i = 0; i < count && inner.empty(); ++i)
      for (const BoundaryRow& row : operators[i].rows)
        if (row.outer == grid.columns[c]) inner = row.inner;
    const double x = grid.x(c + 1) + 8;
    text += picture_text(x, grid_top - 22, "strong", svg_shortened(grid.columns[c], grid.characters(12))) +
            (inner.empty()
                    ? ""
                    : picture_text(x, grid_top - 8, "small soft", svg_shortened("to " + inner, grid.characters(11))));
  }
  return text;
}

}  // namespace

std::string boundaries_svg(const RooflineReport& report, Sheet sheet) {
  const std::size_t count = std::min(drawn_operators(sheet), report.boundaries.size());
  const BoundaryGrid grid(boundary_columns(report.boundaries, count), sheet);
  const PictureHeading heading = picture_heading(sheet, "Dataflow by boundary",
      fmt::format("bytes of one call that cross, and their time beside that of the multiply-adds: {}", report.network));
  double y = heading.bottom + (grid.is_wide() ? 44 : 6);
  std::string body = heading.text + column_heads(grid, report.boundaries, count, y);
  for (std::size_t i = 0; i < count; ++i, y += grid.operator_height(report.boundaries[i])) {
    const OperatorBoundaries& one = report.boundaries[i];
    body += operator_head(grid, one, y) + compute_cell(grid, one, i, y);
    for (std::size_t row = 0; row < one.rows.size(); ++row) body += crossing_cell(grid, one, i, row, y);
  }
  if (count == 0) body += picture_text(sheet_width(sheet) / 2, y += 20, "mid", "no operator has a loop nest to show");
  const std::string rest =
      report.boundaries.size() > count
          ? fmt::format("{} lighter operators stand in the table and the JSON.", report.boundaries.size() - count)
          : "";
  const std::string key =
      "Bars: time, one scale per operator; pale: by an assumed rate; dashed: where the multiply-adds end; \"keeps\": "
      "tensors that stay inside.";
  y -= 4;
  for (const std::string& text : {key, rest})
    for (const std::string& line : svg_lines(text, sheet_width(sheet) - 2 * sheet_margin(sheet), picture_font))
      body += picture_text(sheet_margin(sheet), y += 18, "soft", line);
  return picture_element("boundaries", sheet, y + 14,
      fmt::format("Boundaries of the {} heaviest operators of {}", count, report.network), "", body);
}

}  // namespace stepcast::roofline
