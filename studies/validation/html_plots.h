// Pictures of forecasts against measurements, as inline SVG.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "studies/validation/validation.h"

namespace stepcast::validation {

/// The forecast that a page judges a run by: held out where that was made, else with everything fitted.
struct ShownForecast {
  double seconds = 0, low = 0, high = 0;
  double error = 0;  ///< seconds / measured - 1
  bool held_out = false;
  bool inside = false;  ///< the measurement lies in the 80 % interval
};
ShownForecast shown_forecast(const ValidatedCase& row);

using CaseList = std::vector<const ValidatedCase*>;

/// Measured to the right, forecast upwards, both on one logarithmic scale; diagonal and a band of 10 % around it.
std::string time_scatter(const CaseList& cases);
/// The same of peak memory in GB, of the cases that have one.
std::string memory_scatter(const CaseList& cases);

/// Errors on a line from -50 to +50 %, with their median and 10th to 90th percentile; farther ones at its ends.
std::string error_strip(const CaseList& cases);
std::string error_axis();

/// What the marks mean.
std::string plot_legend();

}  // namespace stepcast::validation
