// The marks of the kernel roofline: operators, what was timed of them, and other timed kernels.
#pragma once

#include <string>
#include <vector>

#include "studies/print/page/svg_text.h"
#include "studies/roofline/draw/picture_parts.h"
#include "studies/roofline/draw/plane.h"
#include "studies/roofline/report.h"

namespace stepcast::roofline {

/// Heaviest first, so that small marks lie on top. `marks`: where they stand (kernel_places.h).
std::string operator_marks(const RooflineReport& report, const Plane& plane, const std::vector<PlaneMark>& marks);
/// Takes the room of all marks in the plane, and of what was timed of them.
void take_marks(const RooflineReport& report, const Plane& plane, const std::vector<PlaneMark>& marks, LabelRoom& room);
std::string loose_marks(const RooflineReport& report, const Plane& plane);

}  // namespace stepcast::roofline
