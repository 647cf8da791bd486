// Fits the laws of engines' hyper-connections, each on the times of one part of one release on one GPU, with whole
// shapes held out: a shape leaves all tables of its GPU at once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/left_out.h"
#include "calibrate/rows/hyper_connection_timing.h"
#include "model/profile/profile.h"

namespace stepcast::calibrate {

struct HeldInFold {
  HyperConnectionShape shape;
  std::size_t fold = 0;
};

struct FittedHyperConnection {
  std::string gpu, release;
  HyperConnectionLaw law;           ///< of all rows
  std::size_t rows = 0;             ///< as timed
  std::size_t shapes = 0;           ///< a shape's repeats count as their median
  std::vector<HeldInFold> held_in;  ///< each shape's fold, in which it leaves all tables of the GPU
};

/// Tables of fewer shapes are left out: the law has six constants; five where all streams are as long, since then
/// nothing tells what of its start grows with them.
inline constexpr std::size_t fewest_hyper_connection_shapes = 18;

/// By GPU, part, engine and release, in the alphabet's order.
std::vector<FittedHyperConnection> fit_hyper_connections(std::span<const HyperConnectionTiming> rows);

/// Those of too few shapes, in the same order.
std::vector<LeftOutTable> left_out_of(std::span<const HyperConnectionTiming> rows);

}  // namespace stepcast::calibrate
