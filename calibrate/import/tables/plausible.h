// Knows what no machine can do. A rate above the datasheet means that a table counts, names or times something else
// than it seems.
#pragma once

#include <string>

#include "calibrate/rows/measurement.h"

namespace stepcast::calibrate {

/// "" or what is wrong: FLOP/s above the peak of its precision, or more bytes of device memory than it can move, where
/// they cannot lie in the L2 cache. `gpu` is an id of the catalogue.
std::string beyond_datasheet(const Measurement& measurement, const std::string& gpu);

}  // namespace stepcast::calibrate
