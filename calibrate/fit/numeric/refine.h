// Held-out error, correction and interval of any law: the part of a fit that is the same for all kernels.
// Samples are split into folds by their shape, so that one shape's repeats stay together; each fold is forecast by what
// the others gave. A correction stays only where it makes those forecasts better.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/profile/profile.h"

namespace stepcast::calibrate {

/// What refine() asks of a kind of law.
struct RefineProblem {
  std::vector<double> measured;      ///< seconds
  std::vector<std::uint64_t> shape;  ///< equal for equal queries
  int width = 0;                     ///< features per sample
  std::vector<float> features;       ///< of all samples, row by row; by the law fitted on all
  /// Base times of all samples by a law fitted on those that are `kept`.
  std::function<std::vector<double>(std::span<const std::size_t> kept)> base;
};

struct RefineOptions {
  double hold_out = 0.2;  ///< share per fold
  bool correct = true;    ///< false: interval and error only
};

struct Refined {
  Refinement refinement;
  Spread base_spread;             ///< of the law alone; refinement.spread is that with correction
  double base_mape = 0;           ///< held out, without correction
  double bias = 1;                ///< median of measured / predicted, held out
  std::vector<double> predicted;  ///< held-out forecast of each sample
};
Refined refine(const RefineProblem& problem, const RefineOptions& options = {});

/// Hashes a shape; the order of the numbers counts.
std::uint64_t hash_of(std::initializer_list<double> numbers);

}  // namespace stepcast::calibrate
