// The conditions under which the measurements behind a profile were made.
#pragma once

#include "calibrate/rows/measurement.h"
#include "model/machine/machine.h"
#include "model/profile/profile.h"

namespace stepcast::calibrate {

/// Those that all rows of the GPU agree on, and a line per source.
Conditions conditions_of(const Measurements& measurements, const Gpu& gpu);

}  // namespace stepcast::calibrate
