// The timeline as a picture that needs nothing else: a row per rank with a rectangle per action, its micro-batch in it
// where that fits and its name as a tooltip; under it the activations that the rank holds; a time axis and a legend.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/page/svg_text.h"
#include "studies/print/scale.h"
#include "studies/timeline/schedule_report.h"
#include "studies/timeline/schedule_svg_style.h"

namespace stepcast::timeline {
namespace {

constexpr double left = 64, right = 64, top = 70, row_height = 22, strip_height = 9, row_step = 38, foot = 66;
constexpr double least_drawn = 900, most_drawn = 3000;
constexpr double number_width = 6.2, number_margin = 2;  ///< of a digit of the 10 px font, and beside a number

std::string text_at(double x, double y, const std::string& attributes, const std::string& text) {
  return fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, attributes, svg_escaped(text));
}

class SchedulePicture {
 public:
  explicit SchedulePicture(const PipelineRun& run)
      : run_(run), shades_(schedule_shades(run)), makespan_(run.timeline.makespan.value()), drawn_(drawn_width()),
        scale_(drawn_ / makespan_), bottom_(top + run.order.ranks * row_step) {}

  std::string text() {
    find_most_held();
    std::string body;
    for (int rank = 0; rank < run_.order.ranks; ++rank) body += row(rank);
    const double width = left + drawn_ + right, height = bottom_ + foot;
    return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                       "viewBox=\"0 0 {0:.0f} {1:.0f}\" {3} role=\"img\" aria-label=\"{2}\">\n",
               width, height, svg_escaped(run_.name), schedule_svg_mark) +
           svg_style(shades_) + "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n" + headings() + axis() +
           body + legend() + "</svg>\n";
  }

 private:
  [[nodiscard]] double y_of(int rank) const { return top + rank * row_step; }

