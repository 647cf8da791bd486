#include "studies/validation/html_plots.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "studies/print/page/html_text.h"
#include "studies/print/scale.h"

namespace stepcast::validation {
namespace {

constexpr double plot_size = 260, plot_left = 38, plot_right = 8, plot_top = 8, plot_bottom = 32;
constexpr double plot_width = plot_size - plot_left - plot_right, plot_height = plot_size - plot_top - plot_bottom;
constexpr double band_share = 0.1;
constexpr double strip_reach = 0.5;  ///< of an error strip to either side

enum class Mark { in, out, doubt };

struct PlotPoint {
  double measured = 0, predicted = 0;
  std::string title;
  Mark mark = Mark::in;
};

/// One scale for both directions, so that the diagonal is one.
struct Square {
  LogScale scale;
  explicit Square(const std::vector<PlotPoint>& points) {
    constexpr double margin = 0.06, least_span = 0.2;
    for (const PlotPoint& point : points) scale.take(point.measured), scale.take(point.predicted);
    const double span = scale.high - scale.low, spare = std::max(margin * span, (least_span - span) / 2);
    scale.low -= spare, scale.high += spare;
  }
  [[nodiscard]] double x(double value) const { return plot_left + scale.share(value) * plot_width; }
  [[nodiscard]] double y(double value) const { return plot_top + (1 - scale.share(value)) * plot_height; }
};

constexpr std::array mark_classes = {"in", "out", "doubt"};

/// Full, ring, or cross. `x` may carry a per cent sign.
std::string mark_at(const std::string& x, double y, Mark mark, const std::string& title) {
  const char* name = mark_classes[static_cast<std::size_t>(mark)];
  const std::string tip = title.empty() ? "" : "<title>" + html_escaped(title) + "</title>";
  if (mark == Mark::doubt)
    return fmt::format("<text class=\"{}\" x=\"{}\" y=\"{:.1f}\">&#215;{}</text>\n", name, x, y, tip);
  return fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{:.1f}\" r=\"3.2\">{}</circle>\n", name, x, y, tip);
}

std::string tick_label(double value) { return fmt::format("{:.3g}", value); }

std::string plot_axes(const Square& square, const char* unit) {
  constexpr std::size_t most_ticks = 6;
  std::string text;
  for (const double tick : square.scale.ticks(most_ticks)) {
    const double x = square.x(tick), y = square.y(tick);
    text += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {4:.1f}H{5:.1f}\"/>\n", x, plot_top,
        plot_top + plot_height, plot_left, y, plot_left + plot_width);
    text += fmt::format(
        "<text class=\"mid\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, plot_top + plot_height + 13, tick_label(tick));
    text += fmt::format(
        "<text class=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", plot_left - 4, y + 4, tick_label(tick));
  }
  text += fmt::format("<text class=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">measured, {}</text>\n", plot_left + plot_width,
      plot_size - 4, unit);
  return text +
         fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">forecast, {}</text>\n", plot_left + 5, plot_top + 13, unit);
}

/// On logarithmic scales the band is a stripe along the diagonal, cut off by the frame.
std::string plot_band(const Square& square) {
  const double low = square.scale.at(0), high = square.scale.at(1), up = 1 + band_share, down = 1 - band_share;
  const auto corner = [&](double x, double y) { return fmt::format("{:.1f},{:.1f} ", square.x(x), square.y(y)); };
  const std::string points = corner(low, low) + corner(low, low * up) + corner(high / up, high) + corner(high, high) +
                             corner(high, high * down) + corner(low / down, low);
  return fmt::format("<polygon class=\"band\" points=\"{}\"/>\n", points) +
         fmt::format("<path class=\"line\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", square.x(low), square.y(low),
             square.x(high), square.y(high));
}

std::string scatter(std::vector<PlotPoint> points, const char* unit, const std::string& label) {
  std::erase_if(points, [](const PlotPoint& point) { return !(point.measured > 0 && point.predicted > 0); });
  if (points.empty()) return {};
  // Those that need a look lie on top.
  std::stable_sort(points.begin(), points.end(),
      [](const PlotPoint& a, const PlotPoint& b) { return a.mark == Mark::in && b.mark != Mark::in; });
  const Square square(points);
  std::string text = fmt::format(
      "<svg viewBox=\"0 0 {0:g} {0:g}\" role=\"img\" aria-label=\"{1}\">\n", plot_size, html_escaped(label));
  text += plot_band(square) + plot_axes(square, unit);
  text += fmt::format("<rect class=\"frame\" x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\"/>\n", plot_left,
      plot_top, plot_width, plot_height);
  for (const PlotPoint& point : points)
    text +=
        mark_at(fmt::format("{:.1f}", square.x(point.measured)), square.y(point.predicted), point.mark, point.title);
  return text + "</svg>\n";
}

Mark mark_of(const ValidatedCase& row, bool inside) {
  return !row.doubt.empty() ? Mark::doubt : inside ? Mark::in : Mark::out;
}

