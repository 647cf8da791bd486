// Roofs in a plane, sloped and flat, and their names.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "studies/print/page/svg_text.h"
#include "studies/roofline/draw/picture_parts.h"
#include "studies/roofline/draw/plane.h"
#include "studies/roofline/figures/roofs.h"

namespace stepcast::roofline {

/// A roof y = rate * x, or a flat one at `rate`.
struct DrawnRoof {
  double rate = 0;
  std::string classes;     ///< "memory datasheet"
  std::string attributes;  ///< "data-roof=\"2\""; "" = none
  std::string label, title;
};
/// Lines up to `most` FLOP/s, each with its label along it, where `room` has place for it. Slopes beside each other
/// take turns above and below.
std::string slope_roofs(const Plane& plane, const std::vector<DrawnRoof>& roofs, double most, LabelRoom& room);
/// Lines from where a slope of `fastest` bytes per second meets them; on a wide sheet with labels to the right of the
/// plane, spread apart.
std::string flat_roofs(Sheet sheet, const Plane& plane, const std::vector<DrawnRoof>& roofs, double fastest);

/// Does any of them rest on nothing but an assumption?
template <typename Roof> bool has_assumed(const std::vector<Roof>& roofs) {
  return std::any_of(roofs.begin(), roofs.end(), [](const Roof& roof) { return roof.basis == RoofBasis::assumed; });
}

/// A narrow sheet has no room beside its plane: flat roofs are named in its legend.
void add_roofs(PictureLegend& legend, const std::vector<DrawnRoof>& roofs);

}  // namespace stepcast::roofline
