#include "model/base/percentile.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace stepcast {

double percentile(std::vector<double> values, double q) {
  assert(!values.empty() && q >= 0 && q <= 1);
  std::ranges::sort(values);
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const auto above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace stepcast
