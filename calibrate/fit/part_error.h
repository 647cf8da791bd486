// Says how a law of products does on a part of its samples: those of training size, or those of one layout.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/fit/fit_law.h"
#include "model/profile/profile.h"

namespace stepcast::calibrate {

/// Held-out forecasts of the samples that are `in`; no samples where there are none.
struct PartFit {
  std::string part;  ///< "tn", "nn", "nt"
  HeldOut held_out;
  double bias = 1;  ///< median of measured / predicted
};
PartFit part_error(const std::vector<Sample<GemmQuery>>& samples, const FittedLaw<RooflineLaw>& fitted,
    const GpuUnits& units, const std::function<bool(const GemmQuery&)>& in);

/// Products of training size by layout, where more than one was timed: forward tn, input gradient nn, weight gradient
/// nt. One law holds all of them: what differs in their traffic is in bytes_of(), and from 200 samples on
/// (numeric/refine.cpp) the correction may ask for the layout. With fewer, or where whole steps take the law alone, the
/// bias of each is what a reader has to know.
std::vector<PartFit> layout_errors(
    const std::vector<Sample<GemmQuery>>& samples, const FittedLaw<RooflineLaw>& fitted, const GpuUnits& units);

}  // namespace stepcast::calibrate
