// Fits the laws of engines' hyper-connections, each on the times of one part of one release on one GPU, with whole
// shapes held out: a shape leaves all tables of its GPU at once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/rows/hyper_connection_timing.h"
#include "model/profile/profile.h"

namespace stepcast::calibrate {

struct FittedHyperConnection {
  std::string gpu, release;
  HyperConnectionLaw law;  ///< of all rows
  std::size_t rows = 0;    ///< as timed
  std::size_t shapes = 0;  ///< a shape's repeats count as their median
};

/// Tables of fewer shapes are left out: the law has six constants.
inline constexpr std::size_t fewest_hyper_connection_shapes = 18;

/// By GPU, part, engine and release, in the alphabet's order.
std::vector<FittedHyperConnection> fit_hyper_connections(std::span<const HyperConnectionTiming> rows);

}  // namespace stepcast::calibrate