  /// Wide enough for two digits in nine of ten actions, within limits.
  [[nodiscard]] double drawn_width() const {
    std::vector<double> lengths;
    for (std::size_t i = 0; i < run_.timeline.start.size(); ++i)
      lengths.push_back((run_.timeline.end[i] - run_.timeline.start[i]).value());
    const auto tenth = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 10);
    std::nth_element(lengths.begin(), tenth, lengths.end());
    if (*tenth <= 0) return most_drawn;
    return std::clamp((2 * number_width + number_margin + 1) * makespan_ / *tenth, least_drawn, most_drawn);
  }

  std::string headings() const {
    const auto time = [&](double value) { return schedule_time_text(run_, value); };
    const Timeline& timeline = run_.timeline;
    const std::string figures =
        fmt::format("makespan {}, bubble {}; {} above the lower bound {}, {} above that at this memory, {}",
            time(makespan_), format_percent(timeline.bubble_fraction()), schedule_gap_text(run_.gap_to_bound()),
            time(run_.lower_bound), schedule_gap_text(run_.gap()), time(run_.lower_bound_at_peak_memory));
    return text_at(left, 22, " class=\"title\"", fmt::format("{}: {}", run_.name, schedule_size_text(run_))) +
           text_at(left, 40, "", figures);
  }

  std::string axis() const {
    std::string text = text_at(left - 14, top - 10, " class=\"end\"", "time");
    const double step = nice_step(makespan_, std::max(4, static_cast<int>(drawn_ / 110)));
    for (int tick = 0; tick * step <= makespan_ * (1 + 1e-9); ++tick) {
      const double x = left + tick * step * scale_;
      text += fmt::format("<path class=\"grid\" d=\"M{0:.2f} {1}V{2}\"/>\n", x, top - 6, bottom_ - 4);
      if (tick * step * scale_ < drawn_ - 60 || (tick + 1) * step * scale_ < drawn_)
        text += text_at(x, top - 10, " class=\"mid\"", tick == 0 ? "0" : schedule_time_text(run_, tick * step));
    }
    const double end = left + drawn_;
    return text + fmt::format("<path class=\"grid\" d=\"M{0:.2f} {1}V{2}\"/>\n", end, top - 6, bottom_ - 4) +
           text_at(end, top - 10, " class=\"mid strong\"", schedule_time_text(run_, makespan_));
  }

  std::string row(int rank) {
    const double y = y_of(rank);
    std::string text = text_at(left - 8, y + 15, " class=\"end\"", fmt::format("rank {}", rank));
    text += fmt::format("<rect class=\"idle\" x=\"{:g}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:g}\"/>\n", left, y,
        drawn_, row_height);
    const Order& order = run_.order;
    for (std::int32_t i = order.begin[rank]; i < order.begin[rank + 1]; ++i) {
      if (!order.actions[i].with_next) {
        text += block(i, y, row_height);
        continue;
      }
      text += block(i, y, row_height / 2);  // at once: one above the other
      ++i;
      text += block(i, y + row_height / 2, row_height / 2);
    }
    return text + strip(rank, y + row_height + 1);
  }

  std::string block(std::int32_t i, double y, double height) const {
    const Action& action = run_.order.actions[i];
    const double start = run_.timeline.start[i].value(), end = run_.timeline.end[i].value();
    const double x = left + start * scale_, width = (end - start) * scale_;
    const char letter = letter_of(action.kind);
    const int shade = schedule_shade_of(run_, action.stage);
    std::string text = fmt::format(
        "<rect class=\"{}{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:g}\"><title>{}{}{} {} to {}</title>"
        "</rect>\n",
        letter, shade, x, y, width, height, action.stage, letter, action.micro_batch, schedule_time_text(run_, start),
        schedule_time_text(run_, end));
    const std::string number = fmt::format("{}", action.micro_batch);
    if (width >= number_width * static_cast<double>(number.size()) + number_margin)
      text += text_at(x + width / 2, y + height / 2 + 3.5, fmt::format(" class=\"t{}{}\"", letter, shade), number);
    return text;
  }

  /// Times at which a rank's activations change, and by how much: a forward holds from its start, a whole backward or
  /// a weight gradient frees at its end.
  [[nodiscard]] std::vector<std::pair<double, int>> changes(int rank) const {
    std::vector<std::pair<double, int>> changes;
    for (std::int32_t i = run_.order.begin[rank]; i < run_.order.begin[rank + 1]; ++i) {
      const ActionKind kind = run_.order.actions[i].kind;
      if (kind == ActionKind::forward) changes.emplace_back(run_.timeline.start[i].value(), +1);
      if (kind == ActionKind::backward || kind == ActionKind::weight_grad)
        changes.emplace_back(run_.timeline.end[i].value(), -1);
    }
    std::stable_sort(changes.begin(), changes.end());
    return changes;
  }

  void find_most_held() {
    const auto& peaks = run_.timeline.peak_in_flight;
    most_held_ = std::max(1, *std::max_element(peaks.begin(), peaks.end()));
  }

  /// The activations held, on the scale of the rank that holds most.
  std::string strip(int rank, double y) const {
    const double base = y + strip_height;
    std::string path = fmt::format("M{:g} {:.1f}", left, base);
    int held = 0;
    for (const auto& [time, change] : changes(rank)) {
      held += change;
      path += fmt::format("H{:.2f}V{:.2f}", left + time * scale_, base - strip_height * held / most_held_);
    }
    return fmt::format("<path class=\"held\" d=\"{}V{:.1f}Z\"/>\n", path, base) +
           text_at(left + drawn_ + 6, base, "", fmt::format("{} held", run_.timeline.peak_in_flight[rank]));
  }

  [[nodiscard]] std::string shades_text() const {
    if (run_.order.directions > 1) return "darker: the copy that runs the other way";
    return shades_ > 1 ? fmt::format("darker: later chunks of {}", shades_) : "";
  }

  std::string legend() const {
    std::array<bool, 4> used{};
    bool pairs = false;
    for (const Action& action : run_.order.actions) {
      used[static_cast<std::size_t>(action.kind)] = true;
      pairs = pairs || action.with_next;
    }
    std::string text;
    double x = left;
    const double y = bottom_ + 10;
    const auto entry = [&](const std::string& swatches, double width, const std::string& words) {
      text += swatches + text_at(x + width + 4, y + 10, "", words);
      x += width + 24 + 6 * static_cast<double>(words.size());
    };
    for (std::size_t kind = 0; kind < used.size(); ++kind) {
      if (!used[kind]) continue;
      std::string swatches;
      for (int shade = 0; shade < shades_; ++shade)
        swatches += fmt::format("<rect class=\"{}{}\" x=\"{:.1f}\" y=\"{:g}\" width=\"12\" height=\"12\"/>\n",
            letter_of(static_cast<ActionKind>(kind)), shade, x + 12 * shade, y);
      entry(swatches, 12.0 * shades_, svg_kind_name(static_cast<ActionKind>(kind)));
    }
    const auto swatch = [&](const char* name) {
      return fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:g}\" width=\"12\" height=\"12\"/>\n", name, x, y);
    };
    entry(swatch("idle"), 12, "idle");
    entry(swatch("held"), 12, "activations held until W");
    std::string words = "numbers: micro-batches" + std::string(run_.order.slices > 1 ? " x slices + slice" : "");
    for (const std::string& more : {shades_text(), std::string(pairs ? "one above the other: at once" : "")})
      if (!more.empty()) words += "; " + more;
    return text + text_at(left, y + 34, "", words);
  }

  const PipelineRun& run_;
  int shades_;
  double makespan_, drawn_, scale_, bottom_;
  int most_held_ = 1;
};

}  // namespace

std::string schedule_svg(const PipelineRun& run) { return SchedulePicture(run).text(); }

}  // namespace stepcast::timeline
