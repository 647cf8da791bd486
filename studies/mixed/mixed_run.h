// A step on machines of several kinds. Ranks lie on the machines in the order that names them. Where pipeline stages
// are the outermost axis of the mesh, each stage lies on one kind and layers are dealt by speed; where data-parallel
// replicas are outermost (no stages, or --order tp-cp-pp-dp), each replica lies on one kind, layers lie alike on all
// kinds, and micro-batches are dealt by speed. What passes between kinds takes as long as the slower side's network
// needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/mixed/mixed_step.h"

namespace stepcast::mixed {

/// `request` names no machine. Errors: those of complete() on each kind; a split whose stages or replicas lie on more
/// than one kind, a mapping, a profile, number types that differ, exchanges of each micro-batch between kinds.
Expected<MixedRun> forecast_mixed(const Request& request, const std::vector<MachineShare>& shares,
    const std::optional<BetweenKinds>& between, const std::string& where);

}  // namespace stepcast::mixed
