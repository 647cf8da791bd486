// What a session's figures amount to: the machine's measured roofs, how well laws fitted on them forecast what they had
// not seen, and which figures not to trust. Studies print it.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit_profile.h"
#include "calibrate/measure/roofs.h"
#include "calibrate/measure/session.h"
#include "model/machine.h"
#include "model/profile.h"

namespace stepcast {

/// A roof of the profile beside the datasheet's.
struct RoofVerdict {
  Roof roof;
  double datasheet = 0;           ///< 0 = the datasheet does not say
  std::string seen_at;            ///< the work that reached it
};

/// How near to the measured roof one kind of kernel of ours comes: the best of its sizes.
struct KernelShare {
  std::string kernel;             ///< "softmax", "attention backward bf16"
  double rate = 0;                ///< bytes/s or FLOP/s
  double share = 0;               ///< of the roof that bounds it
  std::string roof, at;
};

struct Verdict {
  std::vector<RoofVerdict> roofs;
  std::vector<KernelShare> kernels;
  std::vector<LawFit> laws;                     ///< hold-out errors, of the fit
  double sustained_slowdown = 0;                ///< 0 = not measured
  Seconds time_constant;
  double drift = 0;                             ///< median of |again / first - 1| of what was timed twice; 0 = nothing was
  std::vector<std::string> throttled;           ///< works whose clocks were down
  std::vector<std::string> distrust;            ///< one line each: which figure, why, what to do
};
Verdict verdict_of(const MeasureResult& result, const FittedProfile& fitted, const Gpu& gpu);

}  // namespace stepcast
