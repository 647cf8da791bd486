// Colours, classes and the axis of the schedule picture.
#pragma once

#include <string>

#include "sim/schedule/order.h"

namespace stepcast::timeline {

/// Classes F0, F1, ... B0, ... of rectangles, tF0, ... of the numbers in them, and of all the rest; on a dark page the
/// paper and its writing turn round.
std::string svg_style(int shades);

const char* svg_kind_name(ActionKind kind);

}  // namespace stepcast::timeline
