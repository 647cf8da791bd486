// A step on machines of several kinds. Ranks lie on the machines in the order that names them. Where pipeline stages
// are the outermost axis of the mesh, each stage lies on one kind and layers are dealt by speed; where data-parallel
// replicas are outermost (no stages, or --order tp-cp-pp-dp), each replica lies on one kind, layers lie alike on all
// kinds, and micro-batches are dealt by speed. What passes between kinds takes as long as the slower side's network
// needs.
#pragma once

#include <string>
#include <vector>

#include "studies/mixed/kind_scenarios.h"
#include "studies/mixed/mixed_step.h"

namespace stepcast::mixed {

/// The run as it lies on its kinds, before any forecast.
struct LaidKinds {
  FleetKinds fleet;
  std::string between;
  std::vector<std::string> notes;
};
/// Errors: those of complete() on each kind; a split whose stages or replicas lie on more than one kind, a mapping, a
/// profile, number types that differ.
Expected<LaidKinds> lay_kinds(const MixedRequest& asked);
/// Errors: what predict refuses of each kind.
Expected<MixedRun> forecast_kinds(const LaidKinds& laid, Seconds enough = unbounded);
/// Both. Where layers are dealt and the step can surely not be faster than `enough`, the run is given up.
Expected<MixedRun> forecast_mixed(const MixedRequest& asked, Seconds enough = unbounded);

}  // namespace stepcast::mixed
