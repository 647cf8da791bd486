#include "calibrate/fit/numeric/fold_ratios.h"

#include <cmath>

#include "model/base/percentile.h"

namespace stepcast::calibrate {

std::vector<double> joined(const FoldRatios& ratios, std::size_t without) {
  std::vector<double> all;
  for (std::size_t fold = 0; fold < shape_folds; ++fold)
    if (fold != without) all.insert(all.end(), ratios[fold].begin(), ratios[fold].end());
  return all;
}

Spread spread_of(const std::vector<double>& ratios) { return {percentile(ratios, 0.1), percentile(ratios, 0.9)}; }

HeldOut held_out_of(const FoldRatios& ratios) {
  HeldOut out;
  std::vector<double> misses;
  double inside = 0;
  for (std::size_t fold = 0; fold < shape_folds; ++fold) {
    const auto others = joined(ratios, fold);
    if (others.empty() || ratios[fold].empty()) continue;
    const Spread spread = spread_of(others);
    for (const double measured_over : ratios[fold]) {
      misses.push_back(std::abs(1 / measured_over - 1));
      inside += spread.p10 <= measured_over && measured_over <= spread.p90 ? 1 : 0;
    }
  }
  out.samples = static_cast<int>(misses.size());
  for (const double miss : misses) out.mape += miss / out.samples;
  out.median = percentile(misses, 0.5), out.p95 = percentile(misses, 0.95);
  out.coverage = inside / out.samples;
  return out;
}

}  // namespace stepcast::calibrate
