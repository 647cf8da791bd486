// Decides when enough replays were timed.
#pragma once

#include <cstdint>
#include <span>

#include "calibrate/measure/method.h"
#include "model/base/units.h"

namespace stepcast::calibrate {

/// Median with its 95 % interval by order statistics (binomial: no assumption on the distribution), and the quartiles.
struct MedianOf {
  Seconds median, low, high;  ///< low, high: of the median; the extremes where there are fewer than 6 samples
  Seconds quartile1, quartile3;
};
MedianOf median_of_times(std::span<const Seconds> times);

enum class Stop : std::uint8_t { go_on, settled, time_spent };
/// `spent`: since the first replay.
Stop stop_after(std::span<const Seconds> times, Seconds spent, const MethodRules& rules);

}  // namespace stepcast::calibrate
