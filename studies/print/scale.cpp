#include "studies/print/scale.h"

#include <algorithm>

namespace stepcast::print {
namespace {

constexpr double round_factors[] = {1, 2, 5};

}  // namespace

void LogScale::take(double value) { low = std::min(low, std::log10(value)), high = std::max(high, std::log10(value)); }

std::vector<double> LogScale::ticks(std::size_t most) const {
  std::vector<double> round;
  for (const bool powers_only : {false, true}) {
    round.clear();
    for (int power = static_cast<int>(std::floor(low)); power <= high; ++power)
      for (const double factor : round_factors) {
        const double value = factor * std::pow(10, power);
        if (value >= at(0) && value <= at(1) && (factor == 1 || !powers_only)) round.push_back(value);
      }
    if (round.size() <= most) break;
  }
  while (round.size() > most) {
    std::vector<double> kept;
    for (std::size_t i = 0; i < round.size(); i += 2) kept.push_back(round[i]);
    round = kept;
  }
  return round.empty() ? std::vector{at(0.5)} : round;
}

double nice_step(double length, int most) {
  const double raw = length / most, power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : round_factors)
    if (factor * power >= raw * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

}  // namespace stepcast::print
