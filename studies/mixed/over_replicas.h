// Data-parallel replicas on machines of several kinds.
#pragma once

#include "studies/mixed/kind_scenarios.h"
#include "studies/mixed/mixed_step.h"

namespace stepcast::mixed {

/// `run` has the kinds; micro-batches are dealt by speed.
Expected<void> over_replicas(const FleetKinds& fleet, MixedRun& run);

}  // namespace stepcast::mixed
