// Lines over two logarithmic axes, drawn with braille dots, or with letters where there is no Unicode.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "studies/console.h"

namespace stepcast {

struct PlotLine {
  std::string name;
  std::vector<std::pair<double, double>> points;   ///< sorted by x; both above 0
  int gap = 0;                                     ///< columns of dots between two that are drawn; 0 = solid
  char mark = '*';                                 ///< without Unicode
};

struct LogPlot {
  std::string x_name;
  std::string (*x_text)(double) = nullptr;
  std::string (*y_text)(double) = nullptr;
  std::vector<PlotLine> lines;                     ///< later ones lie over earlier ones
};

/// Each line behind two blanks, with ticks on the left and below, and a legend; "" where nothing can be drawn.
std::string plot_text(const LogPlot& plot, const Console& console);

}  // namespace stepcast
