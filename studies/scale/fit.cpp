#include "studies/scale/fit.h"

#include <algorithm>
#include <cmath>

namespace stepcast::scale {

double fitted_time(Scaling scaling, double serial, double n) {
  if (scaling == Scaling::strong) return serial + (1 - serial) / n;
  return n / (serial + (1 - serial) * n);
}

// Both laws are lines through the smallest run: what is missing to the ideal is s times how much more GPUs could have
// given.
std::optional<SerialFit> fit_serial_share(Scaling scaling, const std::vector<RelativeRun>& runs) {
  double products = 0, squares = 0;
  SerialFit fit;
  for (const RelativeRun& run : runs) {
    if (run.gpus <= 1) continue;
    const bool strong = scaling == Scaling::strong;
    const double possible = strong ? 1 - 1 / run.gpus : run.gpus - 1;
    const double missing = strong ? run.time - 1 / run.gpus : run.gpus - run.gpus / run.time;
    products += missing * possible, squares += possible * possible;
    ++fit.runs;
  }
  if (fit.runs == 0) return std::nullopt;
  fit.serial = products / squares;
  for (const RelativeRun& run : runs)
    if (run.gpus > 1)
      fit.worst = std::max(fit.worst, std::abs(fitted_time(scaling, fit.serial, run.gpus) / run.time - 1));
  return fit;
}

}  // namespace stepcast::scale
