// The search itself: bounds.
#include "calibrate/fit/numeric/robust_fit.h"

#include <cmath>

#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

/// Two parts of a sum.
struct Sum {
  std::vector<double> first, second, measured;
  Sum() {
    for (int i = 0; i < 12; ++i) {
      first.push_back(1 + 0.1 * i);
      second.push_back(1.0 + 0.02 * (i % 4));
      measured.push_back(1.2 * first.back() - 0.3 * second.back());
    }
  }
  void predict(double a, double b, std::span<double> out) const {
    for (std::size_t i = 0; i < first.size(); ++i) out[i] = a * first[i] + b * second[i];
  }
};

// Measured: less than nothing of the second part. The first is then what a fit without the second gives.
TEST(RobustFit, AParameterAtItsBoundDoesNotHoldTheOthers) {
  const Sum sum;
  const auto both = [&](std::span<const double> p, std::span<double> out) { sum.predict(p[0], p[1], out); };
  const auto alone = [&](std::span<const double> p, std::span<double> out) { sum.predict(p[0], 1e-3, out); };
  const std::vector<FitParameter> two = {{1.5, 0.1, 3}, {0.5, 1e-3, 1}}, one = {{1.5, 0.1, 3}};
  const Fit free = fit_log_error(both, sum.measured, two, 0.1, 1e-4),
            fixed = fit_log_error(alone, sum.measured, one, 0.1, 1e-4);
  EXPECT_NEAR(free.parameters[0], fixed.parameters[0], 1e-3);
}

TEST(RobustFit, TheLossIsQuadraticInsideTheKneeAndLinearOutside) {
  const std::vector<double> measured = {1, 1}, near = {std::exp(0.05), 1}, far = {std::exp(0.3), 1};
  EXPECT_NEAR(log_error_loss(near, measured, 0.1), 0.5 * 0.05 * 0.05 / 2, 1e-12);
  EXPECT_NEAR(log_error_loss(far, measured, 0.1), 0.1 * (0.3 - 0.05) / 2, 1e-12);
}

}  // namespace
}  // namespace stepcast::calibrate
