#include "calibrate/fit/numeric/holdout.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "calibrate/fit/numeric/robust_fit.h"

namespace stepcast::calibrate {
namespace {

TEST(Holdout, folds_are_even_and_neighbours_scatter) {
  std::array<int, 4> counts{};
  int same = 0;
  for (std::size_t i = 0; i < 4000; ++i) {
    ++counts[fold_of(i, 4)];
    same += fold_of(i, 4) == fold_of(i + 1, 4);
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 50);
  EXPECT_LT(same, 2000);
}

TEST(RobustFit, a_power_law_by_two_parameters) {
  const std::vector<double> x{1, 2, 4, 8, 16};
  std::vector<double> y;
  for (const double v : x) y.push_back(3 * std::pow(v, 1.7));
  const auto model = [&](std::span<const double> p, std::span<double> out) {
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = p[0] * std::pow(x[i], p[1]);
  };
  const std::array<FitParameter, 2> start{{{1, 0.01, 100}, {1, 0.1, 10}}};
  const Fit fit = fit_log_error(model, y, start);
  EXPECT_NEAR(fit.parameters[0], 3, 1e-4);
  EXPECT_NEAR(fit.parameters[1], 1.7, 1e-4);
  EXPECT_LT(fit.loss, 1e-10);
}

TEST(RobustFit, stays_within_bounds_and_repeats_exactly) {
  const std::vector<double> y{10, 10, 10};
  const auto model = [](std::span<const double> p, std::span<double> out) { std::fill(out.begin(), out.end(), p[0]); };
  const std::array<FitParameter, 1> bounded{{{1, 0.5, 2}}};
  EXPECT_NEAR(fit_log_error(model, y, bounded).parameters[0], 2, 1e-12);
  EXPECT_EQ(fit_log_error(model, y, bounded).parameters, fit_log_error(model, y, bounded).parameters);
}

}  // namespace
}  // namespace stepcast::calibrate
