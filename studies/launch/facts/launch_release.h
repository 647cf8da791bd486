// Finds the releases of its framework that a launch was written for, by the arguments that they know.
#pragma once

#include <string>

#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

struct KnownReleases {
  std::string first, last;  ///< ids; "" = no release knows all of the arguments that any release knows
};
KnownReleases known_releases(const Launch& launch);

/// The launch's own, or the newest that knows its arguments where today's does not; "" = today's.
std::string release_in_force(const Launch& launch);

}  // namespace stepcast::launch
