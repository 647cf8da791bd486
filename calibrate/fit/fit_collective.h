// Fits the size curve of a collective from timed calls: inside the timed sizes it is a smoothed table of medians,
// outside of them a saturating law in log space.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/fit_law.h"
#include "model/base/error.h"
#include "model/profile/profile.h"

namespace stepcast::calibrate {

struct FittedCurve {
  CollectiveCurve law;   ///< `measured`, with held-out figures and widths
  double bias = 1;       ///< median of measured / predicted, held out
  double smoothing = 0;  ///< width of the smoothing that forecast best
  int samples = 0;
  std::vector<double> predicted;  ///< held-out forecast of each sample, seconds
};

/// One curve from calls of one kind, rank count and number of nodes, at least 2 distinct sizes. Each fifth of the calls
/// is forecast by the others, which also chooses how much to smooth. Across nodes, `network` is that of the curve.
Expected<FittedCurve> fit_curve(
    std::span<const Sample<CollectiveQuery>> samples, FabricKind fabric, const std::string& network = {});

/// All curves in the calls: one per kind, rank count and number of nodes, in that order. NVLink that joins several
/// hosts is one domain: its curves are those of one node. Series of fewer than 2 sizes are left out.
std::vector<FittedCurve> fit_curves(
    std::span<const Sample<CollectiveQuery>> samples, FabricKind fabric, const std::string& network = {});

}  // namespace stepcast::calibrate
