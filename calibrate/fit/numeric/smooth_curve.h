// Makes size curves of scattered timings: they are medians per size, smoothed where repeats disagree, and never fall
// with size.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/profile/profile.h"

namespace stepcast::calibrate {

/// All times of one size.
struct SizeMedian {
  double size = 0, time = 0;  ///< bytes received, median seconds
  int count = 1;
};
/// Sorted by size; calls without bytes are left out.
std::vector<SizeMedian> medians_by_size(std::span<const CollectiveCurve::Point> calls);

/// At each size, the value there of a straight line through its neighbours in log-log, weighted by a Gauss bell of
/// `width` (0.7 = a doubling) and the number of repeats, deaf to outliers (Cleveland, JASA 74, 1979); then made to rise
/// with size by pooling neighbours that fall. Width 0: the medians themselves, made to rise.
std::vector<CollectiveCurve::Point> smoothed(std::span<const SizeMedian> medians, double width);

/// Sizes at least `apart` apart, first and last kept.
std::vector<CollectiveCurve::Point> thinned(const std::vector<CollectiveCurve::Point>& points, double apart);

}  // namespace stepcast::calibrate
