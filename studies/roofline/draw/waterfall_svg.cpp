// The waterfall of a step: every bar begins where the last one ended.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/page/html_text.h"
#include "studies/roofline/draw/picture_parts.h"
#include "studies/roofline/draw/pictures.h"

namespace stepcast::roofline {
namespace {

constexpr double fall_bar = 15;
constexpr std::size_t longest_bar_name = 30;

/// Seconds to pixels; the interval of the step time may reach beyond the step. On a wide sheet a bar stands between its
/// name and its time, on a narrow one below both.
struct FallScale {
  Sheet sheet = Sheet::wide;
  double seconds = 1, top = 84;
  [[nodiscard]] bool is_wide() const { return sheet == Sheet::wide; }
  [[nodiscard]] double left() const { return is_wide() ? 214 : sheet_margin(sheet); }
  [[nodiscard]] double width() const { return is_wide() ? 566 : sheet_width(sheet) - 2 * left(); }
  [[nodiscard]] double row() const { return is_wide() ? 24 : 38; }
  [[nodiscard]] double x(double time) const { return left() + width() * std::clamp(time / seconds, 0.0, 1.0); }
  /// Of the bar, and of the words, below the row's top.
  [[nodiscard]] double bar_middle() const { return is_wide() ? row() / 2 : 26; }
  [[nodiscard]] double words_base() const { return is_wide() ? row() / 2 + 4 : 13; }
  [[nodiscard]] double percent_right() const { return is_wide() ? 944 : left() + width(); }
  [[nodiscard]] double seconds_right() const { return percent_right() - (is_wide() ? 70 : 66); }
  /// Classes of a time; lines of the axis pass behind those on a narrow sheet.
  [[nodiscard]] std::string figure(const std::string& classes) const {
    return (is_wide() ? "end " : "end label ") + classes;
  }
  [[nodiscard]] std::string name(double y, const std::string& classes, const std::string& words) const {
    return is_wide() ? picture_text(left() - 10, y, "end " + classes, words)
                     : picture_text(left(), y, "label " + classes, words);
  }
};

PictureHeading fall_heading(const RooflineReport& report, Sheet sheet) {
  return picture_heading(
      sheet, "Where the step goes", fmt::format("{} on {}, {}", report.network, report.machine, report.split));
}

FallScale fall_scale(const RooflineReport& report, Sheet sheet) {
  double sum = 0;
  for (const WaterfallBar& bar : report.fall.bars) sum += std::max(0.0, bar.time.value());
  const double most = std::max({sum, report.fall.step_time.value(), report.p90.value()});
  return {sheet, most > 0 ? most : 1, fall_heading(report, sheet).bottom + 62};
}

/// Less than this is the rounding of a difference.
constexpr double fall_rounding = 1e-12;
double fall_time(const WaterfallBar& bar) { return bar.time.value() > fall_rounding ? bar.time.value() : 0; }

double share_of_fall(const RooflineReport& report, Seconds time) {
  return report.fall.step_time.value() > 0 ? time / report.fall.step_time : 0;
}

std::string fall_axis(const RooflineReport& report, const FallScale& scale, double bottom) {
  std::string text;
  const double step = report.fall.step_time.value();
  for (int tenth = 0; tenth <= 10 && step > 0; tenth += 2) {
    const std::string x = svg_number(scale.x(step * tenth / 10));
    const double end = sheet_width(scale.sheet), at = scale.x(step * tenth / 10);
    const char* const anchor = at < 20 ? "start" : at > end - 22 ? "end" : "mid";
    text += fmt::format(
        "<path class=\"decade\" d=\"M{0} {1}V{2}\"/><text class=\"{5} tick\" x=\"{0}\" y=\"{3}\">{4} %</text>\n", x,
        svg_number(scale.top - 4), svg_number(bottom), svg_number(bottom + 16), 10 * tenth, anchor);
  }
  return text;
}

/// From 0 to the share of the step that useful, or all, multiply-adds take at the datasheet's peak.
std::string utilisation_bracket(const RooflineReport& report, const FallScale& scale, double share, double y,
    const std::string& name, const std::string& words, const std::string& about) {
  const double end = scale.x(share * report.fall.step_time.value());
  const std::string said = name + " " + html_percent(share) + (scale.is_wide() ? words : "");
  const double room = sheet_width(scale.sheet) - 4 - svg_text_width(said, picture_font);
  return fmt::format("<g class=\"utilisation-mark\">{}<path class=\"utilisation\" d=\"M{} {}v-5H{}v5\"/>",
             picture_title(about), svg_number(scale.left()), svg_number(y), svg_number(end)) +
         picture_text(std::min(end + 6, room), y, "strong", said) + "</g>\n";
}

/// Bars of one group take its colour in lighter and lighter shades.
double bar_opacity(const std::vector<WaterfallBar>& bars, std::size_t i) {
  const auto before = std::count_if(bars.begin(), bars.begin() + static_cast<std::ptrdiff_t>(i),
      [&](const WaterfallBar& bar) { return bar.group == bars[i].group && bar.time.value() > 0; });
  return std::max(0.35, 0.92 - 0.2 * static_cast<double>(before));
}

std::string fall_bar_row(const RooflineReport& report, const FallScale& scale, std::size_t i, double start) {
  const WaterfallBar& bar = report.fall.bars[i];
  const double y = scale.top + scale.row() * static_cast<double>(i), time = fall_time(bar);
  const double x1 = scale.x(start), x2 = scale.x(start + time), middle = y + scale.bar_middle();
  std::string text = fmt::format("<g class=\"bar group-{}\" data-bar=\"{}\">", svg_escaped(bar.group), i) +
                     picture_title(fmt::format("{}: {}, {} of the step\n{}", bar.name, format_seconds(bar.time),
                         format_percent(share_of_fall(report, bar.time)), bar.about));
  text += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"{}\"/>", svg_number(x1),
      svg_number(middle - fall_bar / 2), svg_number(time > 0 ? std::max(1.0, x2 - x1) : 0), svg_number(fall_bar),
      svg_number(bar_opacity(report.fall.bars, i)));
  const double link_top = time > 0 ? middle + fall_bar / 2 : middle - fall_bar / 2;
  text += fmt::format("<path class=\"step-link\" d=\"M{} {}V{}\"/>", svg_number(x2), svg_number(link_top),
      svg_number(middle + scale.row() - fall_bar / 2));
  const double base = y + scale.words_base();
  text += scale.name(base, time > 0 ? "" : "soft", svg_shortened(bar.name, longest_bar_name));
  const std::string classes = scale.figure(time > 0 ? "" : "soft");
  return text + picture_text(scale.seconds_right(), base, classes, time > 0 ? format_seconds(bar.time) : "0 s") +
         picture_text(
             scale.percent_right(), base, classes, time > 0 ? html_percent(share_of_fall(report, bar.time)) : "") +
         "</g>\n";
}

std::string step_row(const RooflineReport& report, const FallScale& scale, double y) {
  const double end = scale.x(report.fall.step_time.value()), middle = y + scale.bar_middle(),
               base = y + scale.words_base();
  std::string text = fmt::format("<path class=\"end-line\" d=\"M{} {}V{}\"/>\n", svg_number(end),
      svg_number(scale.is_wide() ? scale.top - 4 : y), svg_number(y + scale.row()));
  if (report.p90 > report.p10 && report.p10.value() > 0)
    text += fmt::format("<path class=\"whisker\" d=\"M{0} {2}v10M{1} {2}v10M{0} {3}H{1}\"><title>8 of 10 steps are "
                        "expected between {4} and "
                        "{5}</title></path>\n",
        svg_number(scale.x(report.p10.value())), svg_number(scale.x(report.p90.value())), svg_number(middle - 5),
        svg_number(middle), format_seconds(report.p10), format_seconds(report.p90));
  return text + scale.name(base, "strong", "step") +
         picture_text(scale.seconds_right(), base, scale.figure("strong"), format_seconds(report.fall.step_time)) +
         picture_text(scale.percent_right(), base, scale.figure("strong"), html_percent(1));
}

/// Gain, change, step time before and after, side by side or below each other; what forbids it on a line of its own.
std::string lever_lines_at(const Lever& lever, std::size_t i, Sheet sheet, double& y) {
  constexpr double gain_right = 86, words_x = 100, effect_x = 556, narrow_gain = 62, narrow_words = 72;
  const bool is_wide = sheet == Sheet::wide;
  const double x = is_wide ? words_x : narrow_words, effect = is_wide ? effect_x : narrow_words;
  y += 20;
  std::string text =
      fmt::format("<g class=\"lever\" data-lever=\"{}\">", i) +
      picture_title(
          fmt::format("{} ({}): {} to {}", lever.name, lever.of_machine ? "machine" : "plan", lever.from, lever.to)) +
      picture_text(is_wide ? gain_right : narrow_gain, y, "end strong", "\u2212" + html_percent(lever.gain));
  const std::string change = fmt::format(
      "{}: {} \u2192 {}", svg_shortened(lever.name, 36), svg_shortened(lever.from, 24), svg_shortened(lever.to, 24));
  std::string times = fmt::format("{} \u2192 {}", format_seconds(lever.before), format_seconds(lever.after));
  if (!lever.phase.empty()) times += ", most in " + svg_shortened(lever.phase, 30);
  const double room = sheet_width(sheet) - sheet_margin(sheet) - x;
  double line = y;
  for (const std::string& words : svg_lines(change, is_wide ? effect_x - words_x : room, picture_font, 3))
    text += picture_text(x, line, "", words), line += 16;
  if (!is_wide) y = line;
  for (const std::string& words : svg_lines(times, is_wide ? sheet_width(sheet) - effect_x : room, picture_font, 2))
    text += picture_text(effect, y, "", words), y += 16;
  y = std::max(y, line) - 16;
  if (!lever.fits) text += picture_text(effect, y += 16, "limit-word", "does not fit in memory");
  return text + "</g>\n";
}

std::string fall_levers(const RooflineReport& report, Sheet sheet, double& y) {
  const Waterfall& fall = report.fall;
  if (fall.levers.empty() && fall.levers_missing.empty()) return {};
  y += 26;
  const double left = sheet_margin(sheet);
  std::string text = picture_text(left, y, "strong", "What would shorten the step most, each alone");
  for (std::size_t i = 0; i < fall.levers.size(); ++i) text += lever_lines_at(fall.levers[i], i, sheet, y);
  if (!fall.levers.empty()) return text;
  for (const std::string& words :
      svg_lines("none: " + fall.levers_missing, sheet_width(sheet) - 2 * left, picture_font, 4))
    text += picture_text(left, y += 18, "", words);
  return text;
}

/// Groups that have bars, in their order.
std::string fall_legend(const RooflineReport& report, Sheet sheet, double& y) {
  PictureLegend legend(sheet, y);
  std::vector<std::string> seen;
  for (const WaterfallBar& bar : report.fall.bars) {
    if (std::find(seen.begin(), seen.end(), bar.group) != seen.end()) continue;
    seen.push_back(bar.group);
    legend.entry(
        fmt::format("<g class=\"group-{}\"><rect class=\"swatch\" x=\"-6\" y=\"-6\" width=\"12\" height=\"12\"/></g>",
            svg_escaped(bar.group)),
        12, svg_shortened(bar.group, 20));
  }
  y = legend.bottom();
  return legend.text();
}

}  // namespace

