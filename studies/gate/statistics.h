// Statistics of repeated runs that stay true when a run now and then is far off: bounds by ranks, whose error rates
// hold for any noise as long as the runs of a side are alike and independent, and a scale that single runs do not move.
//
// Values are logarithms of times, so that a shift of 0.05 is 5.1 % slower.
//
//   two samples  a linear rank statistic whose scores are the ranks of both samples together, held between their 30th
//                and 70th percentile, so that what is far off counts no more than what is off (Hajek, Sidak and Sen
//                1999, "Theory of Rank Tests", sections 3.1 and 4.1 on scores); its law without a shift is counted
//                exactly for up to 100 runs. Bounds are the shifts that it does not reject; the shift itself is the
//                median of all pairwise differences (Hodges and Lehmann 1963)
//   one sample   order statistics: how many runs lie above the median is binomial (Hollander, Wolfe
//                and Chicken 2014, section 3.6)
//   scale        Qn of Rousseeuw and Croux 1993: half of the runs may be outliers
#pragma once

#include <cstddef>
#include <span>

#include "model/base/namespaces.h"

namespace stepcast::gate {

/// A shift with one-sided bounds: above `lower` with confidence 1 - alarm, below `upper` with confidence 1 - miss,
/// below `surely_below` with confidence 1 - alarm. Minus and plus infinity where there are too few runs for that.
struct ShiftBounds {
  double shift = 0, lower = 0, upper = 0, surely_below = 0;
};

/// How far `now` lies above `before`. Neither is empty.
ShiftBounds shift_between(std::span<const double> before, std::span<const double> now, double alarm, double miss);
/// How far the median of `now` lies above 0. Not empty.
ShiftBounds shift_from_zero(std::span<const double> now, double alarm, double miss);

/// Whether n and m runs can show a shift at all with this error.
bool can_show_shift(std::size_t n, std::size_t m, double error);
/// The largest k so that the k-th smallest of n values lies above their median with a probability of at most `error`;
/// 0 where even the smallest does so more often.
std::size_t median_rank(std::size_t n, double error);

/// Standard deviation of Gaussian noise, were it such; 0 for less than two values.
double robust_scale(std::span<const double> values);
/// Of two samples with medians of their own.
double pooled_scale(std::span<const double> before, std::span<const double> now);

/// Quantile of the standard normal distribution, 0 < p < 1 (Acklam's rational approximation, relative error 1.2e-9).
double normal_quantile(double p);

}  // namespace stepcast::gate
