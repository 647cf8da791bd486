// Idle time by where it lies: gaps between a kernel and the next.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "studies/compare/traced/time_split.h"

namespace stepcast::comparison {

struct GapPlace {
  double seconds = 0;
  std::size_t count = 0, late = 0;
  std::map<HostCallKind, std::pair<double, std::size_t>> calls;  ///< seconds and gaps of what kept the host
};
using GapPlaces = std::map<std::pair<std::string, std::string>, GapPlace>;

/// By the names before and after the gap.
GapPlaces places_of(const TimeSplit& split, const std::vector<std::string>& names);

}  // namespace stepcast::comparison
