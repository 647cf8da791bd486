// The timeline as a picture: a row per rank, a rectangle per action, its micro-batch in it where that fits and its name
// as a tooltip.
#include <fmt/format.h>

#include "model/quantity_text.h"
#include "studies/report/schedule_report.h"

namespace stepcast {
namespace {

constexpr double left = 60, top = 40, row_height = 26, drawn_width = 1400;
constexpr double digit_width = 6.5;       // of the 10 px font

/// By ActionKind: a colour for the first chunk, a darker one for the others.
struct BlockColors {
  const char *name, *first, *other;
};
constexpr BlockColors block_colors[] = {{"forward", "#a8c8f0", "#6f9fd8"},
                                        {"backward", "#f5c98f", "#e0a050"},
                                        {"input gradient", "#f7e08c", "#dcbc4a"},
                                        {"weight gradient", "#b4dcae", "#7fbb78"}};

/// A file's name may hold what XML reads as markup.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return safe;
}

std::string rectangle(const ScheduleRun& run, const ScheduleBlock& block, double scale, double y) {
  const double x = left + block.start * scale, width = (block.end - block.start) * scale;
  const auto& colors = block_colors[static_cast<int>(block.action.kind)];
  const int per_copy = run.order.stages() / run.order.directions;
  const bool first = block.action.stage % per_copy < run.order.ranks && run.order.direction_of(block.action.stage) == 0;
  const std::string name = fmt::format("{}{}{}", block.action.stage, letter_of(block.action.kind),
                                       block.action.micro_batch);
  std::string text = fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"#fff\" "
      "stroke-width=\"0.5\"><title>{} {} to {}</title></rect>\n",
      x, y, width, row_height - 4, first ? colors.first : colors.other, name, schedule_time_text(run, block.start),
      schedule_time_text(run, block.end));
  const std::string label = fmt::format("{}", block.action.micro_batch);
  if (width > digit_width * static_cast<double>(label.size()) + 2)
    text += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x + width / 2, y + 15,
                        label);
  return text;
}

std::string legend(const ScheduleRun& run, double y) {
  std::string text;
  double x = left;
  for (const auto& colors : block_colors) {
    text += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
        "<text x=\"{}\" y=\"{}\">{}</text>\n",
                        x, y, colors.first, x + 16, y + 10, colors.name);
    x += 120;
  }
  return text + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", left + drawn_width, y + 10,
                            schedule_time_text(run, run.timeline.makespan.value()));
}

}  // namespace

std::string schedule_svg(const ScheduleRun& run) {
  const double scale = drawn_width / run.timeline.makespan.value();
  const double bottom = top + run.order.ranks * row_height;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:g}\" height=\"{:g}\" font-family=\"sans-serif\" "
      "font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text x=\"{:g}\" y=\"22\" font-size=\"14\">{}, makespan {}, bubble {}</text>\n",
      left + drawn_width + 20, bottom + 30, left, escaped(run.id),
      schedule_time_text(run, run.timeline.makespan.value()), format_percent(run.timeline.bubble_fraction()));
  for (int rank = 0; rank < run.order.ranks; ++rank) {
    const double y = top + rank * row_height;
    text += fmt::format("<text x=\"10\" y=\"{:.1f}\">rank {}</text>\n", y + 15, rank);
    text += fmt::format("<rect x=\"{:g}\" y=\"{:.1f}\" width=\"{:g}\" height=\"{:g}\" fill=\"#eee\"/>\n", left, y,
                        drawn_width, row_height - 4);
    for (const ScheduleBlock& block : rank_blocks(run, rank)) text += rectangle(run, block, scale, y);
  }
  return text + legend(run, bottom + 8) + "</svg>\n";
}

}  // namespace stepcast
