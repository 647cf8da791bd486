// The verdict on a campaign and the profile that was fitted on it.
#pragma once

#include "calibrate/fit/fit_profile.h"
#include "calibrate/measure/campaign.h"
#include "calibrate/verdict/findings.h"
#include "model/machine/machine.h"

namespace stepcast::calibrate {

/// `settings` of the card while it was measured; without a driver's name they count as not known.
Verdict verdict_of(
    const MeasureResult& result, const FittedProfile& fitted, const Gpu& gpu, const GpuSettings& settings = {});

}  // namespace stepcast::calibrate
