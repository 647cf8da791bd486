// Where the operators of a step stand in the kernel roofline: in its plane, or in the strip below it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "studies/roofline/draw/picture_parts.h"
#include "studies/roofline/report.h"

namespace stepcast::roofline {

/// Marks in the order of the report's points. What counts no FLOPs, or lies left of and below the frame, has no place
/// in the plane: such marks stand in rows, those of one operator in one cell with its name.
struct KernelPlaces {
  std::vector<PlaneMark> marks;
  std::string strip;  ///< ground and names of the rows
  double bottom = 0;  ///< of the strip; where the plane's own foot ends if there is none
};

/// `foot`: what the plane's axis takes below it. `level`: by whose bytes points stand.
KernelPlaces kernel_places(
    const RooflineReport& report, Sheet sheet, const Plane& plane, double foot, MemoryLevel level = MemoryLevel::hbm);

/// "norm", "norm \u00d740": so many operators, cut short where it is long.
std::string counted_name(std::string_view name, std::size_t count);
/// data-points="3 7": the operators that a text speaks of, for the script.
std::string points_attribute(const std::vector<std::size_t>& points);

}  // namespace stepcast::roofline
