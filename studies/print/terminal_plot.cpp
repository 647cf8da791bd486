#include "studies/print/terminal_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "studies/print/scale.h"
#include "studies/print/table.h"

namespace stepcast::print {
namespace {

constexpr int widest_plot = 84, narrowest_plot = 20;

/// Bits of a braille cell, two dots wide and four high, from U+2800 (Unicode standard, chapter 21.1).
constexpr std::uint8_t braille_bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

std::string braille(std::uint8_t bits) {
  const unsigned code = 0x2800U + bits;
  return {static_cast<char>(0xE0U | (code >> 12U)), static_cast<char>(0x80U | ((code >> 6U) & 0x3FU)),
      static_cast<char>(0x80U | (code & 0x3FU))};
}

/// Dots in a grid of cells, and characters that take a cell's place; row 0 on top.
class Canvas {
 public:
  Canvas(int columns, int rows, bool unicode)
      : columns_(columns), rows_(rows), unicode_(unicode), bits_(cells(), 0), marks_(cells(), ' ') {}
  [[nodiscard]] int dots_across() const { return unicode_ ? 2 * columns_ : columns_; }
  [[nodiscard]] int dots_up() const { return unicode_ ? 4 * rows_ : rows_; }
  void set(int x, int y, char mark) {
    if (x < 0 || y < 0 || x >= dots_across() || y >= dots_up()) return;
    const int from_top = dots_up() - 1 - y;
    if (unicode_) {
      bits_[at(x / 2, from_top / 4)] |= braille_bits[from_top % 4][x % 2];
    } else {
      marks_[at(x, from_top)] = mark;
    }
  }
  /// A character in the cell of a dot.
  void write(int x, int y, char letter) {
    if (x < 0 || y < 0 || x >= dots_across() || y >= dots_up()) return;
    const int from_top = dots_up() - 1 - y;
    marks_[unicode_ ? at(x / 2, from_top / 4) : at(x, from_top)] = letter;
  }
  [[nodiscard]] std::string row(int r) const {
    std::string text;
    for (int c = 0; c < columns_; ++c) {
      if (!unicode_ || marks_[at(c, r)] != ' ') {
        text += marks_[at(c, r)];
      } else {
        text += bits_[at(c, r)] == 0 ? " " : braille(bits_[at(c, r)]);
      }
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

 private:
  [[nodiscard]] std::size_t cells() const {
    return static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_);
  }
  [[nodiscard]] std::size_t at(int c, int r) const {
    return static_cast<std::size_t>(r) * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(c);
  }
  int columns_, rows_;
  bool unicode_;
  std::vector<std::uint8_t> bits_;
  std::vector<char> marks_;
};

/// Log-log interpolation; nothing outside the line.
double value_at(const PlotLine& line, double x) {
  for (std::size_t i = 1; i < line.points.size(); ++i) {
    const auto& [x0, y0] = line.points[i - 1];
    const auto& [x1, y1] = line.points[i];
    // A rounding error beyond an end is still the end.
    if (x < x0 * (1 - 1e-9) || x > x1 * (1 + 1e-9)) continue;
    return std::exp(
        std::log(y0) + (std::log(y1) - std::log(y0)) * (std::log(x) - std::log(x0)) / (std::log(x1) - std::log(x0)));
  }
  return 0;
}

/// Steep parts are filled up, so that a line has no holes.
void draw(Canvas& canvas, const PlotLine& line, const LogScale& xs, const LogScale& ys) {
  int before = -1;
  for (int x = 0; x < canvas.dots_across(); ++x) {
    const double value = value_at(line, xs.at(static_cast<double>(x) / (canvas.dots_across() - 1)));
    if (!(value > 0)) {
      before = -1;
      continue;
    }
    const int y = static_cast<int>(std::lround(ys.share(value) * (canvas.dots_up() - 1)));
    const bool solid = line.gap == 0;
    const int step = before < y ? 1 : -1;
    if (solid && before >= 0)
      for (int between = before; between != y; between += step) canvas.set(x, between, line.mark);
    if (solid || x % (line.gap + 1) == 0) canvas.set(x, y, line.mark);
    before = y;
  }
}

void write_letters(Canvas& canvas, const LogPlot& plot, const LogScale& xs, const LogScale& ys) {
  for (const PlotLetter& mark : plot.letters) {
    if (!(mark.x > 0) || !(mark.y > 0)) continue;
    canvas.write(static_cast<int>(std::lround(xs.share(mark.x) * (canvas.dots_across() - 1))),
        static_cast<int>(std::lround(ys.share(mark.y) * (canvas.dots_up() - 1))), mark.letter);
  }
}

/// The axes' ranges: the frame's, else what the lines and letters span.
std::pair<LogScale, LogScale> plot_ranges(const LogPlot& plot) {
  LogScale xs, ys;
  if (plot.frame) {
    xs.take(plot.frame->x_low), xs.take(plot.frame->x_high), ys.take(plot.frame->y_low), ys.take(plot.frame->y_high);
    return {xs, ys};
  }
  for (const PlotLine& line : plot.lines)
    for (const auto& [x, y] : line.points) xs.take(x), ys.take(y);
  for (const PlotLetter& mark : plot.letters)
    if (mark.x > 0 && mark.y > 0) xs.take(mark.x), ys.take(mark.y);
  return {xs, ys};
}

std::string sample_of(const PlotLine& line, bool unicode) {
  if (!unicode) return std::string(3, line.mark);
  std::string text;
  for (int cell = 0; cell < 3; ++cell) {
    std::uint8_t bits = 0;
    for (int x = 0; x < 2; ++x)
      if ((2 * cell + x) % (line.gap + 1) == 0) bits |= braille_bits[1][x];
    text += bits == 0 ? " " : braille(bits);
  }
  return text;
}

std::string x_axis(const LogPlot& plot, const LogScale& xs, int margin, int columns) {
  const std::string left = plot.x_text(xs.at(0)), middle = plot.x_text(xs.at(0.5)), right = plot.x_text(xs.at(1));
  std::string line(static_cast<std::size_t>(columns), ' ');
  const auto put = [&](const std::string& text, int at) {
    for (std::size_t i = 0; i < text.size(); ++i)
      if (at + static_cast<int>(i) < columns) line[static_cast<std::size_t>(at) + i] = text[i];
  };
  put(left, 0);
  put(middle, columns / 2 - static_cast<int>(middle.size()) / 2);
  put(right, columns - static_cast<int>(right.size()));
  return std::string(static_cast<std::size_t>(margin), ' ') + line + "  " + plot.x_name + "\n";
}

}  // namespace

std::string plot_text(const LogPlot& plot, const Console& console) {
  const auto [xs, ys] = plot_ranges(plot);
  if (xs.empty() || ys.empty()) return {};
  std::vector<std::string> ticks{plot.y_text(ys.at(1)), plot.y_text(ys.at(0.5)), plot.y_text(ys.at(0))};
  std::size_t width = 0;
  for (const std::string& tick : ticks) width = std::max(width, shown_width(tick));
  const int margin = static_cast<int>(width) + 4;  // two blanks, the tick, and the axis
  const int name = static_cast<int>(shown_width(plot.x_name)) + 2;
  const int columns = std::clamp(console.columns - margin - name, narrowest_plot, widest_plot);
  Canvas canvas(columns, plot.rows, console.unicode);
  for (const PlotLine& line : plot.lines) draw(canvas, line, xs, ys);
  write_letters(canvas, plot, xs, ys);

  std::string text;
  for (int row = 0; row < plot.rows; ++row) {
    const std::string tick = row == 0               ? ticks[0]
                             : row == plot.rows / 2 ? ticks[1]
                             : row == plot.rows - 1 ? ticks[2]
                                                    : "";
    text += fmt::format("  {}{} {}{}\n", std::string(width - shown_width(tick), ' '), tick,
        console.unicode ? "\u2502" : "|", canvas.row(row));
  }
  text += x_axis(plot, xs, margin, columns);
  for (const PlotLine& line : plot.lines)
    text += fmt::format(
        "{}{}  {}\n", std::string(static_cast<std::size_t>(margin), ' '), sample_of(line, console.unicode), line.name);
  return text;
}

}  // namespace stepcast::print
