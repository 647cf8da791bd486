// Pipeline stages on machines of several kinds.
#pragma once

#include "studies/mixed/kind_scenarios.h"
#include "studies/mixed/mixed_step.h"

namespace stepcast::mixed {

/// `run` has the kinds; layers are dealt by speed where `balance` says so. Where no deal
/// can be faster than `enough` the run is given up.
Expected<void> over_stages(const FleetKinds& fleet, bool balance, Seconds enough, MixedRun& run);

}  // namespace stepcast::mixed
