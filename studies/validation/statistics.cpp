#include "studies/validation/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace stepcast::validation {
namespace {

/// 1-based; equal values share their mean rank.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i) ranks[order[i]] = 1 + static_cast<double>(first + last) / 2;
    first = last + 1;
  }
  return ranks;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n,
               mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

}  // namespace

ErrorSummary summarise(const std::vector<double>& errors) {
  ErrorSummary summary;
  summary.n = errors.size();
  if (errors.empty()) return summary;
  std::vector<double> sizes;
  for (const double error : errors) {
    sizes.push_back(std::abs(error));
    summary.mape += std::abs(error) / static_cast<double>(errors.size());
    summary.bias += error / static_cast<double>(errors.size());
    if (std::abs(error) > std::abs(summary.worst)) summary.worst = error;
  }
  summary.median = percentile(sizes, 0.5);
  summary.p90 = percentile(std::move(sizes), 0.9);
  return summary;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  assert(a.size() == b.size());
  return a.empty() ? 0 : correlation(ranks_of(a), ranks_of(b));
}

double regret(const std::vector<double>& predicted, const std::vector<double>& measured) {
  assert(!predicted.empty() && predicted.size() == measured.size());
  const auto chosen = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
  return measured[static_cast<std::size_t>(chosen)] / *std::min_element(measured.begin(), measured.end()) - 1;
}

}  // namespace stepcast::validation
