// The marks of the kernel roofline: operators, what was timed of them, and other timed kernels.
#pragma once

#include <string>

#include "studies/print/page/svg_text.h"
#include "studies/roofline/draw/plane.h"
#include "studies/roofline/report.h"

namespace stepcast::roofline {

inline constexpr std::size_t labelled_points = 8;  ///< the heaviest; more names than that hide what they name

/// Heaviest first, so that small marks lie on top. Labels go where `room` has place.
std::string operator_marks(const RooflineReport& report, const Plane& plane, LabelRoom& room);
std::string loose_marks(const RooflineReport& report, const Plane& plane);

}  // namespace stepcast::roofline
