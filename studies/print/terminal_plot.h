// Lines and letters over two logarithmic axes, lines drawn with braille dots, or with characters where there is no
// Unicode.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "studies/cli/console.h"

namespace stepcast::print {

struct PlotLine {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< sorted by x; both above 0
  int gap = 0;                                    ///< columns of dots between two that are drawn; 0 = solid
  char mark = '*';                                ///< without Unicode
};

/// A letter that stands over the lines.
struct PlotLetter {
  double x = 0, y = 0;  ///< both above 0
  char letter = 'a';
};

/// Values at the ends of the axes.
struct PlotFrame {
  double x_low = 0, x_high = 0, y_low = 0, y_high = 0;
};

struct LogPlot {
  std::string x_name = {};
  std::string (*x_text)(double) = nullptr;
  std::string (*y_text)(double) = nullptr;
  std::vector<PlotLine> lines = {};      ///< later ones lie over earlier ones
  std::vector<PlotLetter> letters = {};  ///< likewise; what lies beyond the frame is not drawn
  std::optional<PlotFrame> frame = {};   ///< none: as large as the lines and letters are
  int rows = 14;
};

/// Each line behind two blanks, with ticks on the left and below, and a legend; "" where nothing can be drawn.
std::string plot_text(const LogPlot& plot, const Console& console);

}  // namespace stepcast::print
