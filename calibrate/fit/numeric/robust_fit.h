// The one optimiser of this folder. It fits a few positive parameters on logarithmic error and is not moved by
// outliers.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace stepcast::calibrate {

/// A positive parameter with its range.
struct FitParameter {
  double start = 1, low = 0, high = 0;
};

struct Fit {
  std::vector<double> parameters;
  double loss = 0;  ///< mean Huber loss of the log error; comparable between fits on the same data
};

/// Mean Huber loss of log(predicted / measured): what the fit makes least.
double log_error_loss(std::span<const double> predicted, std::span<const double> measured, double knee);

/// Finds parameters that minimise the Huber loss of log(model / measured) over all samples, by Levenberg-Marquardt on
/// the parameters' logarithms with numeric derivatives. `model` writes one positive prediction per measured value.
/// Deterministic. Errors beyond `knee` (0.1 = 10 %) count linearly, so that a few disturbed samples do not steer the
/// fit. Stops when a step lowers the loss by less than `tolerance` of it.
Fit fit_log_error(const std::function<void(std::span<const double> parameters, std::span<double> predicted)>& model,
    std::span<const double> measured, std::span<const FitParameter> parameters, double knee = 0.1,
    double tolerance = 1e-12);

}  // namespace stepcast::calibrate
