// Names of the marks in the plane of the kernel roofline. A mark that stands alone has its name beside it; marks that
// lie on one another are named in one list, with their number.
#pragma once

#include <string>
#include <vector>

#include "studies/roofline/draw/picture_parts.h"
#include "studies/roofline/report.h"

namespace stepcast::roofline {

inline constexpr std::size_t labelled_points = 8;  ///< of marks alone; more names than that hide what they name

/// Marks that lie on one another, by number and heaviest first; a mark alone is a heap of one. Those in the strip are
/// in no heap.
std::vector<std::vector<std::size_t>> heaps_of(const std::vector<PlaneMark>& marks);

/// <g class="labels" data-level="hbm">: those by the bytes of the other level are hidden until the script shows them.
/// `room`: where marks, ridges and the names of roofs are. `lines`: of roofs, which a name may hide and no list.
std::string kernel_labels(const RooflineReport& report, Sheet sheet, MemoryLevel level,
    const std::vector<PlaneMark>& marks, LabelRoom room, const std::vector<SvgBox>& lines);

}  // namespace stepcast::roofline
