// The percentile of a list of numbers.
#pragma once

#include <vector>

namespace stepcast {

/// Percentile by linear interpolation between order statistics; `q` in 0..1, `values` not empty.
double percentile(std::vector<double> values, double q);

}  // namespace stepcast
