// Learns how a collective slows down or speeds up when more ranks of a node join. It learns on systems where both
// counts were timed and serves those where only the smaller one was.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/profile/profile.h"

namespace stepcast::calibrate {

/// A system with the curves that were fitted on it.
struct MeasuredSystem {
  std::string id;     ///< "h200-sxm"
  std::string links;  ///< generation of its links: systems of one generation grow alike
  std::vector<CollectiveCurve> curves;
};

/// For each kind and step between neighbouring rank counts that some system has: the median over the systems with these
/// links, else over all those whose fabric is alike, of time(to)/time(from) at the same buffer, over sizes a doubling
/// apart. The spread is that of systems forecast by the others; with fewer than two, it is wide and `assumed` of size.
std::vector<CollectiveGrowth> fit_growth(
    std::span<const MeasuredSystem> systems, const std::string& links, FabricKind fabric);

}  // namespace stepcast::calibrate
