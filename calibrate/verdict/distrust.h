// Says which figures of a campaign not to trust, why, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "calibrate/verdict/findings.h"
#include "model/machine/machine.h"

namespace stepcast::calibrate {

struct Evidence {
  const MeasureResult& result;
  const FittedProfile& fitted;
  const Gpu& gpu;
  const GpuSettings& settings;
  const Verdict& verdict;  ///< all but its lines of distrust
};
/// What makes all figures doubtful first: the campaign, the card, clocks; then single figures; then what is missing.
std::vector<std::string> distrust_lines(const Evidence& evidence);

/// What is usual of a law's held-out errors and needed of its samples.
struct UsualFit {
  double mape = 0;
  int samples = 0;
};
UsualFit usual_fit(const LawFit& fit);

}  // namespace stepcast::calibrate
