// A logarithmic plane in a picture: from values to pixels. What the script of the page and its test compute must be
// this.
#pragma once

#include <string>

#include "studies/roofline/figures/roofs.h"

namespace stepcast::roofline {

/// Pixels of the picture's own coordinates (viewBox).
struct Plane {
  Frame frame;
  double left = 76, top = 24, width = 840, height = 470;
  [[nodiscard]] double x(double flops_per_byte) const;  ///< left + width * (log10(v) - x_low) / (x_high - x_low)
  [[nodiscard]] double y(double flops_per_s) const;     ///< top + height * (y_high - log10(v)) / (y_high - y_low)
  [[nodiscard]] double right() const { return left + width; }
  [[nodiscard]] double bottom() const { return top + height; }
};

/// data-x-low="0" ... data-height="470": the plane as attributes of its <svg>, for scripts and tests.
std::string plane_attributes(const Plane& plane);
/// Frame, lines at every decade, numbers and the axes' names.
std::string plane_grid(const Plane& plane, const std::string& x_name, const std::string& y_name);

}  // namespace stepcast::roofline
