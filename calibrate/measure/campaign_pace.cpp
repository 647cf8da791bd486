#include "calibrate/measure/campaign_pace.h"

#include <algorithm>

namespace stepcast::calibrate {
namespace {

/// Of the estimate what depends on how fast the machine is.
Seconds variable_part(const PlannedWork& work) { return std::max(Seconds(0), work.estimate - work.duration); }

}  // namespace

Seconds Pace::expected(const PlannedWork& work) const {
  return work.duration + variable_part(work) * (took_ / planned_);
}

void Pace::learn(const PlannedWork& work, Seconds took) {
  planned_ += variable_part(work);
  took_ += std::max(Seconds(0), took - work.duration);
}

}  // namespace stepcast::calibrate
