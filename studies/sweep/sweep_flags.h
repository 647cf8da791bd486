// What `stepcast sweep` takes: the run flags of predict, of which the axes may have several values, and its own.
#pragma once

#include <span>

#include "studies/flags.h"

namespace stepcast {

/// A flag that is an axis (find_axis) has no check of its own: read_axis_values checks each value.
std::span<const Flag> sweep_flags();

}  // namespace stepcast
