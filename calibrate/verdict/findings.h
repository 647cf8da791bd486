// Says what a campaign's figures amount to: the machine's measured roofs, how well laws fitted on them forecast
// held-out rows, and which figures not to trust. The program prints it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibrate/fit/fit_profile.h"
#include "calibrate/measure/campaign.h"
#include "model/profile/profile.h"

namespace stepcast::calibrate {

/// A roof of the profile beside the datasheet's.
struct RoofVerdict {
  Roof roof;
  double datasheet = 0;  ///< 0 = the datasheet does not say
  std::string seen_at;   ///< the work that reached it
};

/// How near to the measured roof one kind of kernel of ours comes: the best of its sizes.
struct KernelShare {
  std::string kernel;  ///< "softmax", "attention backward bf16"
  double rate = 0;     ///< bytes/s or FLOP/s
  double share = 0;    ///< of the roof that bounds it
  std::string roof, at;
};

/// A factor on times: what goes on for seconds, or has something beside it, against the same for a moment and alone.
struct SlowdownVerdict {
  std::string what;  ///< "sustained over burst", "products beside copy", "moves beside gemm"
  double factor = 1;
  int samples = 0;
};

struct Verdict {
  std::size_t rows = 0, resumed = 0;  ///< in the file; of them from an earlier campaign
  std::vector<RoofVerdict> roofs;
  std::vector<KernelShare> kernels;
  std::vector<LawFit> laws;                ///< hold-out errors, of the fit
  std::vector<SlowdownVerdict> slowdowns;  ///< as the profile has them
  double sustained_slowdown = 0;           ///< 0 = not measured
  Seconds time_constant;                   ///< until 63 % of it was there; 0 = at once, or not measured
  HostCosts host;
  double drift = 0;                    ///< median of |again / first - 1| of what was timed twice; 0 = nothing was
  int repeats = 0;                     ///< that many were
  std::vector<std::string> throttled;  ///< works whose clocks were down
  std::vector<NotMeasured> skipped;
  std::vector<std::string> distrust;  ///< one line each: which figure, why, what to do
};

}  // namespace stepcast::calibrate
