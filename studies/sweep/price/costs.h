// Reads figures as costs: less is better, and a bound of the step time bounds them.
#pragma once

#include <vector>

#include "sim/fast/standings.h"
#include "studies/sweep/space/figures.h"
#include "studies/sweep/price/points.h"
#include "studies/sweep/price/pricer.h"

namespace stepcast::sweep {

class CostRule {
 public:
  /// `front`: at most most_front_figures.
  CostRule(Figure objective, const std::vector<Figure>& front, const SpacePoints& points);
  [[nodiscard]] Costs of(const Figures& figures) const;
  /// The costs are at least these; a figure without a known bound has minus infinity.
  [[nodiscard]] Costs at_least(const FastPrice& price, const Setting& setting) const;

 private:
  [[nodiscard]] double least(Figure figure, const FastPrice& price, const Setting& setting) const;
  std::vector<Figure> figures_;  ///< objective, then front
  double tokens_ = 1, price_ = 0;
};

}  // namespace stepcast::sweep
