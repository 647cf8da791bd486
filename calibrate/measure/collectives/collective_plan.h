// Collectives of a host or a cluster: which groups, which sizes, and which of them the time is for.
#pragma once

#include <vector>

#include "calibrate/measure/collectives/planned_collective.h"
#include "calibrate/measure/method.h"

namespace stepcast::calibrate {

/// Every size of group that divides the GPUs of a host (2, 4, 8, ... and all), next to each other, and spread where
/// that goes over other links; across hosts all GPUs of 2, 4, ... and all hosts, and one GPU per host.
std::vector<CollectiveGroup> collective_groups(const CollectiveBench& bench);

/// Buffers from 8 B to 1 GB by factors of 4 (2 near the knee of a curve), whole multiples of 16 bytes per rank (small
/// ones of 2); those that fit twice into what is free.
std::vector<Bytes> collective_sizes(int ranks, Bytes free);

/// Budget first to the largest groups, the most used kinds, and the extreme and middle sizes; what remains to the rest.
CollectivePlan plan_collectives(const CollectiveBench& bench, Seconds budget, const MethodRules& rules);

}  // namespace stepcast::calibrate
