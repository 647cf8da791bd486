// Estimates the duration and memory of one kernel by the datasheet, so that a plan can be made before anything is
// measured.
#pragma once

#include "model/machine/machine.h"
#include "model/profile/query.h"
#include "model/base/units.h"

namespace stepcast::calibrate {

/// How long a thing takes by the datasheet with usual efficiencies.
Seconds expected_time(const Gpu& gpu, const Query& query);
/// Memory that one set of its buffers takes.
Bytes bytes_taken(const Query& query);

}  // namespace stepcast::calibrate
