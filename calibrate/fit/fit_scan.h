// Fits the laws of engines' scans, each on the times of one kernel of one release on one GPU, with whole shapes held
// out: a shape leaves all kernels of its GPU at once, for neighbours in a table are no strangers. What the law misses
// is learned from other shapes (numeric/refine.h) where that makes shapes held out better.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/left_out.h"
#include "calibrate/rows/scan_timing.h"
#include "model/profile/profile.h"

namespace stepcast::calibrate {

struct FittedScan {
  std::string gpu, kernel, release;
  ScanLaw law;           ///< of all rows
  std::size_t rows = 0;  ///< as timed
  std::size_t shapes = 0;
  HeldOut held_out;          ///< of shapes, the median of each one's repeats
  double alone = 0;          ///< mean error of the law without its correction, of the same shapes
  double repeats_apart = 0;  ///< median over shapes timed more than once: the longest over the shortest, less 1
  std::size_t repeated = 0;  ///< such shapes
};

/// Tables of fewer shapes are left out.
inline constexpr std::size_t fewest_scan_shapes = 20;

/// By GPU, function, engine, release and kernel, in the alphabet's order.
std::vector<FittedScan> fit_scans(std::span<const ScanTiming> rows);
/// Those of too few shapes, in the same order.
std::vector<LeftOutTable> left_out_of(std::span<const ScanTiming> rows);

}  // namespace stepcast::calibrate
