// Computes how good forecasts are: errors, coverage of intervals, rank correlation and regret.
#pragma once

#include <cstddef>
#include <vector>

#include "model/base/percentile.h"

namespace stepcast::validation {

/// A summary of errors predicted/measured - 1.
struct ErrorSummary {
  std::size_t n = 0;
  double mape = 0;    ///< mean of |error|
  double bias = 0;    ///< mean of error; negative: forecasts are too fast
  double p90 = 0;     ///< 90th percentile of |error|
  double worst = 0;   ///< error of the largest |error|
  double median = 0;  ///< of |error|
};
ErrorSummary summarise(const std::vector<double>& errors);

/// `share` from 0 to 1, linear between neighbours (Hyndman and Fan 1996, type 7). Not for empty lists.
inline double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

/// Rank correlation, equal values sharing their mean rank; 0 where either list is constant.
double spearman(const std::vector<double>& a, const std::vector<double>& b);

/// What choosing the forecast's best costs: its measured time over the best measured one, minus 1.
double regret(const std::vector<double>& predicted, const std::vector<double>& measured);

}  // namespace stepcast::validation
