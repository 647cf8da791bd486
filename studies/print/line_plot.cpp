#include "studies/print/line_plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "studies/print/digits.h"
#include "studies/print/page/html_text.h"
#include "studies/print/page/svg_text.h"
#include "studies/print/scale.h"

namespace stepcast::print {
namespace {

constexpr double width = 760, height = 420, left = 64, right = 16, top = 12, bottom = 44;
constexpr int most_ticks = 7;

/// One direction: where a value lies between two ends of the picture.
class PlotScale {
 public:
  PlotScale(bool logarithmic, const std::vector<double>& values, double from, double to)
      : logarithmic_(logarithmic), from_(from), to_(to) {
    for (const double value : values) {
      if (!std::isfinite(value) || (logarithmic && value <= 0)) continue;
      log_.take(std::max(value, 1e-300));
      low_ = std::min(low_, value), high_ = std::max(high_, value);
    }
    if (logarithmic_) {
      const double spare = std::max(0.03 * (log_.high - log_.low), 0.02);
      log_.low -= spare, log_.high += spare;
      return;
    }
    low_ = std::min(low_, 0.0);
    if (!(high_ > low_)) high_ = low_ + 1;
    high_ += 0.04 * (high_ - low_);
  }
  [[nodiscard]] double at(double value) const {
    const double share = logarithmic_ ? log_.share(value) : (value - low_) / (high_ - low_);
    return from_ + share * (to_ - from_);
  }
  [[nodiscard]] std::vector<double> ticks() const {
    if (logarithmic_) return log_.ticks(most_ticks);
    std::vector<double> values;
    const double step = nice_step(high_ - low_, most_ticks);
    for (double value = std::ceil(low_ / step) * step; value <= high_; value += step) values.push_back(value);
    return values;
  }
  [[nodiscard]] bool has(double value) const { return std::isfinite(value) && (!logarithmic_ || value > 0); }

 private:
  bool logarithmic_;
  double from_, to_, low_ = INFINITY, high_ = -INFINITY;
  LogScale log_;
};

std::string tick_text(double value) { return value >= 1000 ? grouped_digits(value) : fmt::format("{:.3g}", value); }

/// Hues apart by the golden angle: the first ones are the farthest from each other.
std::string colour_of(std::size_t index) {
  constexpr double golden_degrees = 137.508;
  return fmt::format("hsl({:.0f} 62% 45%)", std::fmod(210 + golden_degrees * static_cast<double>(index), 360));
}

std::string axes(const PlotScale& x, const PlotScale& y, const PlotAxis& across, const PlotAxis& up) {
  std::string text;
  for (const double tick : x.ticks())
    text += fmt::format("<path class=\"grid\" d=\"M{0} {1}V{2}\"/><text class=\"mid\" x=\"{0}\" y=\"{3}\">{4}</text>\n",
        svg_number(x.at(tick)), svg_number(top), svg_number(height - bottom), svg_number(height - bottom + 15),
        tick_text(tick));
  for (const double tick : y.ticks())
    text += fmt::format("<path class=\"grid\" d=\"M{0} {1}H{2}\"/><text class=\"end\" x=\"{3}\" y=\"{4}\">{5}</text>\n",
        svg_number(left), svg_number(y.at(tick)), svg_number(width - right), svg_number(left - 6),
        svg_number(y.at(tick) + 4), tick_text(tick));
  text += fmt::format("<text class=\"mid name\" x=\"{}\" y=\"{}\">{}</text>\n", svg_number((left + width - right) / 2),
      svg_number(height - 8), svg_escaped(across.title));
  return text + fmt::format("<text class=\"mid name\" transform=\"translate(13 {}) rotate(-90)\">{}</text>\n",
                    svg_number((top + height - bottom) / 2), svg_escaped(up.title));
}

}  // namespace

std::string line_plot(
    const std::string& label, const PlotAxis& across, const PlotAxis& up, const std::vector<PlotSeries>& series) {
  std::vector<double> all_x, all_y;
  for (const PlotSeries& one : series)
    for (const PlotDot& dot : one.dots) all_x.push_back(dot.x), all_y.push_back(dot.y);
  if (all_x.empty()) return "<p class=\"soft\">There is nothing to draw.</p>\n";
  const PlotScale x(across.logarithmic, all_x, left, width - right), y(up.logarithmic, all_y, height - bottom, top);
  std::string text =
      fmt::format("<figure class=\"curves\"><svg viewBox=\"0 0 {:g} {:g}\" role=\"img\" aria-label=\"{}\">\n", width,
          height, html_escaped(label));
  text += axes(x, y, across, up);
  std::string key;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::string colour = series[i].plain ? "currentColor" : colour_of(i);
    std::string path, dots;
    for (const PlotDot& dot : series[i].dots) {
      if (!x.has(dot.x) || !y.has(dot.y)) continue;
      const std::string px = svg_number(x.at(dot.x)), py = svg_number(y.at(dot.y));
      path += fmt::format("{}{} {}", path.empty() ? "M" : "L", px, py);
      if (!dot.title.empty())
        dots += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"{}><title>{}</title></circle>\n", px, py,
            dot.strong ? 5 : 3.2, colour, dot.strong ? " class=\"strong\"" : "", svg_escaped(dot.title));
    }
    if (series[i].joined)
      text += fmt::format(
          "<path class=\"curve{}\" d=\"{}\" stroke=\"{}\"/>\n", series[i].dashed ? " dashed" : "", path, colour);
    text += dots;
    key += fmt::format("<li><span style=\"color:{}\">&#9632;</span> {}</li>", colour, html_escaped(series[i].name));
  }
  return text + "</svg>\n<ul class=\"curve-key\">" + key + "</ul></figure>\n";
}

const char* line_plot_style() {
  return ".curves{margin:0}.curves svg{width:100%;height:auto;max-width:60rem}.curves "
         "text{font-size:11px;fill:currentColor}"
         ".curves .mid{text-anchor:middle}.curves .end{text-anchor:end}.curves .name{font-weight:600}"
         ".curves .grid{stroke:currentColor;stroke-opacity:.13;fill:none}.curves .curve{fill:none;stroke-width:1.6}"
         ".curves .dashed{stroke-dasharray:5 4}.curves .strong{stroke:currentColor;stroke-width:1.4}"
         ".curves .curve-key{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.2rem "
         "1.2rem;font-size:.85rem}\n";
}

}  // namespace stepcast::print
