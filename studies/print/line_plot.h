// Curves on a page: one picture with two scales, a colour for each series, and what a point is in its tooltip.
#pragma once

#include <string>
#include <vector>

namespace stepcast::print {

struct PlotDot {
  double x = 0, y = 0;
  std::string title;    ///< plain text
  bool strong = false;  ///< drawn larger, with a ring
};

struct PlotSeries {
  std::string name;           ///< plain text
  std::vector<PlotDot> dots;  ///< joined in this order
  bool joined = true, dashed = false;
  bool plain = false;  ///< in the colour of text
};

struct PlotAxis {
  std::string title;         ///< plain text
  bool logarithmic = false;  ///< values of 0 and below have no place on it
};

/// An SVG with its key below it, as HTML. Dots that are no numbers have no place; without any dot it says so.
std::string line_plot(
    const std::string& label, const PlotAxis& across, const PlotAxis& up, const std::vector<PlotSeries>& series);

/// What the pictures need besides html_style().
const char* line_plot_style();

}  // namespace stepcast::print
