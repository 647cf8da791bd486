// Measures how well a law forecasts what it was not fitted on.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/profile/profile.h"

namespace stepcast {

/// The error of measured / predicted.
struct HoldoutError {
  Spread spread;                   ///< 10th and 90th percentile
  double median = 1;               ///< of measured / predicted: bias
  double mape = 0;                 ///< mean of |predicted / measured - 1|
  int samples = 0;                 ///< held out
};

/// The errors of pairs (measured, predicted), both positive. Empty input gives no samples and a spread of 1.
HoldoutError holdout_error(const std::vector<double>& measured, const std::vector<double>& predicted);

/// A fixed, even split into about `folds` parts: which fold sample `index` falls in. Neighbours in a table (the next size
/// of one shape) fall into different folds.
std::size_t fold_of(std::size_t index, std::size_t folds);

}  // namespace stepcast
