#include "sim/serving/steady/request_means.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace stepcast::sim {
namespace {

/// Of whole numbers that are all as likely: their variance is ((high - low + 1)^2 - 1) / 12.
double mean_square(double mean, const Lengths& lengths) {
  const auto values = static_cast<double>(lengths.high - lengths.low + 1);
  return mean * mean + (values * values - 1) / 12;
}

/// Sum of 1 / k for k from `low` to `high`, where it is not 1: the integral from half before to half behind.
double sum_of_inverse(double low, double high) {
  if (low == 1) return 1 + (high > 1 ? sum_of_inverse(2, high) : 0);
  return std::log((high + 0.5) / (low - 0.5));
}

}  // namespace

double RequestMeans::output_deviation() const { return std::sqrt(std::max(0.0, output_square - output * output)); }

RequestMeans means_of(const RequestLaw& law) {
  RequestMeans means;
  means.cached = static_cast<double>(std::min(law.shared, law.prompts.low - 1));
  means.read = law.prompts.mean() - means.cached;
  means.read_square = mean_square(means.read, law.prompts);
  means.least_read = static_cast<double>(law.prompts.low) - means.cached;
  means.most_read = static_cast<double>(law.prompts.high) - means.cached;
  means.output = law.outputs.mean();
  means.output_square = mean_square(means.output, law.outputs);
  const double low = std::max<double>(1, static_cast<double>(law.outputs.low) - 1),
               high = static_cast<double>(law.outputs.high) - 1;
  means.inverse_gaps = high > low ? sum_of_inverse(low, high) / (high - low + 1) : 1 / std::max(1.0, high);
  means.longest = law.prompts.high + law.outputs.high;
  return means;
}

RequestMeans means_of(const std::vector<ServingRequest>& requests) {
  assert(!requests.empty());
  RequestMeans sums{0, 0, 0, 0, 0, std::numeric_limits<double>::infinity(), 0, 0, 0};
  double speak = 0;
  for (const ServingRequest& request : requests) {
    const auto read = static_cast<double>(request.prompt - request.cached), said = static_cast<double>(request.output);
    sums.least_read = std::min(sums.least_read, read), sums.most_read = std::max(sums.most_read, read);
    sums.read += read, sums.read_square += read * read;
    sums.cached += static_cast<double>(request.cached);
    if (request.output > 1) sums.inverse_gaps += 1 / (said - 1), speak += 1;
    sums.output += said, sums.output_square += said * said;
    sums.longest = std::max(sums.longest, request.prompt + request.output);
  }
  const double each = 1 / static_cast<double>(requests.size());
  sums.read *= each, sums.read_square *= each, sums.cached *= each, sums.output *= each, sums.output_square *= each;
  sums.inverse_gaps = speak > 0 ? sums.inverse_gaps / speak : 1;
  return sums;
}

}  // namespace stepcast::sim
