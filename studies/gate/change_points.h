// Finds where a history of checks changed its level, in the presence of outliers.
//
// The levels are those that minimise  sum of min((x - level)^2 / scale^2, bound^2) + a penalty for each change  over
// all ways to cut the history: a bounded loss, so that one check far off is an outlier and two in a row at the end are
// a change (Fearnhead and Rigaill 2019, "Changepoint detection in the presence of outliers"). Levels are looked for
// among the values and the means of neighbours, so the minimum is that of a list and exact on it.
//
// The last two checks are looked at once more: both beyond 2.3 scales of the level before them, on one side, are a
// change even where one of them lies too far off for a level of two. The scale is Qn of differences of neighbours, or
// of both sides of the best single cut where that is less.
//
// Bounds and penalties are set so that a history without a change shows one in at most 1 % of cases, for 16 to 100
// checks of Gaussian noise and of noise with one outlier in twenty (tests/studies/gate/gate_rates_test.cpp counts
// them).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/base/namespaces.h"

namespace stepcast::gate {

/// Below that many checks the scale is not known well enough to say anything; more than the last `most_checks` are not
/// looked at.
constexpr std::size_t least_checks = 16, most_checks = 100;

struct ChangePoint {
  std::size_t at = 0;  ///< the first check of the new level
  double change = 0;   ///< difference of the medians of the levels before and after: of log times
};

/// `values`: one for each check, in order: the median of its runs' log times. Nothing where there are too few.
std::vector<ChangePoint> change_points(std::span<const double> values);

/// Noise from check to check, of differences of neighbours, which a change of level moves in one place only.
double neighbour_scale(std::span<const double> values);

}  // namespace stepcast::gate
