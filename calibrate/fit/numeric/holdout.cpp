#include "calibrate/fit/numeric/holdout.h"

#include <cassert>
#include <cmath>
#include <cstdint>

#include "model/base/percentile.h"

namespace stepcast {

HoldoutError holdout_error(const std::vector<double>& measured, const std::vector<double>& predicted) {
  assert(measured.size() == predicted.size());
  HoldoutError error;
  if (measured.empty()) return error;
  std::vector<double> ratios;
  double sum = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    ratios.push_back(measured[i] / predicted[i]);
    sum += std::abs(predicted[i] / measured[i] - 1);
  }
  error.samples = static_cast<int>(ratios.size());
  error.mape = sum / error.samples;
  error.median = percentile(ratios, 0.5);
  error.spread = {percentile(ratios, 0.1), percentile(ratios, 0.9)};
  return error;
}

std::size_t fold_of(std::size_t index, std::size_t folds) {
  // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4): scatters consecutive indices evenly.
  const std::uint64_t scattered = (static_cast<std::uint64_t>(index) + 1) * 0x9E3779B97F4A7C15ull;
  return static_cast<std::size_t>((scattered >> 32) % folds);
}

}  // namespace stepcast
