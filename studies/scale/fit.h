// Fits the serial share of a scaling curve by the two laws that are used for such curves.
#pragma once

#include <optional>
#include <vector>

namespace stepcast::scale {

/// Strong scaling keeps the work, weak scaling the work per GPU.
enum class Scaling : bool { strong, weak };

/// `gpus` and `time` relative to the smallest run: that one is {1, 1}.
struct RelativeRun {
  double gpus = 1, time = 1;
};

struct SerialFit {
  /// share of the smallest run that more GPUs do not shorten; below 0 where speed-up is superlinear
  double serial = 0;
  double worst = 0;  ///< largest |fitted / forecast - 1| of a run's time
  int runs = 0;      ///< beside the smallest one; of one run the fit is exact and says nothing about its fit
};

/// Least squares in closed form. Strong: time = s + (1-s)/n (Amdahl, AFIPS 1967), over times, which are 1/speed-up.
/// Weak: scaled speed-up n/time = s + (1-s) n (Gustafson, CACM 31(5), 1988), over speed-ups. Empty: there is no run
/// with more GPUs.
std::optional<SerialFit> fit_serial_share(Scaling scaling, const std::vector<RelativeRun>& runs);

/// What the law says.
double fitted_time(Scaling scaling, double serial, double gpus);

}  // namespace stepcast::scale
