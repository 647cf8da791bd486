// Finds the highest rates that were measured, and what starting work costs. It uses measurements alone and no law.
#pragma once

#include <cstddef>
#include <vector>

#include "calibrate/rows/measurement.h"
#include "model/machine/machine.h"
#include "model/profile/profile.h"

namespace stepcast::calibrate {

/// A roof and the row that reached it.
struct SeenRoof {
  Roof roof;
  std::size_t row = 0;  ///< index into Measurements::rows
};

/// Device memory by the operators read, write, copy and triad on more than the cache could hold; the level-2 cache by
/// warm reads that fit; copies between host and GPU; products of each precision. Of bursts and, under their own regime,
/// of sustained runs. Throttled bursts and rows with something beside them reach no roof.
std::vector<SeenRoof> seen_roofs(const Measurements& measurements, const Gpu& gpu);
std::vector<Roof> roofs_of(const Measurements& measurements, const Gpu& gpu);

/// What the datasheet says of the same resource; 0 = nothing.
double datasheet_rate(const Roof& roof, const Gpu& gpu);

/// The least of what was measured of each; a busy host only adds.
HostCosts host_costs_of(const Measurements& measurements, const Gpu& gpu);

/// Those of `measured` in the place of `known` ones of the same resource and regime.
void replace_roofs(std::vector<Roof>& known, const std::vector<Roof>& measured);

}  // namespace stepcast::calibrate
