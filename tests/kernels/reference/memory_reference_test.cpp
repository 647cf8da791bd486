#include "kernels/reference/memory_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace stepcast::kernels::reference {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

/// (f(x + h) - f(x - h)) / 2h.
template <typename Function> double slope(Function f, double x) {
  constexpr double kStep = 1e-5;
  return (f(x + kStep) - f(x - kStep)) / (2 * kStep);
}

TEST(MemoryReference, ActivationsAndTheirSlopes) {
  EXPECT_DOUBLE_EQ(gelu(0), 0);
  EXPECT_NEAR(gelu(1), 0.8412, 1e-4);  // x Phi(x) is 0.8413
  EXPECT_NEAR(silu(1), 1 / (1 + std::exp(-1.0)), 1e-12);
  for (const double x : {-3.0, -0.5, 0.0, 0.7, 2.0}) {
    EXPECT_NEAR(gelu_gradient(x, 2), 2 * slope(gelu, x), 1e-8);
    const auto gated = swiglu_gradient(x, 3, 2);
    EXPECT_NEAR(gated.gate, 6 * slope(silu, x), 1e-8);
    EXPECT_NEAR(gated.up, 2 * silu(x), 1e-12);
  }
}

TEST(MemoryReference, NormGradientIsTheSlopeOfTheNorm) {
  const Values x{1, -2, 0.5}, weight{1, 2, 3}, dy{0.3, -1, 2};
  const auto loss = [&](const Values& at, const Values& w) {
    const Values y = rms_norm(at, w);
    return y[0] * dy[0] + y[1] * dy[1] + y[2] * dy[2];
  };
  const auto gradient = rms_norm_gradient(x, dy, weight);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto along_x = [&](double value) {
      Values at = x;
      at[i] = value;
      return loss(at, weight);
    };
    const auto along_weight = [&](double value) {
      Values w = weight;
      w[i] = value;
      return loss(x, w);
    };
    EXPECT_NEAR(gradient.x[i], slope(along_x, x[i]), 1e-8);
    EXPECT_NEAR(gradient.weight[i], slope(along_weight, weight[i]), 1e-8);
  }
}

TEST(MemoryReference, SoftmaxAndCrossEntropy) {
  const Values logits{std::log(1.0), std::log(2.0), std::log(5.0)};
  EXPECT_THAT(
      softmax(logits), ElementsAre(DoubleNear(0.125, 1e-12), DoubleNear(0.25, 1e-12), DoubleNear(0.625, 1e-12)));
  const auto both = cross_entropy(logits, 1);
  EXPECT_NEAR(both.loss, std::log(4.0), 1e-12);
  EXPECT_THAT(both.gradient, ElementsAre(DoubleNear(0.125, 1e-12), DoubleNear(-0.75, 1e-12), DoubleNear(0.625, 1e-12)));
  // dy of 8 at the last: y (dy - 5) is -0.625, -1.25, 0.625 x 3.
  EXPECT_THAT(softmax_gradient(softmax(logits), Values{0, 0, 8}),
      ElementsAre(DoubleNear(-0.625, 1e-12), DoubleNear(-1.25, 1e-12), DoubleNear(1.875, 1e-12)));
}

TEST(MemoryReference, RopeTurnsPairsOfHalves) {
  // One head of 4 at position 1: pair (0, 2) turns by 1, pair (1, 3) by 10000^(-1/2) = 0.01.
  EXPECT_THAT(
      rope(Values{1, 1, 0, 0}, 4, 1), ElementsAre(DoubleNear(std::cos(1), 1e-12), DoubleNear(std::cos(0.01), 1e-12),
                                          DoubleNear(std::sin(1), 1e-12), DoubleNear(std::sin(0.01), 1e-12)));
}

TEST(MemoryReference, AdamsFirstStepIsTheRateWhateverTheGradient) {
  const AdamRates rates{0.1, 0.9, 0.95, 0, 0, 1 / (1 - 0.9), 1 / (1 - 0.95)};
  EXPECT_NEAR(adam(rates, {1, 0, 0}, 1e-3).weight, 0.9, 1e-12);
  EXPECT_NEAR(adam(rates, {1, 0, 0}, -40).weight, 1.1, 1e-12);
}

TEST(MemoryReference, ErrorsAreOverTheLargestValue) {
  EXPECT_DOUBLE_EQ(largest_error(Values{1, 4.5}, Values{1.25, 5}), 0.1);
  EXPECT_TRUE(std::isnan(largest_error(Values{1, NAN}, Values{1, 5})));
  EXPECT_DOUBLE_EQ(largest_error(Values{0}, Values{0}), 0);
  EXPECT_NEAR(cross_entropy_error(Values{-0.9, 0.0101, 0.02}, Values{-0.95, 0.01, 0.02}, 0), 0.05, 1e-12);
  EXPECT_NEAR(cross_entropy_error(Values{-0.9, 0.012, 0.02}, Values{-0.95, 0.01, 0.02}, 0), 0.1, 1e-12);
  EXPECT_TRUE(std::isnan(cross_entropy_error(Values{NAN, 0}, Values{-1, 0}, 0)));
  EXPECT_DOUBLE_EQ(allowed_error(2, 16), 1.0 / 256 + 8 * 0x1p-22);
}

}  // namespace
}  // namespace stepcast::kernels::reference