std::string strip_place(double error) {
  const double share = (std::clamp(error, -strip_reach, strip_reach) + strip_reach) / (2 * strip_reach);
  return fmt::format("{:.2f}%", 2 + 96 * share);
}

std::string case_title(const ValidatedCase& row) {
  const ShownForecast shown = shown_forecast(row);
  return fmt::format("{}: measured {} s, forecast {} s ({}), {}{}", row.id, html_seconds(row.measured_s),
      html_seconds(shown.seconds), shown.held_out ? "held out" : "fitted", html_signed_percent(shown.error),
      row.doubt.empty() ? "" : "; doubtful: " + row.doubt);
}

}  // namespace

ShownForecast shown_forecast(const ValidatedCase& row) {
  ShownForecast shown{row.predicted_s, row.low_s, row.high_s};
  if (row.held_out_s > 0) shown = {row.held_out_s, row.held_out_low_s, row.held_out_high_s, 0, true};
  shown.error = shown.seconds / row.measured_s - 1;
  shown.inside = shown.low <= row.measured_s && row.measured_s <= shown.high;
  return shown;
}

std::string time_scatter(const CaseList& cases) {
  std::vector<PlotPoint> points;
  for (const ValidatedCase* row : cases) {
    const ShownForecast shown = shown_forecast(*row);
    points.push_back({row->measured_s, shown.seconds, case_title(*row), mark_of(*row, shown.inside)});
  }
  return scatter(std::move(points), "s", "measured and forecast step times");
}

std::string memory_scatter(const CaseList& cases) {
  constexpr double gb = 1e9;
  std::vector<PlotPoint> points;
  for (const ValidatedCase* row : cases) {
    if (row->measured_memory <= 0) continue;
    const double error = row->predicted_memory / row->measured_memory - 1;
    points.push_back({row->measured_memory / gb, row->predicted_memory / gb,
        fmt::format("{}: measured {:.2f} GB, forecast {:.2f} GB, {}", row->id, row->measured_memory / gb,
            row->predicted_memory / gb, html_signed_percent(error)),
        mark_of(*row, true)});
  }
  return scatter(std::move(points), "GB", "measured and forecast peak memory");
}

/// Places are shares of the width, so that the strip fits any screen without its marks being stretched.
std::string error_strip(const CaseList& cases) {
  constexpr double middle = 15, half_band = 9;
  if (cases.empty()) return {};
  std::vector<double> errors;
  for (const ValidatedCase* row : cases) errors.push_back(shown_forecast(*row).error);
  std::string text =
      "<svg role=\"img\" aria-label=\"errors of the forecasts\">\n<rect class=\"band\" x=\"40.40%\" width=\"19.20%\" "
      "y=\"0\" height=\"30\"/>\n";
  text += fmt::format(
      "<line class=\"line\" x1=\"50%\" x2=\"50%\" y1=\"0\" y2=\"30\"/><line class=\"grid\" x1=\"2%\" x2=\"98%\" "
      "y1=\"{0:g}\" y2=\"{0:g}\"/>\n",
      middle);
  text += fmt::format("<line class=\"line\" x1=\"{}\" x2=\"{}\" y1=\"28\" y2=\"28\" stroke-width=\"2\"/>\n",
      strip_place(percentile(errors, 0.1)), strip_place(percentile(errors, 0.9)));
  text +=
      fmt::format("<line class=\"line\" x1=\"{0}\" x2=\"{0}\" y1=\"24\" y2=\"30\"/>\n", strip_place(median(errors)));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const double spread = static_cast<double>(7 * i % 11) / 10 - 0.5;  // apart from neighbours, the same in every page
    const ShownForecast shown = shown_forecast(*cases[i]);
    text += mark_at(strip_place(shown.error), middle - 3 + half_band * spread, mark_of(*cases[i], shown.inside),
        case_title(*cases[i]));
  }
  return text + "</svg>\n";
}

std::string error_axis() {
  std::string text = "<div class=\"strip axis\"><svg aria-hidden=\"true\">\n";
  for (const double error : {-strip_reach, -0.25, -band_share, 0.0, band_share, 0.25, strip_reach}) {
    const char* anchor = error == -strip_reach ? "" : error == strip_reach ? " class=\"end\"" : " class=\"mid\"";
    text += fmt::format("<text{} x=\"{}\" y=\"12\">{}</text>\n", anchor, strip_place(error),
        error == 0 ? "0" : fmt::format("{:+.0f} %", 100 * error));
  }
  return text + "</svg></div>\n";
}

std::string plot_legend() {
  std::string text = "<p class=\"soft\">";
  const std::array<std::pair<Mark, const char*>, 3> rows = {
      {{Mark::in, "measurement inside the forecast's 80 % interval"}, {Mark::out, "outside"},
          {Mark::doubt, "doubtful record"}}};
  for (const auto& [mark, words] : rows)
    text += fmt::format("<svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\">{}</svg> {} &#160; ",
        mark_at("7", 7, mark, ""), words);
  return text + "shaded: within 10 %. Hold the pointer on a mark to read its run.</p>\n";
}

}  // namespace stepcast::validation
