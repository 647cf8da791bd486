// What no GPU can have done: rows that are faster than the datasheet's rates are slips of a unit or of a shape, and one
// of them bends a law.
#pragma once

#include <string>
#include <vector>

#include "calibrate/rows/measurement.h"
#include "model/base/error.h"
#include "model/profile/profile.h"

namespace stepcast::calibrate {

/// Is the row faster than the GPU's peak, its memory or its links allow?
bool is_beyond_roof(const Measurement& row, const Gpu& gpu);

/// Takes the GPU's rows of that kind out, and says how many and which.
struct RowsBelowRoofs {
  Measurements rows;
  std::vector<std::string> notes;
};
RowsBelowRoofs rows_below_roofs(Measurements all, const Gpu& gpu);

/// Errors: a law of products, experts or attention whose rate is beyond the GPU's peak.
Expected<void> check_below_roofs(const Profile& profile, const Gpu& gpu);

}  // namespace stepcast::calibrate
