// Asks every law of a profile for the same shapes, so that two profiles can be compared.
#pragma once

#include <string>
#include <vector>

#include "model/profile/profile.h"

namespace stepcast::calibration {

struct ShapeTime {
  std::string shape;  ///< "m 8192, n 4096, k 4096"
  Seconds time;
};

/// One list for each of law_rows(profile), in its order.
std::vector<std::vector<ShapeTime>> shape_times(const Profile& profile);

}  // namespace stepcast::calibration
