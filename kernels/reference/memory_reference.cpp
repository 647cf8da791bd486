#include "kernels/reference/memory_reference.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace stepcast::kernels::reference {
namespace {

constexpr double kCube = 0.044715;
constexpr double kNormEpsilon = 1e-5;

double gelu_inner(double x) { return std::sqrt(2 / std::numbers::pi) * (x + kCube * x * x * x); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double norm_scale(Numbers x) {
  const double squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
  return 1 / std::sqrt(squares / static_cast<double>(x.size()) + kNormEpsilon);
}

/// log of the sum of exponentials.
double log_sum(Numbers x) {
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double value : x) sum += std::exp(value - top);
  return top + std::log(sum);
}

}  // namespace

double gelu(double x) { return x / 2 * (1 + std::tanh(gelu_inner(x))); }

double gelu_gradient(double x, double dy) {
  const double t = std::tanh(gelu_inner(x));
  const double slope = std::sqrt(2 / std::numbers::pi) * (1 + 3 * kCube * x * x);
  return dy / 2 * (1 + t + x * (1 - t * t) * slope);
}

double silu(double x) { return x * sigmoid(x); }

GatedGradient swiglu_gradient(double gate, double up, double dy) {
  const double s = sigmoid(gate);
  return {dy * up * s * (1 + gate * (1 - s)), dy * silu(gate)};
}

Values rms_norm(Numbers x, Numbers weight) {
  const double scale = norm_scale(x);
  Values y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * weight[i];
  return y;
}

NormGradients rms_norm_gradient(Numbers x, Numbers dy, Numbers weight) {
  const double scale = norm_scale(x);
  double mean = 0;
  for (std::size_t i = 0; i < x.size(); ++i) mean += dy[i] * weight[i] * x[i] / static_cast<double>(x.size());
  NormGradients gradients{Values(x.size()), Values(x.size())};
  for (std::size_t i = 0; i < x.size(); ++i) {
    gradients.x[i] = scale * dy[i] * weight[i] - scale * scale * scale * mean * x[i];
    gradients.weight[i] = dy[i] * x[i] * scale;
  }
  return gradients;
}

Values softmax(Numbers x) {
  const double log = log_sum(x);
  Values y;
  for (const double value : x) y.push_back(std::exp(value - log));
  return y;
}

Values softmax_gradient(Numbers y, Numbers dy) {
  const double dot = std::inner_product(y.begin(), y.end(), dy.begin(), 0.0);
  Values dx(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) dx[i] = y[i] * (dy[i] - dot);
  return dx;
}

LossAndGradient cross_entropy(Numbers logits, int target) {
  const auto right = static_cast<std::size_t>(target);
  LossAndGradient result{log_sum(logits) - logits[right], softmax(logits)};
  result.gradient[right] -= 1;
  return result;
}

Values rope(Numbers x, int head_dim, double position) {
  constexpr double kBase = 10000;
  const auto dim = static_cast<std::size_t>(head_dim), half = dim / 2;
  Values y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t within = i % dim;
    const double share = 2.0 * static_cast<double>(within % half) / static_cast<double>(dim);
    const double angle = position * std::pow(kBase, -share);
    y[i] = within < half ? x[i] * std::cos(angle) - x[i + half] * std::sin(angle)
                         : x[i] * std::cos(angle) + x[i - half] * std::sin(angle);
  }
  return y;
}

AdamWeight adam(const AdamRates& r, AdamWeight before, double gradient) {
  AdamWeight after;
  after.mean = r.beta1 * before.mean + (1 - r.beta1) * gradient;
  after.square = r.beta2 * before.square + (1 - r.beta2) * gradient * gradient;
  const double step = after.mean * r.correction1 / (std::sqrt(after.square * r.correction2) + r.epsilon);
  after.weight = before.weight - r.rate * (step + r.decay * before.weight);
  return after;
}

double unit_roundoff(int element_bytes) {
  switch (element_bytes) {
    case 1: return 0x1p-4;  // e4m3: 3 bits after the point
    case 2: return 0x1p-8;  // bf16: 7; fp16 has 10
    default: return 0x1p-24;
  }
}

double allowed_error(int element_bytes, double columns) {
  const double levels = std::log2(std::max(columns, 1.0));
  return unit_roundoff(element_bytes) + 0x1p-22 * (4 + levels);
}

double largest_error(Numbers got, Numbers want) {
  assert(got.size() == want.size());
  double difference = 0, scale = std::numeric_limits<double>::min();
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double here = std::abs(got[i] - want[i]);
    if (!std::isfinite(here)) return std::numeric_limits<double>::quiet_NaN();
    difference = std::max(difference, here);
    scale = std::max(scale, std::abs(want[i]));
  }
  return difference / scale;
}

double worse(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : std::max(a, b);
}

double cross_entropy_error(Numbers got, Numbers want, int target) {
  const auto right = static_cast<std::size_t>(target);
  Values got_others(got.begin(), got.end()), want_others(want.begin(), want.end());
  got_others[right] = want_others[right] = 0;
  return worse(largest_error(got_others, want_others), std::abs(got[right] - want[right]));
}

}  // namespace stepcast::kernels::reference
