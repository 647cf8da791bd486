#include "sim/serving/steady/others_prompts.h"

#include <algorithm>
#include <cmath>

namespace stepcast::sim {
namespace {

/// The mean of the largest of so many that each are of a Poisson law with this mean.
double mean_of_largest(double mean, double of) {
  if (of <= 1) return mean;
  constexpr double large = 50;
  if (mean > large) return mean + std::sqrt(2 * mean * std::log(of));
  double term = std::exp(-mean), below = term, sum = 0;
  for (double j = 1;; ++j) {
    const double above = 1 - std::pow(below, of);
    sum += above;
    if (above < 1e-6 * sum) return sum;
    term *= mean / j, below = std::min(1.0, below + term);
  }
}

}  // namespace

Bunches poisson_bunches(double mean, double groups) {
  Bunches bunches;
  bunches.share = 1 - std::exp(-mean * groups);
  if (bunches.share > 0) bunches.each = std::max(1.0, mean_of_largest(mean, groups) / bunches.share);
  return bunches;
}

Bunches arriving_bunches(double mean, double groups, double more) {
  const double all = mean * groups, squared = more * more;
  Bunches bunches;
  bunches.share = 1 - (squared < 1e-3 ? std::exp(-all) : std::pow(1 - squared, all * (1 - squared) / squared));
  if (groups > 1) bunches.each = mean + 1;
  else if (bunches.share > 0) bunches.each = std::max(1.0, mean / bunches.share);
  return bunches;
}

double waits_for_room(double load, double most) {
  if (load < 0.05) return 0;
  load = std::min(load, 0.999);
  const double servers = std::max(1.0, most), service = std::max(1.0, 1 / most);
  return service * std::pow(load, std::sqrt(2 * (servers + 1)) - 1) / (2 * servers * (1 - load));
}

double iterations_of_cycle(double least, double others, double most) {
  const double work = others / most;
  if (work < 0.05 * least) return least;
  double low = std::max(least, work), high = least + work;
  for (int step = 0; step < 12; ++step) {
    const double middle = (low + high) / 2;
    (least + waits_for_room(work / middle, most) > middle ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace stepcast::sim