std::string waterfall_svg(const RooflineReport& report, Sheet sheet) {
  const FallScale scale = fall_scale(report, sheet);
  const double bars_end = scale.top + scale.row() * static_cast<double>(report.fall.bars.size()),
               axis_y = bars_end + scale.row(), brackets = scale.top - 38;
  std::string bars;
  double start = 0;
  for (std::size_t i = 0; i < report.fall.bars.size(); ++i) {
    bars += fall_bar_row(report, scale, i, start);
    start += std::max(0.0, report.fall.bars[i].time.value());
  }
  double bottom = axis_y + 24;
  const std::string legend = fall_legend(report, sheet, bottom), levers = fall_levers(report, sheet, bottom);
  const std::string body = fall_heading(report, sheet).text + fall_axis(report, scale, axis_y) +
                           utilisation_bracket(report, scale, report.fall.mfu, brackets, "MFU",
                               fmt::format(", {}", attention_words(report.fall)),
                               "Model FLOPs utilisation: FLOPs that the network needs, over the peak times the step") +
                           utilisation_bracket(report, scale, report.fall.hfu, brackets + 22, "HFU", "",
                               "Hardware FLOPs utilisation: with those that are computed again") +
                           bars + step_row(report, scale, bars_end) + legend + levers;
  return picture_element("waterfall", sheet, bottom + 16,
      fmt::format("Waterfall of a step of {}: {}, MFU {}", report.network, format_seconds(report.fall.step_time),
          format_percent(report.fall.mfu)),
      "", body);
}

}  // namespace stepcast::roofline
