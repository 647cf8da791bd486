// Fits the laws of engines' convolutions in front of scans, each on the times of one kernel of one release on one GPU,
// with whole shapes held out: a shape leaves all tables of its GPU at once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/rows/convolution_timing.h"
#include "model/profile/profile.h"

namespace stepcast::calibrate {

struct FittedConvolution {
  std::string gpu, kernel, release;
  ScanLaw law;             ///< of all rows (model/convolution_law.h)
  std::size_t rows = 0;    ///< as timed
  std::size_t shapes = 0;  ///< a shape's repeats count as their median
};

/// Rows whose times say nothing of their channels: what was timed is not what they call it.
struct ForeignConvolutions {
  std::string gpu, kernel, software;
  std::size_t rows = 0;
};

struct ConvolutionFits {
  std::vector<FittedConvolution> laws;  ///< by GPU, phase, engine, release and kernel, in the alphabet's order
  std::vector<ForeignConvolutions> foreign;
};

/// Tables of fewer shapes are left out: the law of prompts has five constants.
inline constexpr std::size_t fewest_convolution_shapes = 18;

ConvolutionFits fit_convolutions(std::span<const ConvolutionTiming> rows);

}  // namespace stepcast::calibrate
