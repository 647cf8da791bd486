#include "studies/compare/draw/waterfall.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/page/svg_text.h"

namespace stepcast::comparison {
namespace {

struct FallBar {
  std::string name, words;
  double from = 0, to = 0;  ///< seconds
  std::string_view style;
};

std::vector<FallBar> bars_of(const Beside& beside) {
  const Gap& gap = beside.gap;
  std::vector<FallBar> bars{{"expected", format_seconds(Seconds(gap.expected)), 0, gap.expected, "whole"}};
  double at = gap.expected, shown = 0;
  const double least = 0.002 * std::max(gap.expected, gap.measured);
  const auto add = [&](const std::string& name, double difference) {
    bars.push_back({name, (difference < 0 ? "-" : "+") + format_seconds(Seconds(std::abs(difference))), at,
        at + difference, difference > 0 ? "more" : "less"});
    at += difference, shown += difference;
  };
  for (const GapRow& row : gap.rows)
    if (std::abs(row.difference()) >= least)
      add((row.family == SplitFamily::exposed ? "exposed " : "") + row.name, row.difference());
  if (std::abs(gap.difference() - shown) >= 0.0005 * gap.expected) add("smaller rows", gap.difference() - shown);
  bars.push_back({"measured", format_seconds(Seconds(gap.measured)), 0, gap.measured, "whole"});
  return bars;
}

/// On a wide sheet a bar stands between its name and its time, on a narrow one below both.
std::string sheet_svg(const std::vector<FallBar>& bars, Sheet sheet) {
  const bool wide = sheet == Sheet::wide;
  const double width = wide ? 900 : narrow_sheet, left = wide ? 200 : 4, right = wide ? 110 : 4;
  const double row = wide ? 24 : 38, bar_height = 14, room = width - left - right;
  double most = 0;
  for (const FallBar& bar : bars) most = std::max({most, bar.from, bar.to});
  const auto x = [&](double seconds) { return left + (most > 0 ? seconds / most * room : 0); };
  std::string text;
  double top = 4, before = 0;
  for (std::size_t i = 0; i < bars.size(); ++i, top += row) {
    const FallBar& bar = bars[i];
    const double y = top + (wide ? (row - bar_height) / 2 : row - bar_height - 4),
                 base = wide ? top + row / 2 + 4 : top + 13;
    const double from = x(std::min(bar.from, bar.to)), length = std::max(1.0, x(std::max(bar.from, bar.to)) - from);
    if (i > 0)
      text += fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>\n", svg_number(x(before)),
          svg_number(y - row + bar_height), svg_number(y));
    text += fmt::format(
        "<rect class=\"fall {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}: {}</title></rect>\n",
        bar.style, svg_number(from), svg_number(y), svg_number(length), svg_number(bar_height), svg_escaped(bar.name),
        svg_escaped(bar.words));
    text += fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", svg_number(wide ? left - 10 : left), svg_number(base),
        wide ? " text-anchor=\"end\"" : "", svg_escaped(svg_shortened(bar.name, wide ? 30 : 34)));
    text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", svg_number(width - 4),
        svg_number(base), svg_escaped(bar.words));
    before = bar.to;
  }
  return fmt::format(
      "<figure class=\"{}\"><svg viewBox=\"0 0 {} {}\" width=\"{}\" role=\"img\" aria-label=\"waterfall from "
      "expected to measured\">\n{}</svg></figure>\n",
      wide ? "wide" : "narrow", svg_number(width), svg_number(top + 4), svg_number(width), text);
}

}  // namespace

std::string waterfall_svg(const Beside& beside) {
  const auto bars = bars_of(beside);
  return sheet_svg(bars, Sheet::wide) + sheet_svg(bars, Sheet::narrow);
}

}  // namespace stepcast::comparison
