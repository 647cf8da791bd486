// Shows what measured steps say of each software, as a profile keeps it, for `calibrate show`.
#pragma once

#include <string>

#include "model/base/json_writer.h"
#include "model/profile/profile.h"

namespace stepcast::calibration {

/// A line per fit; "" where the profile holds none.
std::string step_fits_text(const Profile& profile);
/// Writes the list "steps" into the open object.
void write_step_fits(JsonWriter& json, const Profile& profile);

}  // namespace stepcast::calibration
