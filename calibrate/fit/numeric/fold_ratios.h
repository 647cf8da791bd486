// How well shapes were forecast that were held out, fold by fold.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "model/profile/profile.h"

namespace stepcast::calibrate {

inline constexpr std::size_t shape_folds = 5;

/// Measured over forecast, by the fold that was held out.
using FoldRatios = std::array<std::vector<double>, shape_folds>;

/// All but those of one fold.
std::vector<double> joined(const FoldRatios& ratios, std::size_t without = shape_folds);
/// Their 10th and 90th percentile.
Spread spread_of(const std::vector<double>& ratios);
/// Each fold's coverage is by the interval that the other folds give.
HeldOut held_out_of(const FoldRatios& ratios);

}  // namespace stepcast::calibrate
