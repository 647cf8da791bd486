// Runs with known noise, the same on every machine: log times of a case, Gaussian or with outliers.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace stepcast::gate {

class SimulatedRuns {
 public:
  /// `noise`: standard deviation; `outliers`: the share of runs that take 10 % longer.
  SimulatedRuns(std::uint64_t seed, double noise, double outliers)
      : random_(seed), noise_(noise), outliers_(outliers) {}

  double run(double shift = 0) { return shift + noise_ * normal() + (uniform() < outliers_ ? std::log(1.1) : 0); }
  std::vector<double> runs(std::size_t count, double shift = 0) {
    std::vector<double> values(count);
    for (double& value : values) value = run(shift);
    return values;
  }

 private:
  /// Of 53 bits, above 0. Distributions of the standard library differ between its makers.
  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) / 9007199254740992.0; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * 3.14159265358979323846 * uniform()); }
  std::mt19937_64 random_;
  double noise_, outliers_;
};

}  // namespace stepcast::gate
