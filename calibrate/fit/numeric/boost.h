// Fits a Correction, which is a sum of small tables. Each table takes away most of what those before it left over
// (gradient boosting, Friedman 2001, with oblivious trees as in Prokhorenkova et al., arXiv 1706.09516). The fit is
// deterministic.
#pragma once

#include <span>

#include "model/profile/correction.h"

namespace stepcast::calibrate {

struct BoostOptions {
  int tables = 80;
  int depth = 5;
  int bins = 32;       ///< thresholds tried per feature
  double rate = 0.2;   ///< share of what a table could explain that it takes
  double shrink = 3;   ///< samples' worth of zeros in every cell
  double clip = 0.15;  ///< residuals beyond it count as this much: disturbed samples do not steer
};

/// `features` row by row, `width` per sample; `target` the logarithm to explain. 10,000 samples of 17 features take
/// some 150 ms.
Correction boost(
    std::span<const float> features, int width, std::span<const double> target, const BoostOptions& options = {});

}  // namespace stepcast::calibrate
