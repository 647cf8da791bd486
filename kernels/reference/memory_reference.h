// What the kernels that device memory bounds must compute, in float64 and as plainly as can be. On values, whatever
// format they were stored in.
#pragma once

#include <span>
#include <vector>

namespace stepcast::kernels::reference {

using Values = std::vector<double>;
using Numbers = std::span<const double>;

double gelu(double x);  ///< its tanh form (arXiv 1606.08415)
double gelu_gradient(double x, double dy);
double silu(double x);
struct GatedGradient {
  double gate, up;
};
GatedGradient swiglu_gradient(double gate, double up, double dy);

Values rms_norm(Numbers x, Numbers weight);  ///< epsilon 1e-5
struct NormGradients {
  Values x, weight;
};  ///< weight: what this row adds to it
NormGradients rms_norm_gradient(Numbers x, Numbers dy, Numbers weight);

Values softmax(Numbers x);
Values softmax_gradient(Numbers y, Numbers dy);
struct LossAndGradient {
  double loss;
  Values gradient;
};
LossAndGradient cross_entropy(Numbers logits, int target);

/// Heads of this size at one position, base 10000, halves turned against each other.
Values rope(Numbers x, int head_dim, double position);

// clang-format off
struct AdamRates { double rate, beta1, beta2, epsilon, decay, correction1, correction2; };
struct AdamWeight { double weight, mean, square; };
// clang-format on
AdamWeight adam(const AdamRates& rates, AdamWeight before, double gradient);

/// Of one rounding to a format: half a unit in the last place, over the number.
double unit_roundoff(int element_bytes);
/// What a kernel that adds in fp32 over this many columns may differ by, over the largest value of the reference: the
/// rounding of its result, and some units of fp32 for the functions of the special-function unit and each level of the
/// sum.
double allowed_error(int element_bytes, double columns);
/// Largest difference over the largest value of the reference; not a number where one of `got` is none.
double largest_error(Numbers got, Numbers want);
/// The larger of two errors; not a number where one of them is none.
double worse(double a, double b);
/// Of a gradient over logits: at the target over 1, as a probability less 1 is what it should be, elsewhere over the
/// largest of the others, which are small where there are many.
double cross_entropy_error(Numbers got, Numbers want, int target);

}  // namespace stepcast::kernels::reference
