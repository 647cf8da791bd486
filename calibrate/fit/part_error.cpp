#include "calibrate/fit/part_error.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "model/base/percentile.h"
#include "model/profile/kernel_law.h"

namespace stepcast::calibrate {

PartFit part_error(const std::vector<Sample<GemmQuery>>& samples, const FittedLaw<RooflineLaw>& fitted,
    const GpuUnits& units, const std::function<bool(const GemmQuery&)>& in) {
  std::vector<double> errors, ratios;
  int inside = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!in(samples[i].query)) continue;
    const double ratio = samples[i].time.value() / fitted.predicted[i];
    ratios.push_back(ratio);
    errors.push_back(std::abs(1 / ratio - 1));
    const Spread spread = gemm_time(fitted.law, units, samples[i].query).spread;
    if (ratio >= spread.p10 && ratio <= spread.p90) ++inside;
  }
  if (errors.empty()) return {};
  const auto count = static_cast<double>(errors.size());
  const double mean = std::accumulate(errors.begin(), errors.end(), 0.0) / count;
  return {{},
      {mean, percentile(errors, 0.5), percentile(errors, 0.95), inside / count, static_cast<int>(errors.size())},
      percentile(ratios, 0.5)};
}

std::vector<PartFit> layout_errors(
    const std::vector<Sample<GemmQuery>>& samples, const FittedLaw<RooflineLaw>& fitted, const GpuUnits& units) {
  std::vector<PartFit> parts;
  for (const auto& [layout, name] : {std::pair{GemmLayout::tn, "tn"}, {GemmLayout::nn, "nn"}, {GemmLayout::nt, "nt"}}) {
    const auto in = [layout = layout](const GemmQuery& g) { return g.layout == layout && of_training_size(g); };
    PartFit part = part_error(samples, fitted, units, in);
    part.part = name;
    if (part.held_out.samples > 0) parts.push_back(std::move(part));
  }
  if (parts.size() < 2) parts.clear();
  return parts;
}

}  // namespace stepcast::calibrate
